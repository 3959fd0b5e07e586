"""
What the tests of agent frameworks call, and how often it was called: the example server, and a server that is not ours.
"""

import json
import os
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest


ROOT = Path(__file__).parents[2]

ORDER = {"reference": "TEST-0001", "customer": 7, "sku": "SEN-100", "quantity": 2}


class Shop:
    """
    How to start the example server so that each message to it is noted first, and what was noted.
    """

    def __init__(self, log):
        # It needs mcp 2.3, and the framework under test may need an older one in its environment.
        python = os.environ.get("TOOLFAULT_SERVER_PYTHON", sys.executable)
        self._log = log
        self.command = "sh"
        self.args = ["-c", 'tee -a "$0" | "$@"', str(log), python, str(ROOT / "example_server" / "server.py")]

    def calls(self, tool, arguments=None):
        """
        How many requests to call a tool were sent, whatever processes were started; with these arguments, or any.
        """
        sent = [json.loads(line) for line in self._log.read_text().splitlines()]
        asked = [message["params"] for message in sent if message.get("method") == "tools/call"]
        return sum(
            params["name"] == tool and (arguments is None or params["arguments"] == arguments) for params in asked
        )


class Peer:
    """
    How to start `agents_peer`, and how often each of its tools was called.
    """

    def __init__(self, log):
        self._log = log
        self.command = sys.executable
        self.args = [str(Path(__file__).with_name("agents_peer.py")), str(log)]

    def calls(self, tool):
        return self._log.read_text().split().count(tool) if self._log.exists() else 0


class Watcher:
    """
    An observer of retries that writes down what it is told.
    """

    def __init__(self):
        self.seen = []

    @contextmanager
    def calling(self, name):
        yield lambda retried: self.seen.append((name, len(retried.attempts), retried.stopped))

    @contextmanager
    def attempting(self, name, number):
        yield lambda fault: self.seen.append((name, number, fault and fault.code.value))


def watched(name):
    """
    What a `Watcher` sees of a call that is busy twice and then works.
    """
    return [(name, 1, "internal"), (name, 2, "internal"), (name, 3, None), (name, 3, "success")]


#: The peer's tools that a model calls in one turn; how often each is called without and with us, and how the text
#: begins that the model is told with us.
TOGETHER = {
    "outage": (1, 3, "fine"),
    "limit": (1, 3, "slow down\n[quota_exceeded] The call was tried 3 times."),
    "silent": (1, 1, "The tool failed without saying why.\n[unknown]"),
    "turned_away": (1, 3, "written"),
}


def seen_together(without, with_us, told, wanted=TOGETHER):
    """
    What a table like `TOGETHER` says, of two peers and of what a model was told of each tool with us.
    """
    assert told.keys() == wanted.keys()
    return {
        tool: (without.calls(tool), with_us.calls(tool), text[: len(wanted[tool][2])]) for tool, text in told.items()
    }


@dataclass
class Case:
    """
    A call of the example server.

    Attributes:
        before:
            The texts of its first answer.

        envelope:
            What that answer's envelope says; None for a success.

        after:
            The one text that a model is told with us.

        asked:
            How often the server is asked, without us and with us.
    """

    tool: str
    arguments: dict
    before: list
    envelope: dict | None
    after: str
    asked: tuple


OUTAGE = {"code": "internal", "category": "transient", "retryable": True}

CASES = {
    "repeated until it works": Case(
        "track_parcel",
        {"number": "HAM-1042"},
        [
            "The upstream API is unavailable (HTTP 503). Retry after 1 second.",
        ],
        {**OUTAGE, "retry_after_seconds": 1},
        "HAM-1042 is on the water",
        (1, 3),
    ),
    "repeated in vain": Case(
        "customs_duty",
        {"country": "GB", "euros": 80.0},
        [
            "A service that the tool depends on refused the connection (ECONNREFUSED). Try again later.",
        ],
        OUTAGE,
        "A service that the tool depends on refused the connection (ECONNREFUSED). Try again later.\n"
        "[internal] The call was tried 3 times.",
        (1, 3),
    ),
    "no retry helps": Case(
        "shipping_quote",
        {"country": "AQ", "kilos": 2.0},
        ["The upstream API does not allow this (HTTP 403). Other rights are needed."],
        {"code": "permission_denied", "category": "auth", "retryable": False},
        "The upstream API does not allow this (HTTP 403). Other rights are needed.\n"
        "[permission_denied] The same call will fail again.",
        (1, 1),
    ),
    "too long a wait": Case(
        "shipping_quote",
        {"country": "NO", "kilos": 2.0},
        [
            "The upstream API is unavailable (HTTP 503). Retry after 120 seconds.",
        ],
        {**OUTAGE, "retry_after_seconds": 120},
        "The upstream API is unavailable (HTTP 503). Retry after 120 seconds.\n[internal]",
        (1, 1),
    ),
    "wrong arguments": Case(
        "price_per_cup",
        {"sku": "SEN-99"},
        ["unknown tea 'SEN-99'; did you mean SEN-2, SEN-50, SEN-250?"],
        {"code": "invalid_arguments", "category": "validation", "retryable": False},
        "unknown tea 'SEN-99'; did you mean SEN-2, SEN-50, SEN-250?\n"
        "[invalid_arguments] The same call will fail again; change its arguments.",
        (1, 1),
    ),
    "works at once": Case("price_per_cup", {"sku": "SEN-100"}, ["0.39"], None, "0.39", (1, 1)),
}

#: All calls in order, for one run.
ASKED = [(case.tool, case.arguments) for case in CASES.values()]

each_case = pytest.mark.parametrize(
    ("index", "case"), [pytest.param(index, case, id=name) for index, (name, case) in enumerate(CASES.items())]
)
