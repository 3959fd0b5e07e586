"""
Command lines of failed programs, and secrets in the names of files: neither leaves.
"""

import json
import shlex
import subprocess
import sys

import pytest

from toolfault import Disclosure, Guard, ToolFault
from toolfault.hosting import Call


SECRET = "S3cretPazz"
COMMAND = ["psql", "-h", "db", f"-p{SECRET}"]
SHELL = f"psql -h db -p{SECRET} --quiet"
FAILED = subprocess.CalledProcessError(1, COMMAND)


class Silent(subprocess.CalledProcessError):
    pass


class Telling(subprocess.CalledProcessError):
    def __str__(self):
        return f"The dump of the stock failed: {self.cmd}"


class Unrelated(Exception):
    pass


def by_accident():
    subprocess.run([sys.executable, "-c", "raise SystemExit(1)", f"-p{SECRET}"], check=True)


RAISED = {
    "a list": FAILED,
    "a text": subprocess.CalledProcessError(1, SHELL),
    "bytes": subprocess.CalledProcessError(1, SHELL.encode()),
    "by a signal": subprocess.CalledProcessError(-9, COMMAND),
    "by an unknown signal": subprocess.CalledProcessError(-999, COMMAND),
    "a shell's": subprocess.CalledProcessError(2, ["sh", "-c", SHELL]),
    "too late": subprocess.TimeoutExpired(COMMAND, 3),
    "a text, too late": subprocess.TimeoutExpired(SHELL, 3),
    "an own class": Silent(1, COMMAND),
    "an own class with words": Telling(1, COMMAND),
    "in a group": ExceptionGroup("two failed", [FAILED, ValueError("x")]),
    "named by its group": ExceptionGroup(str(FAILED), [FAILED]),
}

#: What an author makes of the exception that is handled.
WRAPPED = {
    "its text": lambda exc: RuntimeError(f"The dump failed: {exc}"),
    "its text alone": lambda exc: RuntimeError(str(exc)),
    "its repr": lambda exc: RuntimeError(f"The dump failed: {exc!r}"),
    "its command": lambda exc: ValueError(f"{exc.cmd} failed"),
    "its command, joined": lambda exc: ValueError(f"{' '.join(exc.cmd)} failed"),
    "its command, for a shell": lambda exc: ValueError(f"{shlex.join(exc.cmd)} failed"),
    "its command as JSON": lambda exc: ValueError(f"failed: {json.dumps(exc.cmd)}"),
    "its text, cut": lambda exc: ValueError(f"failed: {str(exc)[:44]}"),
    "its text twice": lambda exc: ValueError(f"{exc} {exc} {exc.cmd} {exc.cmd}"),
    "an own class": lambda exc: Unrelated(str(exc)),
    "a fault": lambda exc: ToolFault("internal", f"The dump failed: {exc}"),
    "a fault's hint": lambda exc: ToolFault("internal", "The dump failed", hint=f"Try {exc.cmd}"),
    "a fault's causes": lambda exc: ToolFault("internal", "The dump failed", causes=[str(exc)]),
    "an error of the system": lambda exc: OSError(f"The dump failed: {exc}"),
}


def judge(fail, *args, **options):
    guard = Guard(**options)
    with pytest.raises(Exception) as caught:  # noqa: PT011 -- any at all
        fail(*args)
    fault = guard.judge(caught.value, Call(tool="dump", function=fail))
    return fault, json.dumps(guard.to_result(fault))


def raise_it(exc):
    raise exc


def wrap(exc, make, from_none):
    try:
        raise exc
    except Exception as handled:
        if from_none:
            raise make(handled) from None
        raise make(handled) from handled


@pytest.mark.parametrize("disclosure", [Disclosure.REDACTED, Disclosure.WITHHELD])
@pytest.mark.parametrize("exc", RAISED.values(), ids=RAISED)
def test_a_command_line_does_not_leave_when_a_tool_raises_it(exc, disclosure):
    _, result = judge(raise_it, exc, disclosure=disclosure)

    assert SECRET not in result
    assert "psql" not in result


@pytest.mark.parametrize("from_none", [False, True])
@pytest.mark.parametrize("make", WRAPPED.values(), ids=WRAPPED)
def test_a_command_line_does_not_leave_when_a_tool_quotes_it(make, from_none):
    _, result = judge(wrap, subprocess.CalledProcessError(1, COMMAND), make, from_none)

    assert SECRET not in result
    assert "psql" not in result
    assert "fail" in result or "returned non-zero exit status 1" in result


def test_a_program_that_failed_by_itself_names_no_command_line():
    fault, result = judge(by_accident)

    assert SECRET not in result
    assert "exit status 1" in fault.message


def test_a_program_is_answered_alike_raised_by_the_tool_and_by_subprocess():
    by_tool, _ = judge(raise_it, FAILED)
    by_subprocess, _ = judge(by_accident)

    assert by_tool.envelope == by_subprocess.envelope


def test_what_a_program_wrote_stays_when_the_tool_raises_its_failure():
    fault, _ = judge(raise_it, subprocess.CalledProcessError(1, COMMAND, stderr="no such table: stock"))

    assert 'The program said: "no such table: stock"' in fault.message


def test_the_words_of_an_own_class_stay():
    fault, _ = judge(raise_it, Telling(1, COMMAND))

    assert fault.message == "The dump of the stock failed: [command]"


def test_a_command_of_one_word_is_no_secret():
    fault, _ = judge(wrap, subprocess.CalledProcessError(1, "dump"), lambda exc: ValueError(f"{exc.cmd} failed"), False)

    assert fault.message == "dump failed"


def test_full_disclosure_shows_the_command_line():
    fault, _ = judge(
        wrap,
        subprocess.CalledProcessError(1, ["git", "pull"]),
        lambda exc: ToolFault("internal", f"failed: {exc.cmd}"),
        False,
        disclosure=Disclosure.FULL,
    )

    assert fault.message == "failed: ['git', 'pull']"


#: Paths whose context tells that their last component is a secret.
NAMES = [
    f"sqlplus app/{SECRET}1@db",
    f"https://app:{SECRET}1@db",
    f"x/password=ab/{SECRET}1",
    f"postgresql://app:{SECRET}1/x@db",
]


@pytest.mark.parametrize("name", NAMES)
def test_a_file_name_is_redacted_before_it_is_shortened(name):
    failures = [
        (open, name),
        (subprocess.run, name),
        (raise_it, FileNotFoundError(2, "No such file", name)),
        (wrap, FileNotFoundError(2, "No such file", name), lambda exc: ValueError(f"No stock: {exc}"), False),
    ]
    for fail, *args in failures:
        assert SECRET not in judge(fail, *args)[1], fail


def test_a_registered_secret_with_a_slash_does_not_leave_by_its_second_half():
    _, result = judge(open, "/srv/x/half/otherhalf", secrets=["half/otherhalf"])

    assert "otherhalf" not in result


def test_an_ordinary_file_name_stays():
    fault, _ = judge(open, "/nowhere/data/report.txt")

    assert "'report.txt'" in fault.message
