"""
Servers of others, plain and guarded: each failing call says at least as much with a guard as without.

The servers need no network. Each call goes through a real process and the SDK's own client.
"""

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import anyio
import pytest
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

from toolfault import parse


LAUNCHER = str(Path(__file__).parent / "guarded.py")

#: What an answer says of arguments that were refused before the tool ran: field and rule, without the values.
REFUSED = "the arguments are named with the rule that they break, without their values"


@dataclass(frozen=True)
class Call:
    tool: str
    arguments: dict
    #: Why words of the plain answer are missing.
    reworded: str = ""
    #: Why the code differs from what the plain text shows.
    judged: str = ""


@dataclass(frozen=True)
class Peer:
    """
    A server: how it is guarded, the module that starts it, and calls that fail. ``FOLDER`` is where it runs.
    """

    kind: str
    module: str
    calls: tuple[Call, ...]
    arguments: tuple[str, ...] = ()
    #: The major of the SDK that it is for.
    major: int = 2


PEERS = [
    Peer(
        "mcpserver",
        "excel_mcp",
        (
            Call("describe_workbook", {"path": "FOLDER/none.xlsx"}),
            Call("describe_workbook", {"path": "FOLDER/bad.xlsx"}),
            Call("create_workbook", {"path": "FOLDER/x.txt"}, judged="a PathError, by the words of its class"),
            Call("list_workbooks", {"directory": "FOLDER/none"}, judged="a PathError, by the words of its class"),
            Call("import_workbook", {"path": "FOLDER/y.xlsx", "content_base64": "$$$"}),
            Call("describe_workbook", {}),
            Call("none", {}),
        ),
        arguments=("stdio",),
        major=2,
    ),
    Peer(
        "mcpserver",
        "mcp_alchemy.server",
        (
            Call("schema_definitions", {"table_names": ["none"]}),
            Call("execute_query", {}, reworded=REFUSED),
        ),
        major=2,
    ),
    Peer(
        "mcpserver",
        "mcp_server_time",
        (
            Call("get_current_time", {"timezone": "Mars/Olympus"}),
            Call("convert_time", {"source_timezone": "UTC", "time": "25:99", "target_timezone": "UTC"}),
            Call("convert_time", {"source_timezone": "UTC"}, reworded=REFUSED),
        ),
        major=2,
    ),
    Peer(
        "fastmcp",
        "mcp_sympy",
        (
            Call("sympy_sympify", {"expr": "1 +"}),
            Call("sympy_factor", {"expr": "(("}),
            Call("sympy_factor", {}, reworded=REFUSED),
            Call("none", {}),
        ),
        major=2,
    ),
    Peer(
        "fastmcp",
        "word_document_server.main",
        (
            Call("add_table", {"filename": "FOLDER/none.docx", "rows": "x", "cols": 1}, reworded=REFUSED),
            Call("get_document_info", {}, reworded=REFUSED),
        ),
        major=2,
    ),
    Peer(
        "lowlevel",
        "mcp_server_git",
        (
            Call("git_status", {"repo_path": "FOLDER/none"}),
            Call("git_status", {"repo_path": "FOLDER"}),
            Call("git_log", {"repo_path": "FOLDER/repo"}),
            Call("git_checkout", {"repo_path": "FOLDER/repo", "branch_name": "none"}),
            Call("git_create_branch", {"repo_path": "FOLDER/repo", "branch_name": "a..b"}),
            Call("git_show", {"repo_path": "FOLDER/repo", "revision": "none"}),
            Call(
                "git_add",
                {"repo_path": "FOLDER/repo", "files": ["none.txt"]},
                reworded="the command line is left out, and the status is not in git's words",
            ),
            Call("git_diff", {"repo_path": "FOLDER/repo", "target": "--output=x"}),
            Call("git_commit", {"repo_path": "FOLDER/repo"}, reworded=REFUSED),
            Call("git_log", {"repo_path": "FOLDER/repo", "max_count": "many"}, reworded=REFUSED),
        ),
        major=1,
    ),
    Peer(
        "lowlevel",
        "mcp_server_fetch",
        (
            Call("fetch", {"url": "http://127.0.0.1:9/x"}, judged="the number -32602, which the server gave"),
            Call("fetch", {"url": "nowhere"}),
            Call("fetch", {}, reworded=REFUSED),
        ),
        major=1,
    ),
    Peer(
        "lowlevel",
        "mcp_server_time",
        (
            Call("get_current_time", {"timezone": "Mars/Olympus"}),
            Call("convert_time", {"source_timezone": "UTC", "time": "25:99", "target_timezone": "UTC"}),
            Call("convert_time", {"source_timezone": "UTC"}, reworded=REFUSED),
        ),
        major=1,
    ),
    Peer(
        "lowlevel",
        "mcp_text_editor:run",
        (
            Call("edit_text_file_contents", {"files": [{"path": "x"}]}, reworded=REFUSED),
            Call("get_text_file_contents", {}, reworded=REFUSED),
            Call("none", {}),
        ),
        major=1,
    ),
    Peer(
        "sdk_fastmcp",
        "mcp_server_calculator",
        (
            Call("calculate", {"expression": "1/0"}, judged="a ZeroDivisionError in the author's own code"),
            Call("calculate", {"expression": "foo("}),
            Call("calculate", {"expression": "import os"}),
            Call("calculate", {}, reworded=REFUSED),
        ),
        major=1,
    ),
    Peer(
        "sdk_fastmcp",
        "sqlite_mcp.main:main",
        (
            Call("search_databases", {"path": "FOLDER/none"}, reworded=REFUSED),
            Call("list_tables", {}, reworded=REFUSED),
            Call("none", {}),
        ),
        major=1,
    ),
]


