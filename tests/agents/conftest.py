"""
The example server as a process of its own, for agent frameworks that start it over stdio; and waits that are noted.
"""

import json
import os
import sys
from pathlib import Path

import pytest

from toolfault import Retry
from toolfault.testing import no_waits


SERVER = Path(__file__).parents[2] / "example_server" / "server.py"

#: What runs the server: it needs mcp 2.3, and the framework under test may need an older one in its environment.
PYTHON = os.environ.get("TOOLFAULT_SERVER_PYTHON", sys.executable)


class Shop:
    """
    How to start the server so that each message to it is noted first, and what was noted.
    """

    def __init__(self, log):
        self._log = log
        self.command = "sh"
        self.args = ["-c", 'tee -a "$0" | "$@"', str(log), PYTHON, str(SERVER)]

    def calls(self, tool, arguments=None):
        """
        How many requests to call a tool were sent, whatever processes were started; with these arguments, or any.
        """
        sent = [json.loads(line) for line in self._log.read_text().splitlines()]
        asked = [message["params"] for message in sent if message.get("method") == "tools/call"]
        return sum(
            params["name"] == tool and (arguments is None or params["arguments"] == arguments) for params in asked
        )


@pytest.fixture(scope="session")
def new_shop(tmp_path_factory):
    """
    Make a `Shop` of which nothing is noted yet.
    """
    return lambda: Shop(tmp_path_factory.mktemp("shop") / "sent.jsonl")


@pytest.fixture
def shop(new_shop):
    return new_shop()


@pytest.fixture
def waits():
    return []


@pytest.fixture
def retry(waits):
    """
    The usual rules; instead of waiting, the seconds are noted in *waits*.
    """
    return no_waits(Retry(), waits)
