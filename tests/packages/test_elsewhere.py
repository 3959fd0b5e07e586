"""
Packages that the tables of the core speak of, and that its own tests are not run with: FastMCP, pydantic-settings,
retrying, tenacity.
"""

import importlib

import fastmcp
import fastmcp.exceptions
import pydantic_settings
import pytest
from fastmcp.exceptions import ToolError
from pydantic import ValidationError

from toolfault import Guard
from toolfault.hosting import Call
from toolfault.rules import TABLES, load


HEADS = ("fastmcp.", "pydantic_settings.", "retrying.", "tenacity.")
IGNORED = frozenset().union(*(importlib.import_module(f"toolfault.rules.{table}").IGNORED for table in TABLES))


#: Where releases before 2.7 have it.
OLDER = {"pydantic_settings.sources.SettingsError"}


@pytest.mark.parametrize("name", [name for name in load() if name.startswith(HEADS) and name not in OLDER])
def test_every_name_is_that_of_a_class(name):
    module, _, qualname = name.rpartition(".")

    assert issubclass(getattr(importlib.import_module(module), qualname), BaseException)


def exported(module):
    found = [cls for cls in vars(module).values() if isinstance(cls, type) and issubclass(cls, BaseException)]
    return [cls for cls in found if not issubclass(cls, Warning)]


@pytest.mark.parametrize("cls", exported(fastmcp.exceptions) + exported(pydantic_settings.exceptions))
def test_every_exported_exception_is_mapped_or_ignored(cls):
    rules = load()
    names = [f"{base.__module__}.{base.__qualname__}" for base in cls.__mro__]

    assert any(name in rules for name in names if not name.startswith("builtins.")) or names[0] in IGNORED


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("Rate limit reached", "quota_exceeded"),
        ("The ledger is closed", "internal"),
        ("Request timed out", "tool_timeout"),
    ],
)
def test_the_host_s_error_is_read_by_its_prose(text, code):
    try:
        raise ToolError(text)
    except ToolError as exc:
        fault = Guard().judge(exc, Call(tool="t", function=test_the_host_s_error_is_read_by_its_prose))

    assert (fault.code, fault.envelope.message) == (code, text)


async def called(name, arguments):
    server = fastmcp.FastMCP("upstream")

    @server.tool
    def refuses(city: str) -> str:
        raise ToolError(f"No tickets for {city}")

    async with fastmcp.Client(server) as client:
        await client.call_tool(name, arguments)


@pytest.mark.parametrize(("name", "arguments"), [("refuses", {"city": "Oslo"}), ("nothing", {}), ("refuses", {})])
def test_what_its_client_really_raises_is_judged(name, arguments):
    import anyio

    with pytest.raises(Exception) as caught:
        anyio.run(called, name, arguments)
    fault = Guard().judge(caught.value, Call(tool="outer"))

    assert fault.envelope.message
    assert fault.code != "unknown"


def test_a_setting_that_is_missing_is_the_operator_s():
    class Settings(pydantic_settings.BaseSettings):
        toolfault_test_never_set: str

    with pytest.raises(ValidationError) as caught:
        Settings()
    fault = Guard().judge(caught.value, Call(tool="t"))

    assert fault.code == "internal"
    assert not fault.envelope.retryable
