"""
The rules of retries for several servers, and the operator's word for their tools; what adapters
share.
"""

from __future__ import annotations

from collections.abc import Collection, MutableMapping
from typing import Self, cast
from weakref import WeakKeyDictionary

from toolfault._options import several
from toolfault._retry.retry import Retry


class Servers:
    """
    What an adapter for an agent framework knows of the servers behind it.

    Args:
        retry: The rules. None: those of ``Retry()``. Each server gets a budget of its own, unless
            they have one.
        idempotent: Names of tools that may be repeated by the operator's word.

    Raises:
        ValueError: *retry* is no `Retry`, or *idempotent* no list of texts.
    """

    __slots__ = ("_by_name", "_by_object", "_idempotent", "_retry")

    def __init__(self, retry: Retry | None = None, idempotent: Collection[str] = ()) -> None:
        """
        Begin with a full budget for each server.
        """
        if retry is not None and not isinstance(retry, Retry):  # pyright: ignore[reportUnnecessaryIsInstance] -- a user's value
            raise ValueError(f"retry must be a Retry, such as Retry(attempts=5), not {retry!r}")
        names = several("idempotent", idempotent)
        if strange := [name for name in names if not isinstance(name, str)]:
            raise ValueError(f"idempotent lists names of tools, as texts, not {strange[0]!r}")
        self._retry = retry or Retry()
        self._idempotent = frozenset(names)
        self._by_name: dict[str, Retry] = {}
        self._by_object: WeakKeyDictionary[object, Retry] = WeakKeyDictionary()

    def rules(self, server: object) -> Retry:
        """
        Return the rules for a server, with its budget.

        Args:
            server: Its name, or what stands for it as long as it is there.
        """
        named = isinstance(server, str)
        known = cast("MutableMapping[object, Retry]", self._by_name if named else self._by_object)
        # Two threads may ask at once, and must get one budget.
        return known.get(server) or known.setdefault(server, self._retry.for_server())

    def word(self, *names: str) -> bool | None:
        """
        Return True if one of a tool's names is among those that may be repeated. None: nobody said
        so.
        """
        return None if self._idempotent.isdisjoint(names) else True

    def __reduce__(self) -> tuple[type[Self], tuple[Retry, frozenset[str]]]:
        """
        Begin with full budgets in another process.
        """
        return type(self), (self._retry, self._idempotent)

    def __copy__(self) -> Self:
        """
        Stay the same: copies of an adapter call the same servers.
        """
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        """
        Stay the same, as for a copy.
        """
        return self
