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


GATEWAY = ["uvx", "toolfault", "gateway"]
WORDS = [*GATEWAY, "--"]

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
    text = re.sub(r"/\*.*?\*/|//[^\n\"]*$", "", text.removeprefix("\ufeff"), flags=re.DOTALL | re.MULTILINE)
    return json.loads(re.sub(r",(\s*[}\]])", r"\1", text))


def test_each_server_with_a_command_is_wrapped():
    edited = wrap(CLAUDE, GATEWAY)
    servers = json.loads(edited.text)["mcpServers"]

    assert servers["files"]["command"] == "uvx"
    assert servers["files"]["args"] == [*WORDS[1:], "npx", "-y", "server-files", "/data"]
    assert servers["files"]["env"] == {"KEY": "v"}
    assert servers["plain"] == {"command": "uvx", "args": [*GATEWAY[1:], "--wrapped", "no-args", "--", "server"]}
    assert servers["remote"] == {
        "type": "stdio",
        "command": "uvx",
        "args": [*GATEWAY[1:], "--wrapped", "url,http", "https://example.com/mcp"],
    }
    assert (edited.changed, edited.skipped) == (["files", "plain", "remote", "inner"], [])


#: Config files as hosts write them, and what each server in them becomes: words, or a part of the reason to skip it.
FORMS = [
    (CLAUDE, {"files": "-- npx -y server-files /data", "remote": "https://example.com/mcp"}),
    (VSCODE, {"git": "-- uvx mcp-git --flag"}),
    (CLAUDE.replace("\n", "\r\n"), {"files": "-- npx -y server-files /data"}),
    ("\ufeff" + CLAUDE, {"files": "-- npx -y server-files /data"}),
    (CLAUDE.replace("  ", "\t").replace(": ", ":"), {"plain": "-- server"}),
    ('{"mcpServers":{"a":{"command":"x","args":[]}}}', {"a": "-- x"}),
    ('{"mcpServers":{"a":{"command":"x"}}}', {"a": "-- x"}),
    ('{"mcpServers": {"a": {"args": ["y"], "command": "x"}}}', {"a": "-- x y"}),
    ('{"mcpServers": {"a": {"command": "x", "args": [ /* none */ ]}}}', {"a": "-- x"}),
    ('{"mcpServers": {"a": {"command": "x", "args": [ "y"]}}}', {"a": "-- x y"}),
    ('{"mcpServers": {"a": {"command": "x", "args": [// one\n "y",\n]}}}', {"a": "-- x y"}),
    ('{"mcpServers": {"a": {"command": "x", "args": [ \n "y"]}}}', {"a": "-- x y"}),
    ('{"mcpServers": {"a": {"command": "\\u0078\\/", "args": ["\\u0079"]}}}', {"a": "-- x/ y"}),
    # VS Code's settings, and a server with a URL and a header that asks for an input.
    (
        """{"mcp": {"inputs": [{"id": "k"}], "servers": {
          "gh": {"type": "http", "url": "https://x.io/mcp", "headers": {"Authorization": "Bearer ${input:k}"}}}}}""",
        {"gh": "--header Authorization=TOOLFAULT_HEADER_AUTHORIZATION https://x.io/mcp"},
    ),
    # Windsurf, Gemini CLI, Cline, Cursor.
    ('{"mcpServers": {"w": {"serverUrl": "https://x.io/mcp", "disabled": false}}}', {"w": "https://x.io/mcp"}),
    ('{"mcpServers": {"g": {"httpUrl": "https://x.io/mcp", "timeout": 5000}}}', {"g": "https://x.io/mcp"}),
    ('{"mcpServers": {"c": {"type": "streamableHttp", "url": "https://x.io/m"}}}', {"c": "https://x.io/m"}),
    (
        """{"mcpServers": {"k" : {"headers" : {"X-Key" : "a", /* two */ "x_key": "b"}, "url" : "https:\\/\\/x.io"}}}""",
        {"k": "--header X-Key=TOOLFAULT_HEADER_X_KEY --header x_key=TOOLFAULT_HEADER_X_KEY_ https://x.io"},
    ),
    # Zed, in both forms.
    ('{"context_servers": {"z": {"source": "custom", "command": "x", "args": ["y"]}}}', {"z": "-- x y"}),
    ('{"context_servers": {"z": {"command": {"path": "x", "args": ["y"], "env": {}}}}}', {"z": "-- x y"}),
    ('{"context_servers": {"z": {"command": {"path": "x"}, "settings": {}}}}', {"z": "-- x"}),
    # What can't be wrapped.
    ('{"mcpServers": {"s": {"type": "sse", "url": "https://x.io/mcp"}}}', {"s": ValueError("speaks SSE")}),
    ('{"mcpServers": {"s": {"url": "https://x.io/sse/"}}}', {"s": ValueError("often ends in /mcp")}),
    ('{"mcpServers": {"s": {"type": "ws", "url": "wss://x.io"}}}', {"s": ValueError("type is not http")}),
    ('{"mcpServers": {"s": {"type": "", "url": "https://x.io"}}}', {"s": ValueError("type is not http")}),
    ('{"mcpServers": {"s": {"url": "${env:URL}"}}}', {"s": ValueError("write it whole")}),
    ('{"mcpServers": {"s": {"url": 5}}}', {"s": ValueError("write it whole")}),
    ('{"mcpServers": {"s": {"url": "https://a", "httpUrl": "https://b"}}}', {"s": ValueError("both url and httpUrl")}),
    ('{"mcpServers": {"s": {"url": "https://a", "headersHelper": "p"}}}', {"s": ValueError("come from a program")}),
    ('{"mcpServers": {"s": {"url": "https://a", "oauth": {}}}}', {"s": ValueError("remove them")}),
    ('{"mcpServers": {"s": {"url": "https://a", "env": {}}}}', {"s": ValueError("a URL, and env or args")}),
    ('{"mcpServers": {"s": {"url": "https://a", "headers": []}}}', {"s": ValueError("headers are no object")}),
    (
        '{"mcpServers": {"s": {"url": "https://a", "headers": {"A": 5}}}}',
        {"s": ValueError("header 'A' is not a valid")},
    ),
    ('{"mcpServers": {"s": {"url": "https://a", "headers": {"A B": ""}}}}', {"s": ValueError("header 'A B'")}),
    ('{"mcpServers": {"s": {"command": 5}}}', {"s": ValueError("its command is not a text")}),
    ('{"mcpServers": {"s": {"command": {"args": []}}}}', {"s": ValueError("its path is not a text")}),
    ('{"mcpServers": {"s": {"command": "a", "args": "b"}}}', {"s": ValueError("no array of texts")}),
    ('{"mcpServers": {"s": {"command": "a", "args": [1]}}}', {"s": ValueError("no array of texts")}),
]


