"""
Workers of one server are restarted under load, behind Envoy. ``make test-envoy``
"""

import collections
import contextlib
import os
import signal
import sys
import time
from pathlib import Path

import anyio
import pytest
from mcp import Client, MCPError

from envoy_process import envoy, free_ports, running
from toolfault import Retry, parse
from toolfault.integrations.mcp import retrying


EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
CONFIG = EXAMPLES / "envoy-workers.yaml"

#: Seconds; Envoy asks for the workers' health five times as often.
DRAIN = 1.0


class Workers:
    """
    Two workers, of which each can be stopped and started again on its port.
    """

    def __init__(self, orders, **env):
        self.ports = free_ports(2)
        self.generations = 0
        self._env = {**os.environ, "ORDERS": str(orders), "DRAIN": str(DRAIN), **env}
        self._running = {}

    def start(self, port):
        stack = contextlib.ExitStack()
        command = [sys.executable, EXAMPLES / "worker.py"]
        process = stack.enter_context(running(command, port, env={**self._env, "PORT": str(port)}))
        self._running[port] = stack, process
        self.generations += 1

    def stop(self, port, how):
        stack, process = self._running.pop(port)
        process.send_signal(how)
        process.wait(60)
        stack.close()

    def restart_each(self, how):
        for port in self.ports:
            # Envoy sees the other worker before this one leaves.
            time.sleep(DRAIN)
            self.stop(port, how)
            self.start(port)
        time.sleep(DRAIN)

    def close(self):
        for stack, _ in self._running.values():
            stack.close()


@contextlib.contextmanager
def deployed(tmp_path, **env):
    """
    Yield Envoy's URL, the workers and the file of orders.
    """
    orders = tmp_path / "orders.log"
    workers = Workers(orders, **env)
    with contextlib.closing(workers):
        for port in workers.ports:
            workers.start(port)
        with envoy(tmp_path, workers.ports, config=CONFIG, changes={"interval: 1s": "interval: 0.2s"}) as (front, _):
            yield f"http://127.0.0.1:{front}/mcp", workers, orders


def how_often(orders):
    """
    How often each number was ordered.
    """
    return collections.Counter(int(line.split()[0]) for line in orders.read_text().splitlines())


async def call(session, tool, **arguments):
    """
    Call a tool, and return how it failed. A dead session is a JSON-RPC error.
    """
    try:
        return parse(await session.call_tool(tool, arguments))
    except MCPError as exc:
        return parse(exc)


async def ordering(url, mode, numbers, faults, is_over, done):
    """
    Look at the stock and order in turns; a call that was not carried out is made again in a new session.
    """
    rules = Retry(attempts=4, wait_initial=0.1)
    waiting = []
    while waiting or not is_over():
        async with Client(url, mode=mode) as client:
            session = retrying(client, retry=rules)
            while waiting or not is_over():
                number = waiting.pop() if waiting else next(numbers)
                fault = await call(session, "stock", article=number) or await call(session, "order", number=number)
                if fault is None:
                    done.append(number)
                    continue
                faults.append(fault)
                if fault.outcome == "not_executed":
                    waiting.append(number)
                    break


@pytest.mark.parametrize(
    ("sessions", "mode"), [("no", "auto"), ("no", "legacy"), ("yes", "legacy")], ids=["2026", "2025", "with sessions"]
)
def test_a_rolling_restart_loses_no_call_and_repeats_none(tmp_path, sessions, mode):
    faults, done = [], []
    with deployed(tmp_path, SESSIONS=sessions) as (url, workers, orders):
        anyio.run(under_load, url, mode, workers, signal.SIGTERM, faults, done)
        counted = how_often(orders)
        seen = {line.split()[1] for line in orders.read_text().splitlines()}

    assert workers.generations == 4
    # New sessions need not meet the worker that started last.
    assert len(seen) >= (3 if sessions == "yes" else 4)
    assert bool(faults) == (sessions == "yes")
    assert len(done) > 100
    # Sessions end with their worker; their calls were not carried out, and went into new sessions.
    assert [fault for fault in faults if fault.outcome != "not_executed" or sessions == "no"] == []
    assert counted == collections.Counter(done)


def test_workers_that_are_killed_repeat_no_order(tmp_path):
    faults, done = [], []
    with deployed(tmp_path) as (url, workers, orders):
        anyio.run(under_load, url, "auto", workers, signal.SIGKILL, faults, done)
        counted = how_often(orders)

    assert set(counted.values()) == {1}
    assert set(done) <= set(counted)
    assert {fault.code for fault in faults} <= {"mcp_server_unreachable"}
    # What is neither done nor waiting is known to be unknown.
    assert len(set(counted) - set(done)) <= sum(fault.outcome == "unknown" for fault in faults)


async def under_load(url, mode, workers, how, faults, done):
    is_over = anyio.Event()
    numbers = iter(range(10**6))

    async def restart():
        await anyio.to_thread.run_sync(workers.restart_each, how)
        is_over.set()

    async with anyio.create_task_group() as group:
        for _ in range(6):
            group.start_soon(ordering, url, mode, numbers, faults, is_over.is_set, done)
        group.start_soon(restart)