MAJOR = int(version("mcp").partition(".")[0])

#: There are two environments, one for each major.
HERE = [peer for peer in PEERS if peer.major == MAJOR]
ROWS = [(peer, number) for peer in HERE for number in range(len(peer.calls))]
IDS = [f"{peer.module}-{peer.calls[number].tool}-{number}" for peer, number in ROWS]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("peers")
    subprocess.run(["git", "init", "-q", str(folder / "repo")], check=True)
    for name in ("bad.xlsx", "bad.docx"):
        (folder / name).write_text("no archive")
    return folder


@pytest.fixture(scope="module")
def answers(folder):
    """
    What each server answered, plain and guarded.
    """
    return {
        (peer.module, kind): anyio.run(call_all, peer, kind, folder) for peer in HERE for kind in ("plain", peer.kind)
    }


async def call_all(peer, kind, folder):
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "DB_URL": f"sqlite:///{folder}/peers.db",
        "GIT_CEILING_DIRECTORIES": str(folder),
    }
    server = StdioServerParameters(
        command=sys.executable, args=[LAUNCHER, kind, peer.module, *peer.arguments], env=environment, cwd=folder
    )
    with (folder / f"{peer.module}-{kind}.log").open("w") as log:
        async with stdio_client(server, errlog=log) as streams, ClientSession(*streams) as session:
            await session.initialize()
            return [await answer_to(session, call, folder) for call in peer.calls]


async def answer_to(session, call, folder):
    arguments = json.loads(json.dumps(call.arguments).replace("FOLDER", str(folder)))
    try:
        with anyio.fail_after(30):
            result = await session.call_tool(call.tool, arguments)
    except Exception as exc:
        return exc
    return result.model_dump(by_alias=True, exclude_none=True, mode="json")


def text_of(result):
    return "\n".join(block.get("text", "") for block in result["content"])


def envelope_of(result):
    structured = result.get("structuredContent")
    return structured or result.get("_meta", {}).get("io.github.toolfault/error", {}).get("error")


#: What the SDKs put around a text, and what pydantic adds to it.
WRAPPING = re.compile(
    r"^Error (?:executing|calling) tool '?\w+'?:? ?|Input validation error: |For further information visit \S+"
    r"|\[type=.*?\]$",
    re.MULTILINE,
)


def words_of(text):
    return set(re.findall(r"\w{3,}", WRAPPING.sub("", text).lower()))


#: Codes that say nothing of what went wrong.
VAGUE = {"internal", "tool_panicked", "unknown"}


@pytest.mark.parametrize(("peer", "number"), ROWS, ids=IDS)
def test_a_guarded_server_says_at_least_as_much(answers, peer, number):
    call = peer.calls[number]
    plain = answers[peer.module, "plain"][number]
    guarded = answers[peer.module, peer.kind][number]

    if isinstance(plain, Exception):
        assert parse(guarded).code == parse(plain).code
        return
    assert plain["isError"], "the call was meant to fail"
    assert isinstance(guarded, dict), f"a result became {guarded!r}"
    assert guarded["isError"]
    envelope = envelope_of(guarded)
    assert envelope["message"] == guarded["content"][0]["text"]
    missing = words_of(text_of(plain)) - words_of(text_of(guarded))
    assert bool(missing) == bool(call.reworded), (missing, text_of(plain), text_of(guarded))
    code, bare = envelope["code"], parse(plain).code
    if call.judged:
        assert code != bare, envelope
    else:
        assert code == bare or bare in VAGUE, envelope


def test_there_are_enough_servers():
    assert len(HERE) >= 5
