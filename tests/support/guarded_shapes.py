"""
Tools of every shape, with postponed annotations.
"""

from __future__ import annotations

import functools
from typing import Annotated, Any

from pydantic import BaseModel, Field

from toolfault.integrations.mcp import guarded


try:
    from mcp.server.mcpserver import Context
    from mcp.server.mcpserver.resolve import Resolve
except ImportError:
    # mcp 1.x, which has no resolvers.
    from mcp.server.fastmcp import Context

    Resolve = None


class Answer(BaseModel):
    text: str


def region() -> str:
    return "north"


def plain_sync(city: Annotated[str, Field(description="Where")], ctx: Context, days: int = 3) -> Answer:
    """
    A sync tool.
    """
    if city == "Ys":
        raise ValueError(f"No such city: {city}")
    return Answer(text=f"{city} {days} {type(ctx).__name__}")


async def plain_async(city: Annotated[str, Field(description="Where")], ctx: Context, days: int = 3) -> Answer:
    """
    An async tool.
    """
    return plain_sync(city, ctx, days)


async def with_resolve(city: str, where: Annotated[str, Resolve(region)], ctx: Context) -> Answer:
    """
    A tool with a resolved parameter.
    """
    return plain_sync(f"{city}" if city == "Ys" else f"{city}/{where}", ctx)


class Tools:
    """
    Methods of every kind.
    """

    def method(self, city: str, ctx: Context, days: int = 3) -> Answer:
        """
        A method.
        """
        return plain_sync(city, ctx, days)

    async def async_method(self, city: str, ctx: Context, days: int = 3) -> Answer:
        """
        An async method.
        """
        return plain_sync(city, ctx, days)

    @guarded
    def decorated(self, city: str, ctx: Context, days: int = 3) -> Answer:
        """
        A method that was decorated in its class.
        """
        return plain_sync(city, ctx, days)

    @guarded
    @classmethod
    def of_class(cls, city: str, ctx: Context, days: int = 3) -> Answer:
        """
        A classmethod below the decorator.
        """
        return plain_sync(city, ctx, days)

    @classmethod
    @guarded
    async def of_class_above(cls, city: str, ctx: Context, days: int = 3) -> Answer:
        """
        A classmethod above the decorator.
        """
        return plain_sync(city, ctx, days)

    @guarded
    @staticmethod
    def static(city: str, ctx: Context, days: int = 3) -> Answer:
        """
        A staticmethod.
        """
        return plain_sync(city, ctx, days)


class Callable:
    """
    A callable object.
    """

    async def __call__(self, city: str, ctx: Context, days: int = 3) -> Answer:
        """
        What the object does.
        """
        return plain_sync(city, ctx, days)


def wrapped(function: Any) -> Any:
    @functools.wraps(function)
    def inner(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return inner


def with_secret(city: str, ctx: Context, api_key: str) -> Answer:
    """
    A tool whose key a partial fills in.
    """
    return plain_sync(city, ctx)


#: shape -> (what is registered with the decorator, what is registered without it, or None where the SDK takes none)
SHAPES: dict[str, tuple[Any, Any]] = {
    "sync": (guarded(plain_sync), plain_sync),
    "async": (guarded(plain_async), plain_async),
    "resolve": (guarded(with_resolve), with_resolve),
    "method": (guarded(Tools().method), Tools().method),
    "async_method": (guarded(Tools().async_method), Tools().async_method),
    "decorated": (Tools().decorated, None),
    "of_class": (Tools.of_class, None),
    "of_class_above": (Tools.of_class_above, None),
    "static": (Tools.static, None),
    "callable_object": (guarded(Callable()), None),
    "partial": (guarded(functools.partial(plain_async, days=5)), None),
    "partial_of_method": (guarded(functools.partial(Tools().method, days=5)), None),
    "wrapped": (guarded(wrapped(plain_sync)), wrapped(plain_sync)),
    "twice": (guarded(guarded(plain_async)), plain_async),
    "timeout_sync": (guarded(timeout=30)(plain_sync), plain_sync),
    "timeout_async": (guarded(timeout=30)(plain_async), plain_async),
    "secret": (guarded(functools.partial(with_secret, api_key="s3cr3t-value")), None),
}

if Resolve is None:
    del SHAPES["resolve"]
