"""
No message that a table composes holds what was planted in the exception.
"""

import importlib
import io
import sqlite3
import ssl
import subprocess
import urllib.error
import warnings
from email.message import Message

import httpx
import httpx2
import pytest

from toolfault.rules import DEFAULT, anyio, builtins, jsonschema, mcp, pydantic, sqlite, stdlib, wrappers
from toolfault.rules import httpx as httpx_table


PLANTED = (
    "https://user:NOTREAL@db1.internal:5432/x?api_key=NOTREAL SELECT NOTREAL FROM secrets --password NOTREAL-longer"
)

#: Rules that say nothing themselves: the exception's own text is shown, redacted. Anything else composes.
OWN_TEXT = {
    "builtins.ArithmeticError", "builtins.AssertionError", "builtins.AttributeError", "builtins.BaseException",
    "builtins.BlockingIOError", "builtins.BrokenPipeError", "builtins.BufferError", "builtins.ChildProcessError",
    "builtins.ConnectionAbortedError", "builtins.ConnectionError", "builtins.ConnectionRefusedError",
    "builtins.ConnectionResetError", "builtins.EOFError", "builtins.Exception", "builtins.FileExistsError",
    "builtins.FileNotFoundError", "builtins.FloatingPointError", "builtins.ImportError", "builtins.IndentationError",
    "builtins.IndexError", "builtins.InterruptedError", "builtins.IsADirectoryError", "builtins.KeyError",
    "builtins.LookupError", "builtins.ModuleNotFoundError", "builtins.NameError", "builtins.NotADirectoryError",
    "builtins.NotImplementedError", "builtins.OSError", "builtins.OverflowError", "builtins.PermissionError",
    "builtins.ProcessLookupError", "builtins.ReferenceError", "builtins.RuntimeError", "builtins.StopAsyncIteration",
    "builtins.StopIteration", "builtins.SyntaxError", "builtins.SystemError", "builtins.TabError",
    "builtins.TimeoutError", "builtins.TypeError", "builtins.UnboundLocalError", "builtins.ValueError",
    "builtins.Warning", "builtins.ZeroDivisionError",
    "fastmcp.exceptions.AuthorizationError", "fastmcp.exceptions.ClientError", "fastmcp.exceptions.DisabledError",
    "fastmcp.exceptions.FastMCPError", "fastmcp.exceptions.NotFoundError", "fastmcp.exceptions.PromptError",
    "fastmcp.exceptions.ResourceError", "fastmcp.exceptions.ToolError", "fastmcp.exceptions.ValidationError",
    "mcp.server.mcpserver.exceptions.MCPServerError", "mcp.server.mcpserver.exceptions.ResourceError",
    "mcp.server.mcpserver.exceptions.ResourceNotFoundError", "mcp.server.mcpserver.exceptions.ToolError",
    "mcp.server.mcpserver.exceptions.UnexpectedResourceError", "mcp.server.mcpserver.exceptions.UnexpectedToolError",
    "mcp.shared.exceptions.MCPError",
}  # fmt: skip

#: The tables of what is always there.
RULES = {
    name: rule
    for table in (anyio, builtins, httpx_table, jsonschema, mcp, pydantic, sqlite, stdlib, wrappers)
    for name, rule in table.RULES.items()
}

#: What argument a class wants instead of a text.
SEALED = ("pydantic_core.", "referencing.", "builtins.Unicode")


def planted(name):
    """
    An exception of a class with the secret as its only argument; None if there is no such class here.
    """
    module, _, rest = name.rpartition(".")
    while True:
        try:
            found = importlib.import_module(module)
            break
        except ModuleNotFoundError:
            module, _, head = module.rpartition(".")
            if not module:
                return None
            rest = f"{head}.{rest}"
    for part in rest.split("."):
        found = getattr(found, part, None)
    cls = found[0] if isinstance(found, tuple) else found
    if cls is None:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exc = cls.__new__(cls)
    exc.args = (PLANTED,)
    return exc


@pytest.mark.parametrize("name", sorted(name for name in RULES if not name.startswith(SEALED)))
def test_an_argument_is_not_repeated(name):
    """
    Each class either composes its message, or stands in the list of those whose text is shown.
    """
    exc = planted(name)
    if exc is None:
        return
    verdict = DEFAULT.verdict_on(exc)[1]

    assert (verdict.message is None) is (name in OWN_TEXT)
    assert "NOTREAL" not in (verdict.message or "")
    assert "db1" not in (verdict.message or "")


def test_the_list_has_no_stale_entry():
    """
    What it names is in a table.
    """
    assert OWN_TEXT <= RULES.keys()


def of_httpx(hx):
    request = hx.Request(
        "GET", "https://user:NOTREAL@db1.internal/x?api_key=NOTREAL", headers={"authorization": "NOTREAL"}
    )
    response = hx.Response(
        503, request=request, text="NOTREAL", headers={"x-trace": "NOTREAL", "retry-after": "NOTREAL"}
    )
    return hx.HTTPStatusError("NOTREAL", request=request, response=response)


def of_urllib():
    headers = Message()
    headers["Set-Cookie"] = "NOTREAL"
    return urllib.error.HTTPError("https://db1.internal/?key=NOTREAL", 500, "NOTREAL", headers, io.BytesIO(b"NOTREAL"))


def of_sqlite():
    exc = sqlite3.OperationalError('near "NOTREAL": syntax error')
    exc.sqlite_errorname = "SQLITE_ERROR"
    return exc


def of_ssl():
    exc = ssl.SSLError(1, "[SSL] NOTREAL")
    exc.reason = "hostname db1.internal NOTREAL"
    return exc


LEAKING = [
    subprocess.CalledProcessError(1, ["psql", "--password", "NOTREAL"], output=b"NOTREAL", stderr=b"NOTREAL"),
    subprocess.TimeoutExpired("curl -H 'Authorization: NOTREAL'", 3, output=b"NOTREAL"),
    of_httpx(httpx),
    of_httpx(httpx2),
    of_urllib(),
    of_sqlite(),
    of_ssl(),
    OSError(111, "Connect call failed ('NOTREAL', 5432)"),
    FileNotFoundError(2, "No such file or directory", "/srv/NOTREAL/config.ini"),
    PermissionError(13, "Connect call failed ('NOTREAL', 5432)"),
]


@pytest.mark.parametrize("exc", LEAKING, ids=lambda exc: type(exc).__module__ + "." + type(exc).__name__)
def test_texts_that_leak(verdict_on, exc):
    """
    Those whose text was seen to leak, and their kin.
    """
    message = verdict_on(exc).message

    assert message
    assert "NOTREAL" not in message
    assert "db1" not in message


@pytest.mark.parametrize("name", sorted(name for name, rule in RULES.items() if not callable(rule) and rule.message))
def test_messages_are_sentences(name):
    """
    What happened and what to do, in one to three short sentences; no class name alone, no placeholder.
    """
    message = RULES[name].message

    assert message[0].isupper()
    assert message.endswith(".")
    assert 1 <= message.count(". ") + 1 <= 3
    assert len(message) < 250
    assert not any(sign in message for sign in "{}<>\n")
    assert "None" not in message
