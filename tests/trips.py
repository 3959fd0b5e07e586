"""
Counts the calls, files and moves between files that one answer takes: ``python tests/trips.py``.

Each trip is made twice on a real `MCPServer`, through a real in-memory client, and the second is counted: the
functions of toolfault that are called, the files and the packages that they are in, and how often a call is in another
file or package than the call before. A module at the top is a package of its own. Run it on two checkouts to compare
them. ``--calls TRIP`` lists the calls of one trip.
"""

# ruff: noqa: T201 -- a program that prints

import argparse
import logging
import sys
from pathlib import Path

import anyio
import httpx
import mcp
from mcp.server.mcpserver import MCPServer

import toolfault
from toolfault.integrations.mcp import install


SOURCE = str(Path(toolfault.__file__).parent)


class Recorder:
    """
    Records the calls of toolfault's functions in this thread while it is entered.
    """

    def __init__(self):
        self.calls = []

    def __enter__(self):
        sys.setprofile(self._record)
        return self

    def __exit__(self, *_):
        sys.setprofile(None)

    def _record(self, frame, event, _argument):
        if event == "call" and frame.f_code.co_filename.startswith(SOURCE):
            file = frame.f_code.co_filename[len(SOURCE) + 1 :]
            self.calls.append((file, frame.f_code.co_qualname))

    def count(self):
        """
        The numbers of calls, files, moves between files, packages, and moves between packages.
        """
        files = [file for file, _ in self.calls]
        packages = [package_of(file) for file in files]
        return len(files), len(set(files)), moves(files), len(set(packages)), moves(packages)


def package_of(file):
    """
    The package that a file is in: the folder, or the file itself if it is at the top.
    """
    return file.rpartition("/")[0] or file


def moves(places):
    """
    The number of places that differ from the one before.
    """
    return sum(one != other for one, other in zip(places, places[1:], strict=False))


def server():
    """
    A guarded server with one tool for each trip.
    """
    app = MCPServer("trips")
    install(app)

    @app.tool()
    def succeed() -> str:
        return "4"

    @app.tool()
    def raise_fault() -> str:
        raise toolfault.ToolFault("quota_exceeded", "The daily quota is used up.")

    @app.tool()
    def raise_value_error() -> str:
        raise ValueError("The city must not be empty.")

    @app.tool()
    def crash() -> str:
        return {}["missing"]

    @app.tool()
    def answer_429() -> str:
        request = httpx.Request("GET", "https://api.example.com/v1")
        httpx.Response(429, request=request, headers={"retry-after": "58"}).raise_for_status()
        return ""

    return app


TOOLS = {
    "a success": "succeed",
    "a ToolFault": "raise_fault",
    "a ValueError on purpose": "raise_value_error",
    "a KeyError, a crash that repeats": "crash",
    "an HTTP 429 of httpx": "answer_429",
}


async def measure():
    """
    The recorders of all trips, by their names.
    """
    trips = {}
    answers = {}
    async with mcp.Client(server()) as client:
        for name, tool in TOOLS.items():
            await client.call_tool(tool, {})
            with Recorder() as trips[name]:
                answers[tool] = await client.call_tool(tool, {})
    for name, tool in {"parse of an envelope": "raise_fault", "parse of a success": "succeed"}.items():
        toolfault.parse(answers[tool])
        with Recorder() as trips[name]:
            toolfault.parse(answers[tool])
    return trips


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1])
    parser.add_argument("--calls", metavar="TRIP", help="list the calls of the trip whose name begins so")
    options = parser.parse_args()
    logging.getLogger().addHandler(logging.NullHandler())
    trips = anyio.run(measure)
    if options.calls:
        for name, trip in trips.items():
            if name.startswith(options.calls):
                print(name, *(f"{file}:{function}" for file, function in trip.calls), sep="\n  ")
        return
    print(f"{'trip':36}{'calls':>6}{'files':>6}{'moves':>6}{'packages':>10}{'moves':>6}")
    for name, trip in trips.items():
        calls, files, file_moves, packages, package_moves = trip.count()
        print(f"{name:36}{calls:6}{files:6}{file_moves:6}{packages:10}{package_moves:6}")


if __name__ == "__main__":
    main()