def find_servers(value):
    if isinstance(value, dict):
        for key, member in value.items():
            if key in {"mcpServers", "servers", "context_servers"}:
                yield from member.items()
            yield from find_servers(member)


@pytest.mark.parametrize(("text", "expected"), FORMS)
def test_each_form_of_entry_is_wrapped_or_left_alone_with_the_reason(text, expected):
    edited = wrap(text, GATEWAY)
    servers = dict(find_servers(without_comments(edited.text)))

    for name, words in expected.items():
        if isinstance(words, ValueError):
            ((skipped, reason),) = edited.skipped
            assert (skipped, str(words) in reason, edited.text) == (name, True, text)
            continue
        entry = servers[name]
        held = entry["command"] if isinstance(entry["command"], dict) else entry
        assert held.get("path", held.get("command")) == "uvx"
        assert " ".join(held["args"]).endswith(words)
        assert held["args"][:2] == GATEWAY[1:]
        assert {"url", "serverUrl", "httpUrl", "headers"} & entry.keys() == set()
        assert entry.get("type", "stdio") == "stdio"
        for header in re.findall(r"=(TOOLFAULT\w+)", words):
            assert header in entry["env"]


@pytest.mark.parametrize(("text", "_expected"), FORMS)
def test_wrapping_again_changes_nothing_and_unwrapping_restores_the_bytes(text, _expected):
    once = wrap(text, GATEWAY)

    assert wrap(once.text, GATEWAY).text == once.text
    assert wrap(once.text, GATEWAY).changed == []
    back = unwrap(once.text)
    assert (back.text, back.changed) == (text, once.changed)
    assert unwrap(back.text).text == text


