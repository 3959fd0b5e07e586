"""
Retry rules for several servers, and the tools that the operator calls idempotent; for adapters.
"""

from __future__ import annotations

from collections.abc import Collection, MutableMapping
from typing import Self, cast
from weakref import WeakKeyDictionary

from toolfault._options import several
from toolfault._retry.retry import Retry


class RetryPerServer:
    """
    The retry rules of an agent framework's adapter, with a budget for each server.

    Args:
        retry: The rules. None: those of ``Retry()``. Each server gets a budget of its own, unless
            they have one.
        idempotent: Names of tools that are safe to repeat by the operator's word.

    Raises:
        ValueError: *retry* is not a `Retry`, or *idempotent* is not a list of texts.
    """

    __slots__ = ("_by_name", "_by_object", "_idempotent", "_retry")

    def __init__(self, retry: Retry | None = None, idempotent: Collection[str] = ()) -> None:
        """
        Start with a full budget for each server.
        """
        if retry is not None and not isinstance(retry, Retry):  # pyright: ignore[reportUnnecessaryIsInstance] -- a user's value
            raise ValueError(f"retry must be a Retry, such as Retry(attempts=5), not {retry!r}")
        names = several("idempotent", idempotent)
        for name in names:
            if not isinstance(name, str):
                raise ValueError(f"idempotent lists names of tools, as texts, not {name!r}")
        self._retry = retry or Retry()
        self._idempotent = frozenset(names)
        self._by_name: dict[str, Retry] = {}
        self._by_object: WeakKeyDictionary[object, Retry] = WeakKeyDictionary()

    def for_server(self, server: object) -> Retry:
        """
        Return the rules for a server, with its budget.

        Args:
            server: Its name, or an object that lives as long as the server is in use.
        """
        named = isinstance(server, str)
        known = cast("MutableMapping[object, Retry]", self._by_name if named else self._by_object)
        # Two threads may ask at once, and must get one budget.
        return known.get(server) or known.setdefault(server, self._retry.for_server())

    def idempotent(self, *names: str) -> bool | None:
        """
        Return True if the operator lists one of a tool's names; None otherwise.
        """
        return None if self._idempotent.isdisjoint(names) else True

    def __repr__(self) -> str:
        """
        Return the class with the rules and the idempotent tools.
        """
        return f"<RetryPerServer {self._retry!r}, idempotent={sorted(self._idempotent)}>"

    def __reduce__(self) -> tuple[type[Self], tuple[Retry, frozenset[str]]]:
        """
        Pickle with full budgets.
        """
        return type(self), (self._retry, self._idempotent)

    def __copy__(self) -> Self:
        """
        Return this object: copies of an adapter call the same servers.
        """
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        """
        Return this object, as `__copy__` does.
        """
        return self
