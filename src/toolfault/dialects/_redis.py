"""
Stores for records in Redis or Valkey, for bridges that run in several processes.

Rule 1: each record is written with ``SET NX EX`` under a random handle of 128 bits.
Rule 2: a list in the same slot holds the handles; when it is full, the oldest records go.
Rule 3: a store that failed is left alone for a moment, so that an outage does not delay each
failure that is reported.
"""

from __future__ import annotations

import hashlib
import inspect
import math
import re
import secrets
import time
from collections.abc import Callable
from typing import Any, Final, Self, TypeVar

from toolfault._bridge_record import MAX_RECORD
from toolfault._json import is_number
from toolfault._options import explain_unknown_options
from toolfault._tracebacks import log_exception


T = TypeVar("T")

#: Seconds that a client of `from_url` waits for the server.
_TIMEOUT: Final = 1.0

#: How often another handle is tried where one is taken.
_TRIES: Final = 3

_TAKEN: Final = "random handles were taken: the server does not answer as Redis does"

_HANDLE: Final = re.compile(r"[0-9a-f]{32}")


class _Settings:
    """
    The keys of a store, its bounds, and whether it is to be left alone.
    """

    def __init__(
        self,
        client: Any,
        *,
        namespace: str = "toolfault",
        lifetime: int = 3600,
        limit: int = 100_000,
        pause: float = 5.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._check_client(client)
        if not re.fullmatch(r"[^\s{}*?\[\]]{1,64}", str(namespace)):
            raise ValueError(
                "namespace must be 1 to 64 characters without spaces, braces, brackets, * and ?,"
                f" not {namespace!r}"
            )
        for name, number in (("lifetime", lifetime), ("limit", limit)):
            if type(number) is not int or number < 1:
                raise ValueError(f"{name} must be a whole number of at least 1, not {number!r}")
        if not (is_number(pause) and pause >= 0):
            raise ValueError(f"pause must be a number of seconds, 0 or more, not {pause!r}")
        self._client = client
        # In braces: a cluster keeps keys with the same text in braces in one slot.
        self._prefix = f"{{{namespace}}}:record:"
        self._index = f"{{{namespace}}}:handles"
        self._moments = f"{{{namespace}}}:not-before:"
        self._lifetime = lifetime
        self._limit = limit
        self._pause = pause
        self._clock = clock
        self._closed_until = -math.inf

    #: Whether the client's methods are coroutine functions, and the class for other clients.
    _is_async = False
    _other = "AsyncRedisStore"

    def _check_client(self, client: Any) -> None:
        execute = getattr(client, "execute_command", None)
        if execute is None or isinstance(client, type):
            raise TypeError(
                f"a store takes a client, such as redis.Redis(); {type(self).__name__}.from_url"
                f" makes one; not {type(client).__name__}"
            )
        if inspect.iscoroutinefunction(execute) is not self._is_async:
            raise TypeError(f"{self._other} takes this client, {type(self).__name__} does not")

    def _check(self, text: str) -> None:
        size = len(text.encode())
        if size > MAX_RECORD:
            raise ValueError(f"a record has at most {MAX_RECORD} bytes, and this one has {size}")

    def _raise_if_closed(self) -> None:
        if self._clock() < self._closed_until:
            raise ConnectionError(
                f"the store failed less than {self._pause:g} s ago, and is not asked yet"
            )

    def _close(self) -> None:
        self._closed_until = self._clock() + self._pause

    def _moment_of(self, server: str) -> str:
        # A digest: an address may hold a password, and be longer than a key should be.
        return self._moments + hashlib.sha256(server.encode(errors="replace")).hexdigest()[:32]

    def _writing(self, pipeline: Any, handle: str, text: str) -> Any:
        """
        Return a transaction that writes a record and takes the oldest handles from a full index.

        Its results are whether the handle is new, two numbers, the handles that were taken, and a
        flag.
        """
        pipeline.set(self._prefix + handle, text, nx=True, ex=self._lifetime)
        pipeline.lpush(self._index, handle)
        pipeline.expire(self._index, self._lifetime)
        pipeline.lrange(self._index, self._limit, -1)
        pipeline.ltrim(self._index, 0, self._limit - 1)
        return pipeline

    def _keys_of(self, handles: list[Any]) -> list[str]:
        return [self._prefix + _to_text(handle) for handle in handles]

    def __repr__(self) -> str:
        """
        Return the class with its namespace, without the client, whose text may name a password.
        """
        return f"<{type(self).__name__} {self._index.split(':')[0]}>"


def _is_handle(handle: object) -> bool:
    return isinstance(handle, str) and _HANDLE.fullmatch(handle) is not None


def _to_text(value: bytes | str) -> str:
    return value.decode() if isinstance(value, bytes) else value


@explain_unknown_options
class RedisStore(_Settings):
    """
    A `RecordStore` in Redis or Valkey; see `AsyncRedisStore` for asyncio.

    Args:
        client:
            A ``redis.Redis`` or ``valkey.Valkey``, or their cluster clients. Give it a socket
            timeout: while it waits, so does the failure that is reported.

        namespace:
            The text before all keys, for stores that share a database.

        lifetime:
            Seconds that a record is kept.

        limit:
            How many records are kept; the oldest go. Each is at most 16 KiB.

        pause:
            Seconds that the store is left alone after it failed.

        clock:
            Reads a monotonic clock, in seconds.

    Raises:
        ValueError: An option has a value that it cannot have.
        TypeError: There is no such option.
    """

    @classmethod
    def from_url(cls, url: str, **options: Any) -> Self:
        """
        Return a store for a URL such as ``redis://host:6379/0``, with a timeout of one second.

        Raises:
            ModuleNotFoundError: ``pip install toolfault[redis]`` brings the package.
            ValueError: The URL or an option is not valid.
        """
        import redis  # noqa: PLC0415 -- an extra

        client: Any = redis.Redis.from_url(  # pyright: ignore[reportUnknownMemberType] -- untyped there
            url, socket_timeout=_TIMEOUT, socket_connect_timeout=_TIMEOUT
        )
        return cls(client, **options)

    def put(self, text: str, /) -> str:
        """
        Keep the text of a record under a new random handle.

        Raises:
            ConnectionError: The store failed a moment ago.
            Exception: What the client raises.
        """
        self._check(text)
        self._raise_if_closed()
        try:
            return self._put(text)
        except Exception:
            self._close()
            raise

    def _put(self, text: str) -> str:
        for _ in range(_TRIES):
            handle = secrets.token_hex(16)
            pipeline = self._writing(self._client.pipeline(), handle, text)
            is_new, _, _, oldest, _ = pipeline.execute()
            if oldest:
                self._client.delete(*self._keys_of(oldest))
            if is_new:
                return handle
        raise RuntimeError(_TAKEN)

    def get(self, handle: str, /) -> str | None:
        """
        Return the text that has this handle; None if there is none, or no longer.

        Raises:
            ConnectionError: The store failed a moment ago.
            Exception: What the client raises.
        """
        if not _is_handle(handle):
            return None
        self._raise_if_closed()
        try:
            found = self._client.get(self._prefix + handle)
        except Exception:
            self._close()
            raise
        return None if found is None else _to_text(found)

    def not_before(self, server: str) -> RedisNotBefore:
        """
        Return the moment before which clients of a server leave it alone, for `Retry.not_before`.

        Args:
            server: The server's address or name, the same in all processes.
        """
        return RedisNotBefore(self, server)

    def read_moment(self, server: str) -> float:
        """
        Return the seconds until a server's moment; 0 if it is past.

        Raises:
            ConnectionError: The store failed a moment ago.
            Exception: What the client raises.
        """
        self._raise_if_closed()
        try:
            return _to_seconds(self._client.pttl(self._moment_of(server)))
        except Exception:
            self._close()
            raise

    def move_moment(self, server: str, seconds: float) -> None:
        """
        Move a server's moment to this many seconds from now, unless it is later already.

        Raises:
            ConnectionError: The store failed a moment ago.
            Exception: What the client raises.
        """
        if self.read_moment(server) < seconds:
            self._client.set(self._moment_of(server), "1", px=_to_milliseconds(seconds))


@explain_unknown_options
class AsyncRedisStore(_Settings):
    """
    A store in Redis or Valkey for asyncio; options as for `RedisStore`.

    The functions of the dialects are not async, so they run inside `run`, which fetches the records
    that they ask for and writes those that they leave.
    """

    _is_async = True
    _other = "RedisStore"

    @classmethod
    def from_url(cls, url: str, **options: Any) -> Self:
        """
        Return a store for a URL such as ``redis://host:6379/0``, with a timeout of one second.

        Raises:
            ModuleNotFoundError: ``pip install toolfault[redis]`` brings the package.
            ValueError: The URL or an option is not valid.
        """
        import redis.asyncio  # noqa: PLC0415 -- an extra

        client: Any = redis.asyncio.Redis.from_url(  # pyright: ignore[reportUnknownMemberType] -- untyped there
            url, socket_timeout=_TIMEOUT, socket_connect_timeout=_TIMEOUT
        )
        return cls(client, **options)

    async def run(self, function: Callable[..., T], value: object, /, **options: Any) -> T:
        """
        Return what an ``encode`` or ``decode`` of a dialect returns, with records in this store.

        A store that fails is logged, and costs the record only.

        Args:
            function: Such as `a2a.encode` or `a2c_smcp.decode`; it may run twice.
            value: Its first argument.
            options: Its other arguments, without ``store``.
        """
        session = _Session()
        result = function(value, store=session, **options)
        if session.wanted:
            session = _Session(await self._fetch(session.wanted))
            result = function(value, store=session, **options)
        await self._keep(session.kept)
        return result

    async def _fetch(self, handles: set[str]) -> dict[str, str]:
        wanted = [handle for handle in sorted(handles) if _is_handle(handle)]
        if not wanted:
            return {}
        try:
            self._raise_if_closed()
            texts = await self._client.mget([self._prefix + handle for handle in wanted])
        except Exception:  # noqa: BLE001 -- a store out of order must not hide the failure
            self._close()
            log_exception("a record could not be fetched; its failure is read without it")
            return {}
        found = zip(wanted, texts, strict=True)
        return {handle: _to_text(text) for handle, text in found if text is not None}

    async def _keep(self, records: dict[str, str]) -> None:
        try:
            for handle, text in records.items():
                self._check(text)
                self._raise_if_closed()
                await self._put(handle, text)
        except Exception:  # noqa: BLE001 -- as above
            self._close()
            log_exception("a record could not be stored; its failure travels without it")

    async def _put(self, handle: str, text: str) -> None:
        pipeline = self._writing(self._client.pipeline(), handle, text)
        is_new, _, _, oldest, _ = await pipeline.execute()
        if oldest:
            await self._client.delete(*self._keys_of(oldest))
        if not is_new:
            # The result that names the handle is made already.
            raise RuntimeError(_TAKEN)

    def not_before(self, server: str) -> AsyncRedisNotBefore:
        """
        Return the moment before which clients of a server leave it alone, for `Retry.not_before`.

        Args:
            server: The server's address or name, the same in all processes.
        """
        return AsyncRedisNotBefore(self, server)

    async def read_moment(self, server: str) -> float:
        """
        Return the seconds until a server's moment; 0 if it is past.

        Raises:
            ConnectionError: The store failed a moment ago.
            Exception: What the client raises.
        """
        self._raise_if_closed()
        try:
            return _to_seconds(await self._client.pttl(self._moment_of(server)))
        except Exception:
            self._close()
            raise

    async def move_moment(self, server: str, seconds: float) -> None:
        """
        Move a server's moment to this many seconds from now, unless it is later already.

        Raises:
            ConnectionError: The store failed a moment ago.
            Exception: What the client raises.
        """
        if await self.read_moment(server) < seconds:
            await self._client.set(self._moment_of(server), "1", px=_to_milliseconds(seconds))


def _to_seconds(milliseconds: int) -> float:
    # Below 0: there is no such key, or it has no lifetime.
    return max(0, milliseconds) / 1000


def _to_milliseconds(seconds: float) -> int:
    return max(1, math.ceil(seconds * 1000))


class RedisNotBefore:
    """
    One server's moment in a `RedisStore`; see `hooks.NotBefore`.
    """

    def __init__(self, store: RedisStore, server: str) -> None:
        self._store = store
        self._server = server

    def left(self) -> float:
        """
        Return the seconds until the moment; 0 if it is past.
        """
        return self._store.read_moment(self._server)

    def extend(self, seconds: float, /) -> None:
        """
        Move the moment to this many seconds from now, unless it is later already.
        """
        self._store.move_moment(self._server, seconds)


class AsyncRedisNotBefore:
    """
    One server's moment in an `AsyncRedisStore`; see `hooks.NotBefore`.
    """

    def __init__(self, store: AsyncRedisStore, server: str) -> None:
        self._store = store
        self._server = server

    async def left(self) -> float:
        """
        Return the seconds until the moment; 0 if it is past.
        """
        return await self._store.read_moment(self._server)

    async def extend(self, seconds: float, /) -> None:
        """
        Move the moment to this many seconds from now, unless it is later already.
        """
        await self._store.move_moment(self._server, seconds)


class _Session:
    """
    The records that one run of a dialect's function asks for, and those that it leaves.
    """

    def __init__(self, found: dict[str, str] | None = None) -> None:
        self._found = found
        self.wanted: set[str] = set()
        self.kept: dict[str, str] = {}

    def put(self, text: str, /) -> str:
        handle = secrets.token_hex(16)
        self.kept[handle] = text
        return handle

    def get(self, handle: str, /) -> str | None:
        if self._found is None:
            self.wanted.add(handle)
            return None
        return self._found.get(handle)