@pytest.mark.parametrize(
    "command",
    ["toolfault", "/opt/bin/toolfault", "toolfault@latest", "toolfault==0.4", "toolfault[opentelemetry]>=0.4"],
)
def test_an_entry_that_was_written_by_hand_is_known(command):
    text = json.dumps({"mcpServers": {"a": {"command": "uvx", "args": [command, "gateway", "--", "npx", "x"]}}})

    assert wrap(text, GATEWAY).unchanged == ["a"]
    entry = json.loads(unwrap(text).text)["mcpServers"]["a"]
    assert entry == {"command": "npx", "args": ["x"]}


@pytest.mark.parametrize(
    ("entry", "restored"),
    [
        ({"command": "toolfault", "args": ["gateway", "https://x.io"]}, {"url": "https://x.io"}),
        ({"command": "toolfault", "args": ["gateway"]}, None),
        ({"command": "toolfault", "args": ["gateway", "--"]}, None),
        ({"command": "toolfault", "args": ["x", "gateway", "y"]}, None),
        ({"command": "toolfault"}, None),
        ({"command": "toolfault", "env": {}, "args": ["gateway", "https://x.io"]}, ValueError("do not follow")),
        (
            {"command": "toolfault", "args": ["gateway", "--header", "A=B", "https://x.io"], "env": {"B": "v"}},
            {"url": "https://x.io", "env": {"B": "v"}},
        ),
    ],
)
def test_unwrapping_what_wrap_did_not_write_is_careful(entry, restored):
    text = json.dumps({"mcpServers": {"a": entry}})

    edited = unwrap(text)

    if isinstance(restored, ValueError):
        ((_, reason),) = edited.skipped
        assert str(restored) in reason
    else:
        assert json.loads(edited.text)["mcpServers"]["a"] == (restored or entry)


def test_comments_and_layout_stay():
    text = wrap(VSCODE, GATEWAY).text

    assert without_comments(text)["servers"]["git"]["args"] == [*WORDS[1:], "uvx", "mcp-git", "--flag"]
    for kept in ("// my servers", "/* the one */", "// runs it", "// the package", '\t\t\t\t"gateway",\n'):
        assert kept in text


URLS = st.sampled_from(["https://x.io/mcp", "http://localhost:1/\u00e9?a=b#c"])
HEADERS = st.dictionaries(st.sampled_from(["A", "a", "X-Key", "x_key", "Authorization"]), st.text(max_size=5))


@given(
    st.dictionaries(st.text(max_size=5), st.tuples(URLS, HEADERS | st.none(), st.booleans()), min_size=1, max_size=4),
    st.sampled_from([(",", ":"), (", ", ": "), (" ,", " :")]),
    st.sampled_from([None, 2, "\t"]),
)
def test_any_url_survives(servers, separators, indent):
    config = {"mcpServers": {}}
    for name, (url, headers, says_type) in servers.items():
        entry = {"type": "http"} if says_type else {}
        config["mcpServers"][name] = {**entry, "url": url, **({} if headers is None else {"headers": headers})}
    text = json.dumps(config, indent=indent, separators=separators)

    wrapped = wrap(text, GATEWAY)

    for name, (url, headers, _) in servers.items():
        entry = json.loads(wrapped.text)["mcpServers"][name]
        sent = dict(word.split("=") for before, word in zip(entry["args"], entry["args"][1:]) if before == "--header")
        assert entry["args"][-1] == url
        assert {header: entry["env"][variable] for header, variable in sent.items()} == (headers or {})
    assert unwrap(wrapped.text).text == text


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


ANY_WORDS = st.lists(st.text(max_size=8).filter(lambda word: word != "toolfault"), min_size=1, max_size=5)


