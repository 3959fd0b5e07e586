"""
The services around Leaf & Ledger, on loopback ports: an HTTP API, a customs desk, a proxy.

Nothing here knows of MCP or of toolfault. The office limits, refuses, is slow and is closed as such
services are.
"""

from __future__ import annotations

import http.client
import json
import math
import socket
import threading
import time
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from socketserver import ThreadingTCPServer
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qs, urlsplit


if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self


LOOPBACK: Final = "127.0.0.1"

#: What one euro buys.
RATES: Final = {
    "USD": 1.0840,
    "GBP": 0.8465,
    "JPY": 171.32,
    "INR": 97.41,
    "CNY": 7.7812,
    "LKR": 325.60,
}

#: How many requests for rates of past days the free plan allows, and in how many seconds.
ARCHIVE_CALLS, ARCHIVE_SECONDS = 1, 60

#: Ports of call on the way to each country; None where the carrier is closed for winter.
ROUTES: Final[dict[str, int | None]] = {
    "NL": 0,
    "DE": 1,
    "FR": 1,
    "GB": 1,
    "JP": 2,
    "NO": None,
    "PN": 4,
    "US": 1,
}

#: Seconds that the carrier's own system takes to answer for each port of call after the first.
SECONDS_PER_PORT: Final = 0.5

#: Where the contract with the carrier does not allow sending anything.
NOT_IN_CONTRACT: Final = frozenset({"AQ", "KP"})

#: The parts of a depot's index that are read one by one, after the depot was asked for the first
#: time.
INDEX_PARTS: Final = 2


class Office:
    """
    What the office remembers between requests.
    """

    def __init__(self, key: str) -> None:
        """
        Open for the holder of this key.
        """
        self.key = key
        self.closing = threading.Event()
        self._hand = threading.Lock()
        self._archive_calls: list[float] = []
        self._index_parts: dict[str, int] = {}

    def answer(
        self, path: str, asked: dict[str, str]
    ) -> tuple[HTTPStatus, dict[str, str], dict[str, Any]]:
        """
        Return status, headers and body for a request.
        """
        match path.strip("/").split("/"):
            case ["auctions", "colombo"]:  # public
                return (
                    HTTPStatus.OK,
                    {},
                    {"house": "colombo", "usd_per_kilo": {"BOP": 4.12, "OP1": 6.85, "FBOP": 5.37}},
                )
            case _ if asked.get("key") != self.key:
                return HTTPStatus.UNAUTHORIZED, {}, {"error": "no such key"}
            case ["rates", _] if asked.get("currency") not in RATES:
                return HTTPStatus.BAD_REQUEST, {}, {"error": "no such currency"}
            case ["rates", "latest"]:
                return HTTPStatus.OK, {}, {"rate": RATES[asked["currency"]]}
            case ["rates", day]:
                return self._archive(day, asked["currency"])
            case ["quotes", country]:
                return self._quote(country, float(asked["kilos"]))
            case ["parcels", number]:
                return self._parcel(number)
            case _:
                return HTTPStatus.NOT_FOUND, {}, {"error": "no such page"}

    def _archive(
        self, day: str, currency: str
    ) -> tuple[HTTPStatus, dict[str, str], dict[str, Any]]:
        now = time.monotonic()
        with self._hand:
            self._archive_calls = [
                then for then in self._archive_calls if now - then < ARCHIVE_SECONDS
            ]
            if len(self._archive_calls) >= ARCHIVE_CALLS:
                wait = math.ceil(self._archive_calls[0] + ARCHIVE_SECONDS - now)
                return (
                    HTTPStatus.TOO_MANY_REQUESTS,
                    {"Retry-After": str(wait)},
                    {"error": "free plan used up"},
                )
            self._archive_calls.append(now)
        drift = sum(day.encode()) % 41 / 1000  # rates of past days differ a little from today's
        return HTTPStatus.OK, {}, {"rate": round(RATES[currency] * (1 - drift), 4)}

    def _quote(
        self, country: str, kilos: float
    ) -> tuple[HTTPStatus, dict[str, str], dict[str, Any]]:
        if country in NOT_IN_CONTRACT:
            return HTTPStatus.FORBIDDEN, {}, {"error": f"contract 7731 does not cover {country}"}
        if country not in ROUTES:
            return HTTPStatus.NOT_FOUND, {}, {"error": "no route"}
        ports = ROUTES[country]
        if ports is None:
            return (
                HTTPStatus.SERVICE_UNAVAILABLE,
                {"Retry-After": "120"},
                {"error": "closed for winter"},
            )
        for _ in range(ports - 1):
            self.closing.wait(SECONDS_PER_PORT)
        return (
            HTTPStatus.OK,
            {},
            {"cents": round(450 + 180 * kilos + 310 * ports), "days": 2 + 3 * ports},
        )

    def _parcel(self, number: str) -> tuple[HTTPStatus, dict[str, str], dict[str, Any]]:
        depot = number.partition("-")[0]
        with self._hand:
            parts = self._index_parts.get(depot, 0)
            if parts < INDEX_PARTS:  # each request reads one more part, and is told to come back
                self._index_parts[depot] = parts + 1
                return (
                    HTTPStatus.SERVICE_UNAVAILABLE,
                    {"Retry-After": "1"},
                    {"error": "index is being read"},
                )
        return HTTPStatus.OK, {}, {"number": number, "depot": depot, "state": "on the water"}


