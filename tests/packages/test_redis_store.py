"""
The stores in a real Redis: two processes hand errors to each other, and records end.
"""

import json
import subprocess
import sys
import threading
import uuid
from pathlib import Path

import anyio
import pytest
import redis
import redis.asyncio
import valkey
import valkey.asyncio

from toolfault import Retry, ToolFault
from toolfault.dialects import AsyncRedisStore, RedisStore, a2a, a2c_smcp
from toolfault.hosting import to_result


sys.path.append(str(Path(__file__).parent))
import db_servers  # noqa: E402 -- it lies beside this file


ACK = {
    "code": 4017,
    "message": "Not accessible",
    "details": {"reason": "forbidden", "rel_path": "xyzzy", "pad": "p" * 900},
}


@pytest.fixture(scope="module")
def url():
    with db_servers.running() as known:
        address = known.get("TOOLFAULT_TEST_REDIS")
        if address is None:
            pytest.skip(db_servers.MISSING)
        yield address


@pytest.fixture
def namespace():
    return f"test-{uuid.uuid4().hex}"


@pytest.fixture
def client(url):
    with redis.Redis.from_url(url) as made:
        yield made


def texts_in(client, namespace):
    return client.keys(f"{{{namespace}}}:record:*")


@pytest.mark.parametrize("kind", [redis.Redis, valkey.Valkey])
@pytest.mark.parametrize("decodes", [False, True], ids=["bytes", "decode_responses"])
def test_a_record_comes_back(url, namespace, decodes, kind):
    with kind.from_url(url, decode_responses=decodes) as made:
        store = RedisStore(made, namespace=namespace)

        handle = store.put('{"a":"ü\U0001f600"}')

        assert store.get(handle) == '{"a":"ü\U0001f600"}'
        assert store.get("0" * 32) is None
        assert RedisStore(made, namespace="another").get(handle) is None


def test_a_record_and_the_index_have_a_lifetime(client, namespace):
    RedisStore(client, namespace=namespace, lifetime=77).put("{}")

    (key,) = texts_in(client, namespace)
    assert 70 < client.ttl(key) <= 77
    assert 70 < client.ttl(f"{{{namespace}}}:handles") <= 77


def test_a_record_ends(client, namespace):
    store = RedisStore(client, namespace=namespace)
    handle = store.put("{}")

    # As if its lifetime were over.
    client.pexpire(f"{{{namespace}}}:record:{handle}", 0)

    assert store.get(handle) is None


def test_the_oldest_records_go(client, namespace):
    store = RedisStore(client, namespace=namespace, limit=3)

    handles = [store.put(str(number)) for number in range(5)]

    assert [store.get(handle) for handle in handles] == [None, None, "2", "3", "4"]
    assert len(texts_in(client, namespace)) == 3
    assert client.llen(f"{{{namespace}}}:handles") == 3


def test_many_threads_keep_the_bound(client, namespace):
    store = RedisStore(client, namespace=namespace, limit=10)
    threads = [threading.Thread(target=lambda: [store.put("{}") for _ in range(20)]) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(texts_in(client, namespace)) == 10


@pytest.mark.parametrize("kind", [redis.asyncio.Redis, valkey.asyncio.Valkey])
def test_on_asyncio_with_the_same_records(url, client, namespace, kind):
    async def run():
        async with kind.from_url(url) as made:
            store = AsyncRedisStore(made, namespace=namespace, limit=2)
            fault = await store.run(a2c_smcp.decode, ACK)
            error = await store.run(a2a.encode, fault)
            back = await store.run(a2a.decode, error)
            return error, await store.run(a2c_smcp.encode, back)

    error, body = anyio.run(run)

    assert "xyzzy" not in json.dumps(error)
    assert body == ACK
    assert len(texts_in(client, namespace)) <= 2


def test_a_moment_is_shared_and_only_moves_away(client, namespace):
    one, other = (RedisStore(client, namespace=namespace) for _ in range(2))
    here, there = one.not_before("https://a.example/mcp"), other.not_before("https://a.example/mcp")

    assert there.left() == 0
    here.extend(30)
    here.extend(5)

    assert 29 < there.left() <= 30
    assert other.not_before("https://b.example/mcp").left() == 0
    (key,) = client.keys(f"{{{namespace}}}:not-before:*")
    assert b"example" not in key


def test_two_clients_leave_a_server_alone_that_asked_one_to_wait(url, namespace):
    sent = []

    async def busy(_number):
        sent.append("busy")
        return to_result(ToolFault("quota_exceeded", "That is too much.", retry_after_seconds=30))

    async def well(_number):
        sent.append("well")

    async def run():
        async with redis.asyncio.Redis.from_url(url) as made:
            moment = AsyncRedisStore(made, namespace=namespace).not_before("weather")
            await Retry(not_before=moment).run(busy)
            return await Retry(not_before=moment).run(well)

    retried = anyio.run(run)

    assert sent == ["busy"]
    assert retried.stopped == "not_before"
    assert 1 <= retried.fault.retry_after_seconds <= 30


OTHER = """
import json, sys
from toolfault.dialects import RedisStore, a2a, a2c_smcp

url, namespace, text = sys.argv[1:]
with_store = RedisStore.from_url(url, namespace=namespace)
fault = a2a.decode(json.loads(text), store=with_store)
print(json.dumps(a2c_smcp.encode(fault, store=with_store)))
"""


def test_two_processes_hand_an_error_to_each_other(url, namespace):
    store = RedisStore.from_url(url, namespace=namespace)
    error = a2a.encode(a2c_smcp.decode(ACK, store=store), store=store)
    assert "xyzzy" not in json.dumps(error)

    command = [sys.executable, "-c", OTHER, url, namespace, json.dumps(error)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)

    assert json.loads(done.stdout) == ACK
    assert a2c_smcp.encode(a2a.decode(error))["code"] == ACK["code"]
    assert a2c_smcp.encode(a2a.decode(error)) != ACK


def test_a_server_that_is_gone_costs_the_record_only(namespace, caplog):
    with db_servers.refused() as port:
        store = RedisStore.from_url(f"redis://127.0.0.1:{port}/0", namespace=namespace)

        error = a2a.encode(a2c_smcp.decode(ACK, store=store), store=store)

    assert a2a.decode(error).code == "permission_denied"
    assert {record.levelname for record in caplog.records} == {"ERROR"}
