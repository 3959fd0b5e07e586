"""
Fixtures for agent frameworks that need mcp 1.x, each with a scripted model, against the example server in a process of its own.

That server needs mcp 2.3, so it runs with another interpreter: that of TOOLFAULT_SERVER_PYTHON, else of the checkout.
"""

import os
from pathlib import Path

import pytest
from anyio.from_thread import start_blocking_portal
from mcp import ClientSession, StdioServerParameters

from agents_shop import ROOT, Peer
from toolfault import McpErrorCode, Retry


@pytest.fixture(scope="session")
def server():
    """
    How the example server is started.
    """
    python = Path(os.environ.get("TOOLFAULT_SERVER_PYTHON") or ROOT / ".venv" / "bin" / "python")
    if not python.exists():
        pytest.fail(
            f"the example server needs mcp 2.3, and there is no {python}: run make test, or set TOOLFAULT_SERVER_PYTHON"
        )
    return StdioServerParameters(command=str(python), args=[str(ROOT / "example_server" / "server.py")])


@pytest.fixture
def new_peer(tmp_path_factory):
    return lambda: Peer(tmp_path_factory.mktemp("peer") / "called")


@pytest.fixture(scope="module")
def portal():
    with start_blocking_portal() as portal:
        yield portal


@pytest.fixture
def sent(monkeypatch):
    """
    The tools that were called, in order, as the session sends it to the server; but for what cleans up.
    """
    names = []
    send_request = ClientSession.send_request

    async def counted(self, request, *args, **options):
        asked = getattr(request, "root", request)  # mcp 2.x has none around it
        if asked.method == "tools/call" and asked.params.name != "close_stocktaking":
            names.append(asked.params.name)
        return await send_request(self, request, *args, **options)

    monkeypatch.setattr(ClientSession, "send_request", counted)
    return names


class Patience:
    """
    Rules that wait for nothing and write down how long they would have waited.
    """

    def __init__(self):
        self.waits = []
        self.made = []

    def rules(self, **rules):
        return Retry(sleep=self._sleep, random=lambda: 0.0, on_attempt=[self.made.append], **rules)

    async def _sleep(self, seconds):
        self.waits.append(seconds)


@pytest.fixture
def patience():
    return Patience()


ORDER = {"customer": 7, "sku": "SEN-100", "quantity": 1}

#: What is called; how often it is sent without and with us, the waits between; what the model reads of it with us.
#: The last call of a row counts, those before it prepare it.
CALLS = {
    "works in the end": (
        [("track_parcel", {"number": "{depot}-1042"})],
        (1, 3),
        [1.0, 1.0],
        ["{depot}-1042 is on the water"],
    ),
    "never works": (
        [("customs_duty", {"country": "US", "euros": 80})],
        (1, 3),
        [0.0, 0.0],
        ["[internal]", "tried 3 times", "Try again later"],
    ),
    "wants to wait too long": (
        [("shipping_quote", {"country": "NO", "kilos": 2})],
        (1, 1),
        [],
        ["[internal]", "Retry after 120 seconds"],
    ),
    "is refused": (
        [("shipping_quote", {"country": "AQ", "kilos": 2})],
        (1, 1),
        [],
        ["[permission_denied]", "The same call will fail again"],
    ),
    "has wrong arguments": (
        [("price_per_cup", {"sku": "SEN-99"})],
        (1, 1),
        [],
        ["unknown tea 'SEN-99'", "[invalid_arguments]", "change its arguments"],
    ),
    "crashes": (
        [("price_per_cup", {"sku": "SEN-2"})],
        (1, 1),
        [],
        ["[tool_panicked]", "The same call will fail again"],
    ),
    "is not safe to repeat": (
        [("open_stocktaking", {}), ("place_order", {"reference": "{depot}-0001", **ORDER})],
        (1, 1),
        [],
        ["[internal]", "Try again later"],
    ),
}


@pytest.fixture(params=CALLS)
def row(request):
    """
    A row of the table, once for each side of a comparison: depots are asked for the first time only once.
    """
    calls, sent, waits, reads = CALLS[request.param]

    def filled(depot):
        def fill(value):
            return value.replace("{depot}", depot) if isinstance(value, str) else value

        return [(name, {key: fill(value) for key, value in arguments.items()}) for name, arguments in calls]

    return filled, sent, waits, reads


@pytest.fixture
def compare(ask, sent, patience, row):
    """
    Make the calls of a row without an adapter and with it; return what the model was shown of the last call each time.
    """

    def made(calls, *adapters):
        sent.clear()
        *_, shown = ask(calls, *adapters)
        return shown, sent.count(calls[-1][0])

    def compare(adapter, depots, text_of):
        script, counts, waits, reads = row
        before, count_before = made(script(next(depots)))
        depot = next(depots)
        after, count_after = made(script(depot), adapter(patience.rules()))

        assert counts == (count_before, count_after)
        assert waits == patience.waits
        assert not any(f"[{code.value}]" in text_of(before) for code in McpErrorCode)
        for part in reads:
            assert part.format(depot=depot) in text_of(after)
        return before, after, "on the water" not in text_of(after)

    return compare