class _Server(ThreadingTCPServer):
    """
    An HTTP server in a thread of its own, on a free port, that joins its threads when it stops.

    No `ThreadingHTTPServer`: that one asks the DNS for its own name, which can take seconds.
    """

    def __init__(self, handler: type[BaseHTTPRequestHandler]) -> None:
        super().__init__((LOOPBACK, 0), handler)
        self._thread = threading.Thread(
            target=self.serve_forever, args=[0.05], name=handler.__name__
        )
        self._thread.start()

    @property
    def host(self) -> str:
        return f"{LOOPBACK}:{self.socket.getsockname()[1]}"

    def stop(self) -> None:
        self.shutdown()
        self._thread.join()
        self.server_close()


class _Handler(BaseHTTPRequestHandler):
    """
    What both servers share: JSON answers, and silence on stderr.
    """

    timeout = 5  # seconds for a request to come in

    def send_json(self, status: int, headers: dict[str, str], body: dict[str, Any]) -> None:
        raw = json.dumps(body).encode()
        with suppress(ConnectionError):  # the client may have stopped waiting
            self.send_response(status)
            for name, value in {
                **headers,
                "Content-Type": "application/json",
                "Content-Length": str(len(raw)),
            }.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(raw)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 -- the base class's own name
        del format, args


def _office_handler(office: Office) -> type[BaseHTTPRequestHandler]:
    class OfficeHandler(_Handler):
        def do_GET(self) -> None:
            url = urlsplit(self.path)
            asked = {name: values[-1] for name, values in parse_qs(url.query).items()}
            self.send_json(*office.answer(url.path, asked))

    return OfficeHandler


def _proxy_handler(known_host: str) -> type[BaseHTTPRequestHandler]:
    class ProxyHandler(_Handler):
        """
        Policy: plain HTTP to one known host. A tunnel can't be read, so it is refused.
        """

        def do_CONNECT(self) -> None:
            self._refuse("no tunnels")

        def do_GET(self) -> None:
            url = urlsplit(self.path)
            if url.netloc != known_host:
                self._refuse("host is not on the list")
                return
            onward = http.client.HTTPConnection(url.netloc, timeout=2)
            try:
                onward.request("GET", f"{url.path}?{url.query}")
                answer = onward.getresponse()
                self.send_json(answer.status, {}, json.load(answer))
            finally:
                onward.close()

        def _refuse(self, why: str) -> None:
            denied = {"Proxy-Status": f'ledger-proxy; error=http_request_denied; details="{why}"'}
            self.send_json(HTTPStatus.FORBIDDEN, denied, {"error": why})

    return ProxyHandler


class World:
    """
    All of it; a context manager that starts and stops it.

    Attributes:
        office_url:
            Exchange rates, shipping quotes, parcels and one auction house.

        customs_url:
            The customs desk. Its port is taken, but the desk has been closed for years: connections
            are refused.

        proxy_url:
            The only way out of the building.
    """

    def __init__(self, key: str) -> None:
        """
        Choose the key that the office will accept.
        """
        self._office = Office(key)

    def __enter__(self) -> Self:
        """
        Start everything.
        """
        office = _Server(_office_handler(self._office))
        proxy = _Server(_proxy_handler(office.host))
        self._servers = [office, proxy]
        self._desk = (
            socket.socket()
        )  # bound, so that nobody else takes the port; nobody ever listens there
        self._desk.bind((LOOPBACK, 0))
        self.office_url = f"http://{office.host}"
        self.proxy_url = f"http://{proxy.host}"
        self.customs_url = f"http://{LOOPBACK}:{self._desk.getsockname()[1]}"
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """
        Stop everything; who still waits for a slow answer gets it at once.
        """
        self._office.closing.set()
        for server in self._servers:
            server.stop()
        self._desk.close()
