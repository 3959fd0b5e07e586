"""
The upstream MCP server of Leaf & Ledger: an old program that finds teas for a taste.

It does not use toolfault. It runs under a watchdog from the standard library: a call that takes too
long ends the process at once.
"""

from __future__ import annotations

import faulthandler
from typing import Final

from mcp.server import MCPServer


#: Seconds before the watchdog ends the process.
PATIENCE_SECONDS: Final = 0.3

#: How much each kind of tea has of each taste, out of 10.
PALATE: Final[dict[str, dict[str, int]]] = {
    "fresh": {"green": 9, "white": 6, "oolong": 4},
    "malty": {"black": 9, "dark": 3},
    "floral": {"oolong": 9, "white": 7, "green": 3, "herbal": 4},
    "earthy": {"dark": 9, "black": 3},
    "smoky": {"black": 2},
}

server = MCPServer("recommender", log_level="WARNING")


@server.tool()
def match(taste: str, kinds: list[str]) -> dict[str, int]:
    """
    Return how well each kind of tea suits a taste, in percent of the best.
    """
    faulthandler.dump_traceback_later(PATIENCE_SECONDS, exit=True)
    try:
        scores = {kind: PALATE[taste].get(kind, 0) for kind in kinds}
        best = max(scores.values())
        step = best // 3
        full = 0
        while full < best:  # the bug: for a taste where the best is below 3, the step is 0
            full += step
        return {kind: min(100, 100 * score // max(1, full)) for kind, score in scores.items()}
    finally:
        faulthandler.cancel_dump_traceback_later()


if __name__ == "__main__":
    server.run()
