"""
The first failures of a process may happen in many threads at once.
"""

import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from toolfault._registry import Registry
from toolfault._verdict import Verdict


THREADS = 16

PROGRAM = """
import subprocess, sys, threading
from toolfault import Guard, Retry, parse
from toolfault.hosting import Call

guard, barrier, seen = Guard(), threading.Barrier(16), []

def dump():
    subprocess.run([sys.executable, "-c", "exit(1)", "-u", "app", "-pS3cretPazz"], check=True)

def fail():
    try:
        dump()
    except Exception as exc:
        fault = guard.judge(exc, Call(tool="dump", function=dump))
    return fault.code.value, "S3cretPazz" in str(guard.to_result(fault))

def read():
    fault = parse(ConnectionRefusedError(111, "no"))
    return fault.code.value, fault.outcome

def retry():
    def refused(attempt):
        raise ConnectionRefusedError(111, "no")
    try:
        Retry(attempts=1).call_sync(refused)
    except ConnectionRefusedError as exc:
        return parse(exc).code.value, "raised"

def work(number):
    barrier.wait()
    seen.append((fail, read, retry)[number % 3]())

threads = [threading.Thread(target=work, args=(number,)) for number in range(16)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(len(seen), sorted(set(seen), key=str))
"""

WANTED = [
    ("internal", False),
    ("mcp_server_unreachable", "not_executed"),
    ("mcp_server_unreachable", "raised"),
]


def test_sixteen_threads_fail_parse_and_retry_first():
    for _ in range(3):
        done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)

        assert done.stdout.strip() == f"16 {WANTED}"


@pytest.mark.parametrize("times", [100])
def test_no_thread_sees_a_registry_without_its_rules(times):
    verdict = Verdict(code="quota_exceeded")
    with ThreadPoolExecutor(THREADS) as pool:
        for _ in range(times):
            barrier, loads = threading.Barrier(THREADS), []

            def load(loads=loads):
                loads.append(1)
                # Let the others run while the rules are not there yet.
                threading.Event().wait(0.001)
                return {"builtins.ValueError": verdict}

            registry = Registry(load=load)

            def look(registry=registry, barrier=barrier):
                barrier.wait()
                return registry.rules_for(ValueError)

            found = [future.result() for future in [pool.submit(look) for _ in range(THREADS)]]

            assert found == [(("builtins.ValueError", verdict),)] * THREADS
            assert loads == [1]
