"""
What the stores in Redis refuse, and what they do while the server is away; tests/packages has a real one.
"""

import anyio
import pytest

from toolfault import ToolFault
from toolfault.dialects import AsyncRedisStore, RedisStore, a2a, a2c_smcp


class Client:
    """
    A client whose every command fails, or waits for its turn to answer.
    """

    def __init__(self):
        self.calls = 0

    def execute_command(self):
        raise AssertionError("the stores call methods of commands")

    def pipeline(self):
        self.calls += 1
        raise ConnectionError("connection refused")

    def get(self, key):
        self.calls += 1
        raise TimeoutError("no answer")


class AsyncClient(Client):
    async def execute_command(self):
        raise AssertionError("the stores call methods of commands")

    async def mget(self, keys):
        self.calls += 1
        raise TimeoutError("no answer")


QUOTA = ToolFault("quota_exceeded", "Used up", retry_after_seconds=9, hint="Ask tomorrow.")
HANDLE = "0123456789abcdef" * 2


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"namespace": ""}, "namespace must be 1 to 64 characters"),
        ({"namespace": "a b"}, "namespace must be"),
        ({"namespace": "{a}"}, "namespace must be"),
        ({"namespace": "x" * 65}, "namespace must be"),
        ({"lifetime": 0}, "lifetime must be a whole number"),
        ({"lifetime": 1.5}, "lifetime must be a whole number"),
        ({"limit": True}, "limit must be a whole number"),
        ({"limit": -1}, "limit must be a whole number"),
        ({"pause": -1}, "pause must be a number of seconds"),
        ({"pause": float("nan")}, "pause must be a number of seconds"),
        ({"pause": "5"}, "pause must be a number of seconds"),
    ],
)
@pytest.mark.parametrize(("store", "client"), [(RedisStore, Client), (AsyncRedisStore, AsyncClient)])
def test_wrong_options_are_refused(store, client, options, words):
    with pytest.raises(ValueError, match=words):
        store(client(), **options)


@pytest.mark.parametrize(
    ("store", "client", "words"),
    [
        (RedisStore, AsyncClient(), "AsyncRedisStore takes this client"),
        (AsyncRedisStore, Client(), "RedisStore takes this client"),
        (RedisStore, Client, "takes a client"),
        (RedisStore, "redis://h", "from_url makes one; not str"),
        (AsyncRedisStore, None, "takes a client"),
    ],
)
def test_what_is_not_a_client_of_the_kind_is_refused(store, client, words):
    with pytest.raises(TypeError, match=words):
        store(client)


@pytest.mark.parametrize(("store", "client"), [(RedisStore, Client), (AsyncRedisStore, AsyncClient)])
def test_an_unknown_option_names_the_nearest(store, client):
    with pytest.raises(TypeError, match=f"{store.__name__}.*lifetime"):
        store(client(), lifetme=3)


def test_a_failed_store_is_left_alone_for_a_moment():
    now = [0.0]
    client = Client()
    store = RedisStore(client, pause=5, clock=lambda: now[0])

    with pytest.raises(ConnectionError, match="refused"):
        store.put("{}")
    now[0] = 4.9
    for use in (lambda: store.put("{}"), lambda: store.get(HANDLE)):
        with pytest.raises(ConnectionError, match="less than 5 s ago"):
            use()
    assert client.calls == 1
    now[0] = 5.0
    with pytest.raises(TimeoutError):
        store.get(HANDLE)
    assert client.calls == 2


@pytest.mark.parametrize("handle", ["", "x", HANDLE.upper(), HANDLE + "0", "*", "a:b", "é" * 32, None, 3])
def test_what_is_not_a_handle_of_the_store_is_not_asked_for(handle):
    client = Client()

    assert RedisStore(client).get(handle) is None
    assert client.calls == 0


def test_a_record_that_is_too_large_is_refused_before_it_is_sent():
    client = Client()

    with pytest.raises(ValueError, match="at most 16384 bytes"):
        RedisStore(client).put("é" * 8193)
    assert client.calls == 0


def test_a_failure_leaves_without_its_original_while_the_store_is_down(caplog):
    sync = RedisStore(Client())

    error = a2a.encode(QUOTA, store=sync)

    assert a2a.decode(error, store=sync).code == "quota_exceeded"
    assert {record.levelname for record in caplog.records} == {"ERROR"}


def test_the_same_on_asyncio(caplog):
    client = AsyncClient()
    store = AsyncRedisStore(client)

    async def run():
        error = await store.run(a2a.encode, QUOTA)
        return await store.run(a2c_smcp.decode, await store.run(a2c_smcp.encode, QUOTA)), error

    fault, error = anyio.run(run)

    assert fault.code == "quota_exceeded"
    assert a2a.decode(error).code == "quota_exceeded"
    # The first command failed; after that nothing was asked.
    assert client.calls == 1
    assert {record.levelname for record in caplog.records} == {"ERROR"}


@pytest.mark.parametrize(("store", "client"), [(RedisStore, Client), (AsyncRedisStore, AsyncClient)])
def test_the_text_of_a_store_has_no_password(store, client):
    assert repr(store(client(), namespace="bridge")) == f"<{store.__name__} {{bridge}}>"
