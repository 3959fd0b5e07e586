"""
``toolfault check`` on a real terminal: colours, progress, width, and what switches them off.
"""

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest


SERVER = Path(__file__).parents[1] / "support" / "checked_server.py"
COMMAND = [sys.executable, "-m", "toolfault", "check", "--timeout", "3", "--", sys.executable, "-S", str(SERVER)]
UNSET = ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "CI", "COLUMNS", "PYTHONIOENCODING")


def run_on_terminal(*words, **environment):
    """
    Return the exit code, and all that a process writes to a terminal.
    """
    ours, theirs = pty.openpty()
    kept = {name: value for name, value in os.environ.items() if name not in UNSET}
    with subprocess.Popen(
        words, stdin=theirs, stdout=theirs, stderr=theirs, env={**kept, "TERM": "xterm", **environment}
    ) as process:
        os.close(theirs)
        found = b""
        try:
            while chunk := os.read(ours, 65536):
                found += chunk
        except OSError:
            # So Linux says that nobody can write to it any more.
            pass
        os.close(ours)
        code = process.wait(60)
    return code, found.decode()


@pytest.mark.parametrize(
    ("environment", "has_colours", "has_progress"),
    [
        ({"COLUMNS": "60"}, True, True),
        ({"COLUMNS": "60", "NO_COLOR": "1"}, False, True),
        ({"COLUMNS": "60", "CI": "true"}, True, False),
        ({"COLUMNS": "60", "TERM": "dumb"}, False, True),
    ],
    ids=str,
)
def test_a_terminal_gets_colours_and_progress(environment, has_colours, has_progress):
    code, shown = run_on_terminal(*COMMAND, "good", **environment)

    assert code == 0, shown
    assert ("\x1b[" in shown) is has_colours
    assert (re.search(r"\r\[\d+/\d+\] ", shown) is not None) is has_progress
    # What a person sees of each line: what was written last.
    plain = re.sub(r"\x1b\[[0-9;]*m", "", shown).replace("\r\n", "\n")
    lines = [line.rpartition("\r")[2] for line in plain.splitlines()]
    assert max(map(len, lines)) <= 60
    assert [line for line in lines if line.startswith("good 1: level ")]


def test_a_terminal_without_unicode_is_written_to():
    code, shown = run_on_terminal(
        *COMMAND[:4], "--through-gateway", *COMMAND[4:], "good", PYTHONIOENCODING="ascii", PYTHONUTF8="0"
    )

    assert code == 0, shown
    assert shown.isascii()
    assert "Side by side" in shown


@pytest.mark.parametrize(
    "words",
    [["check", "--dry-run", "--", *COMMAND[-3:], "flawed"], ["explain", "ValueError"]],
    ids=["check", "explain"],
)
def test_a_reader_that_goes_away_early_is_no_error(words):
    words = [sys.executable, "-m", "toolfault", *words]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        said = process.stderr.read()
        code = process.wait(60)

    assert (code, said) == (1, b"")


def test_a_reader_that_goes_away_is_no_error():
    words = [*COMMAND, "flawed"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        said = process.stderr.read()
        code = process.wait(60)

    assert (code, said) == (1, b"")
