"""
The gateway as an HTTP server on an address of this machine.
"""

from __future__ import annotations

import asyncio
import importlib
import logging
import signal
import socket
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Final

import uvicorn

from toolfault.gateway._access import Access
from toolfault.gateway._host import Journal
from toolfault.gateway._options import Options
from toolfault.gateway._proxy import Proxy
from toolfault.gateway._session import Observer
from toolfault.gateway._upstream import Upstream


#: Seconds for the last answers after a signal.
_GRACE: Final = 3

#: Seconds that an idle connection stays open: longer than clients keep theirs, so that none is
#: closed while its client sends.
_KEEP_ALIVE: Final = 75

_BACKLOG: Final = 1024

_SIGNALS: Final = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)


class _Server(uvicorn.Server):
    """
    Uvicorn without its signal handlers: the gateway has its own.
    """

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        yield


class Listener:
    """
    A gateway that listens, in front of the server at a URL.

    Args:
        options: The options.
        address: The host and the port to listen on; port 0 takes a free one.
        url: The server's URL.
        headers: The operator's own headers for the server.
        observe: Called with each call of a tool that has ended.

    Raises:
        OSError: The log can't be opened, or the address is not free.
    """

    def __init__(
        self,
        options: Options,
        address: tuple[str, int],
        url: str,
        headers: Mapping[str, str],
        observe: Observer | None = None,
    ) -> None:
        """
        Take the address; `run` answers.
        """
        self._journal = Journal(options.log)
        self._upstream = Upstream(url, headers)
        secrets = tuple(value for value in headers.values() if len(value) > 3)
        access = Access(address[0], options.allowed_hosts)
        self._proxy = Proxy(
            options, self._upstream, access, self._journal, secrets=secrets, observe=observe
        )
        self._socket = _bind(*address)
        self._code = 0
        # In time for the first failure.
        importlib.import_module("toolfault.gateway._exchange")

    def run(self) -> int:
        """
        Answer requests until a signal ends it; return the exit code.
        """
        return asyncio.run(self._main())

    async def _main(self) -> int:
        config = uvicorn.Config(
            self._proxy,
            lifespan="off",
            ws="none",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            date_header=False,
            timeout_keep_alive=_KEEP_ALIVE,
            timeout_graceful_shutdown=_GRACE,
        )
        # What uvicorn would say of streams that break off is said by the gateway.
        logging.getLogger("uvicorn").setLevel(logging.CRITICAL)
        server = _Server(config)
        loop = asyncio.get_running_loop()
        for number in _SIGNALS:
            loop.add_signal_handler(number, self._stop, server, 128 + number)
        async with self._upstream.client:
            self._journal.tell(f"listening on {self._url()}")
            await server.serve([self._socket])
        return self._code

    def _stop(self, server: uvicorn.Server, code: int) -> None:
        # A second signal does not wait.
        server.force_exit = server.should_exit
        server.should_exit = True
        self._code = self._code or code
        self._proxy.stop()

    def _url(self) -> str:
        host, port = self._socket.getsockname()[:2]
        shown = f"[{host}]" if ":" in host else host
        return f"http://{shown}:{port}{self._upstream.path}"


def _bind(host: str, port: int) -> socket.socket:
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
    family, kind, protocol, _, address = found[0]
    # Only for a socket that names its protocol does asyncio send small parts at once.
    listening = socket.socket(family, kind, protocol)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(_BACKLOG)
    except OSError:
        listening.close()
        raise
    return listening
