"""
Who may use a gateway that listens: the names in ``Host`` and ``Origin``.

A web page can point a name of its own at this machine (DNS rebinding), and so reach what listens on
it. A browser then sends the page's name, which is why names are checked and addresses need not be.
"""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit


_LOCAL: Final = frozenset({"localhost", "127.0.0.1", "::1"})


class Access:
    """
    The names under which a gateway may be addressed.

    Args:
        host: The host that it listens on.
        names: Further names.
    """

    def __init__(self, host: str, names: Iterable[str] = ()) -> None:
        """
        Allow the names of this machine, and those that are given.
        """
        self._names = _LOCAL | {name.lower() for name in (host, *names)}

    def refusal(self, host: str, origin: str) -> str | None:
        """
        Return why a request is refused, as a sentence that names the cure; None if it is not.

        Args:
            host: The header ``Host``; "" for none.
            origin: The header ``Origin``; "" for none.
        """
        name = _host_of(f"//{host}")
        if name is None or not (name in self._names or _is_address(name)):
            return _refuse("Host", host)
        if origin and _host_of(origin) not in self._names:
            return _refuse("Origin", origin)
        return None


def _refuse(header: str, value: str) -> str:
    shown = ascii(value[:100])
    return f"The gateway refuses the {header} {shown}; --allow-host NAME allows another name."


def _host_of(url: str) -> str | None:
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True
