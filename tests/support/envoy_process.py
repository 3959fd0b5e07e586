"""
The real Envoy with a configuration of the documentation, and the processor that it asks.
"""

import contextlib
import re
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest


CONFIG = Path(__file__).parents[2] / "specs" / "examples" / "envoy.yaml"
ENVOY = Path(sys.executable).parent / "envoy"

#: Seconds for a route, in place of those of the example.
TIMEOUT = 2


def free_ports(count):
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [one.getsockname()[1] for one in sockets]


def wait_for_port(port, process):
    for _ in range(600):
        assert process.poll() is None, f"it ended: {process.returncode}"
        with socket.socket() as tried:
            if tried.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    pytest.fail(f"nothing listens on {port}")


@contextmanager
def running(command, port, **more):
    process = subprocess.Popen([str(word) for word in command], **more)
    try:
        wait_for_port(port, process)
        yield process
    finally:
        process.terminate()
        process.wait(30)


@contextmanager
def envoy(folder, servers, is_plain=False, config=CONFIG, changes=None, words=(), **more):
    """
    Run Envoy with a configuration of the documentation, and the processor; yield Envoy's port and the processor.

    Plain, it is Envoy with the same route and no processor. Changes are texts of the configuration and others for them;
    words and more are for the processor.
    """
    front, ext = free_ports(2)
    text = config.read_text()
    for old, new in (changes or {}).items():
        assert old in text
        text = text.replace(old, new)
    for old, new in [(9401, front), (9403, ext), (8001, servers[0]), (8002, servers[1])]:
        text = text.replace(f"port_value: {old}", f"port_value: {new}")
    if is_plain:
        text = re.sub(
            r" +- name: envoy.filters.http.ext_proc.*?(?= +- name: envoy.filters.http.router)",
            "",
            text,
            flags=re.DOTALL,
        )
    file = folder / f"envoy-{front}.yaml"
    file.write_text(text.replace("timeout: 55s", f"timeout: {TIMEOUT}s"))
    judge = [sys.executable, "-m", "toolfault", "gateway", "envoy", "--listen", f"127.0.0.1:{ext}", *words]
    command = [ENVOY, "-c", file, "--concurrency", "1", "-l", "error", "--base-id", str(front)]
    with contextlib.ExitStack() as stack:
        process = stack.enter_context(running(judge, ext, **more))
        stack.enter_context(running(command, front))
        yield front, process