@given(st.dictionaries(st.text(max_size=5), ANY_WORDS, min_size=1, max_size=4), st.sampled_from([None, 2, "\t"]))
def test_any_command_survives(servers, indent):
    config = {"mcpServers": {name: {"command": words[0], "args": words[1:]} for name, words in servers.items()}}
    text = json.dumps(config, indent=indent)

    wrapped = wrap(text, GATEWAY).text

    for name, words in servers.items():
        entry = json.loads(wrapped)["mcpServers"][name]
        assert [entry["command"], *entry["args"]] == [*WORDS, *words]
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
    assert "remote: would be wrapped" in shown
    assert [one.name for one in tmp_path.iterdir()] == ["mcp.json"]
    assert file.read_text() == CLAUDE


def test_a_named_server_that_is_left_alone_is_a_failure(tmp_path, capsys):
    file = tmp_path / "mcp.json"
    file.write_text('{"mcpServers": {"old": {"type": "sse", "url": "https://x.io"}, "a": {"command": "x"}}}')

    assert main(["gateway", "wrap", str(file), "--server", "old"]) == 1
    assert "old: skipped: it speaks SSE" in capsys.readouterr().out
    assert main(["gateway", "wrap", str(file)]) == 0


def test_a_failed_write_leaves_the_file_and_no_rest(tmp_path, capsys, monkeypatch):
    file = tmp_path / "mcp.json"
    file.write_text(CLAUDE)

    def refuse(*_args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("shutil.copymode", refuse)

    assert main(["gateway", "wrap", str(file)]) == 2
    assert "No space left on device" in capsys.readouterr().err
    assert file.read_text() == CLAUDE
    assert sorted(one.name for one in tmp_path.iterdir()) == ["mcp.json", "mcp.json.bak"]


@pytest.mark.parametrize(
    ("prefix", "uvx", "words"),
    [
        ("/home/me/.cache/uv/archive/x", "/usr/bin/uvx", ["uvx", "toolfault"]),
        ("/home/me/.cache/uv/archive/x", None, [sys.executable, "-m", "toolfault"]),
        ("/opt/venv", "/usr/bin/uvx", [sys.executable, "-m", "toolfault"]),
    ],
)
def test_the_launcher_outlives_an_environment_of_uvx(tmp_path, monkeypatch, prefix, uvx, words):
    monkeypatch.setattr("sys.prefix", prefix)
    monkeypatch.setattr("shutil.which", lambda _name: uvx)
    file = tmp_path / "mcp.json"
    file.write_text('{"mcpServers": {"a": {"command": "x", "args": ["y"]}}}')

    assert main(["gateway", "wrap", str(file)]) == 0

    entry = json.loads(file.read_text())["mcpServers"]["a"]
    assert [entry["command"], *entry["args"]] == [*words, "gateway", "--", "x", "y"]


def test_help_fits_a_screen(capsys):
    assert main(["gateway", "unwrap", "--help"]) == 0
    assert 10 < capsys.readouterr().out.count("\n") <= 40


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (b"\xff\xfe{\x00", "it is not UTF-8; save it as UTF-8 first"),
        (b"{", "line 1: expected"),
        (b"[]", "it has no servers"),
    ],
)
def test_a_file_that_is_no_config_is_refused_and_stays(tmp_path, capsys, data, complaint):
    file = tmp_path / "mcp.json"
    file.write_bytes(data)

    assert main(["gateway", "wrap", str(file)]) == 2
    assert complaint in capsys.readouterr().err
    assert file.read_bytes() == data


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ([], "the config file is missing"),
        (["/tmp"], "can't read or write '/tmp': Is a directory"),
        (["x.json", "--header", "A=B"], "--header is for a URL"),
        (["/nowhere.json"], "can't read or write '/nowhere.json'"),
        (["--server"], "--server needs a value"),
        (["x.json", "--timout", "5"], "did you mean --timeout?"),
    ],
)
def test_mistakes_name_the_cure(words, complaint, capsys):
    assert main(["gateway", "wrap", *words]) == 2
    assert complaint in capsys.readouterr().err


def test_unwrap_takes_no_option_of_the_gateway(capsys):
    assert main(["gateway", "unwrap", "x.json", "--timeout", "5"]) == 2
    assert "unknown option --timeout" in capsys.readouterr().err
