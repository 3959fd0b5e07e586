"""
Config files of hosts, wrapped and unwrapped.
"""

import json
import re
import stat
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolfault.cli import main
from toolfault.gateway._config import unwrap, wrap
from toolfault.gateway._jsonc import parse_jsonc


GATEWAY = ["uvx", "toolfault", "gateway", "--"]

CLAUDE = """{
  "mcpServers": {
    "files": {
      "command": "npx",
      "args": ["-y", "server-files", "/data"],
      "env": {"KEY": "v"}
    },
    "plain": {"command": "server"},
    "remote": {"type": "http", "url": "https://example.com/mcp"}
  },
  "projects": {"/home/me": {"mcpServers": {"inner": {"command": "a", "args": []}}}}
}
"""

VSCODE = """// my servers
{
\t"servers": {
\t\t/* the one */
\t\t"git": {
\t\t\t"type": "stdio",
\t\t\t"command": "uvx", // runs it
\t\t\t"args": [
\t\t\t\t"mcp-git", // the package
\t\t\t\t"--flag",
\t\t\t],
\t\t},
\t},
}
"""


def without_comments(text):
    text = re.sub(r"/\*.*?\*/|//[^\n\"]*$", "", text, flags=re.DOTALL | re.MULTILINE)
    return json.loads(re.sub(r",(\s*[}\]])", r"\1", text))


def test_each_server_with_a_command_is_wrapped():
    edited = wrap(CLAUDE, GATEWAY)
    servers = json.loads(edited.text)["mcpServers"]

    assert servers["files"]["command"] == "uvx"
    assert servers["files"]["args"] == [*GATEWAY[1:], "npx", "-y", "server-files", "/data"]
    assert servers["files"]["env"] == {"KEY": "v"}
    assert servers["plain"] == {"command": "uvx", "args": [*GATEWAY[1:], "server"]}
    assert servers["remote"] == {"type": "http", "url": "https://example.com/mcp"}
    assert (edited.changed, edited.skipped) == (["files", "plain", "inner"], ["remote"])


@pytest.mark.parametrize("text", [CLAUDE, VSCODE, CLAUDE.replace("\n", "\r\n"), "\ufeff" + CLAUDE])
def test_wrapping_again_changes_nothing_and_unwrapping_restores(text):
    once = wrap(text, GATEWAY)

    assert wrap(once.text, GATEWAY).text == once.text
    back = unwrap(once.text).text
    assert back == text.replace('{"command": "server"}', '{"command": "server", "args": []}')
    assert unwrap(back).text == back


def test_comments_and_layout_stay():
    text = wrap(VSCODE, GATEWAY).text

    assert without_comments(text)["servers"]["git"]["args"] == [*GATEWAY[1:], "uvx", "mcp-git", "--flag"]
    for kept in ("// my servers", "/* the one */", "// runs it", "// the package", '\t\t\t\t"gateway",\n'):
        assert kept in text


def test_one_server_is_chosen_by_name():
    assert wrap(CLAUDE, GATEWAY, "plain").changed == ["plain"]
    with pytest.raises(ValueError, match="it has no server 'plan'; it has files, inner, plain, remote"):
        wrap(CLAUDE, GATEWAY, "plan")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[1, 2",
        '{"a": }',
        '{"a" 1}',
        '{"a": 1} x',
        "{a: 1}",
        "{}",
        '{"mcpServers": {}}',
        "[" * 500,
        '{"a": "\\x"}',
    ],
)
def test_what_is_no_config_is_refused(text):
    with pytest.raises(ValueError, match=r"line \d+: |it has no servers"):
        wrap(text, GATEWAY)


@pytest.mark.parametrize(
    "entry", [{"command": 5}, {"command": {"path": "x"}}, {"command": "a", "args": "b"}, {"command": "a", "args": [1]}]
)
def test_entries_of_another_form_are_skipped(entry):
    text = json.dumps({"mcpServers": {"a": entry}})

    assert wrap(text, GATEWAY).skipped == ["a"]
    assert wrap(text, GATEWAY).text == text


WORDS = st.lists(st.text(max_size=8).filter(lambda word: word != "toolfault"), min_size=1, max_size=5)


@given(st.dictionaries(st.text(max_size=5), WORDS, min_size=1, max_size=4), st.sampled_from([None, 2, "\t"]))
def test_any_command_survives(servers, indent):
    config = {"mcpServers": {name: {"command": words[0], "args": words[1:]} for name, words in servers.items()}}
    text = json.dumps(config, indent=indent)

    wrapped = wrap(text, GATEWAY).text

    for name, words in servers.items():
        entry = json.loads(wrapped)["mcpServers"][name]
        assert [entry["command"], *entry["args"]] == [*GATEWAY, *words]
    assert unwrap(wrapped).text == text


@given(st.text(alphabet='{}[]",:/*a1 \n\\', max_size=30))
def test_any_text_is_parsed_or_refused(text):
    try:
        parse_jsonc(text)
    except ValueError as exc:
        assert str(exc).startswith("line ")


# ---- the command


def test_the_file_is_changed_with_a_backup(tmp_path, capsys):
    file = tmp_path / "mcp.json"
    file.write_text(CLAUDE)
    file.chmod(0o600)
    link = tmp_path / "link.json"
    link.symlink_to(file)

    assert main(["gateway", "wrap", str(link), "--server", "files", "--timeout", "5"]) == 0

    words = json.loads(file.read_text())["mcpServers"]["files"]
    assert [words["command"], *words["args"]][-8:] == [
        "gateway",
        "--timeout",
        "5",
        "--",
        "npx",
        "-y",
        "server-files",
        "/data",
    ]
    assert (tmp_path / "mcp.json.bak").read_text() == CLAUDE
    assert link.is_symlink()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert "files: wrapped" in capsys.readouterr().out

    assert main(["gateway", "unwrap", str(link)]) == 0
    assert file.read_text() == CLAUDE
    assert sorted(one.name for one in tmp_path.iterdir()) == ["link.json", "mcp.json", "mcp.json.bak", "mcp.json.bak2"]


def test_a_dry_run_shows_a_diff_and_changes_nothing(tmp_path, capsys):
    file = tmp_path / "mcp.json"
    file.write_text(CLAUDE)

    assert main(["gateway", "wrap", str(file), "--dry-run"]) == 0

    shown = capsys.readouterr().out
    assert '-      "command": "npx",' in shown
    assert f'+      "command": {json.dumps(sys.executable)},' in shown
    assert "remote: skipped, since it has no command" in shown
    assert [one.name for one in tmp_path.iterdir()] == ["mcp.json"]
    assert file.read_text() == CLAUDE


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ([], "the config file is missing"),
        (["/nowhere.json"], "can't read or write '/nowhere.json'"),
        (["--server"], "--server needs a value"),
        (["x.json", "--timout", "5"], "did you mean --timeout?"),
    ],
)
def test_mistakes_name_the_cure(words, complaint, capsys):
    assert main(["gateway", "wrap", *words]) == 2
    assert complaint in capsys.readouterr().err
