"""
A PostgreSQL and a Redis to fail with: those that the environment names, or those that .ci/services starts.
"""

import os
import socket
import subprocess
import threading
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path


SCRIPT = Path(__file__).parent.parent.parent / ".ci" / "services"

NAMES = ("TOOLFAULT_TEST_POSTGRES", "TOOLFAULT_TEST_REDIS")

#: With it rows that need a server are listed as not run, instead of failing.
WITHOUT = "TOOLFAULT_NO_SERVICES"

MISSING = f"""\
no server is at hand for this row. Start both, as root on Debian, with
    eval "$(bash .ci/services start)"
or install PostgreSQL and Redis, or set {" and ".join(NAMES)}; {WITHOUT}=1 leaves these rows out."""


@contextmanager
def running():
    """
    The addresses of the servers, by the names in the environment.
    """
    known = {name: os.environ[name] for name in NAMES if os.environ.get(name)}
    if len(known) == len(NAMES) or os.environ.get(WITHOUT):
        yield known
        return
    started = exports(["start", "--installed"])
    try:
        yield {**started, **known}
    finally:
        exports(["stop"], started)


def exports(command, environment=None):
    """
    What the script exports.
    """
    done = subprocess.run(
        ["bash", str(SCRIPT), *command],
        capture_output=True,
        text=True,
        env={**os.environ, **(environment or {})},
    )
    assert done.returncode == 0, done.stderr
    pairs = (line.removeprefix("export ").partition("=") for line in done.stdout.splitlines() if "=" in line)
    return {name: value for name, _, value in pairs}


@contextmanager
def refused():
    """
    A port on which nobody listens.
    """
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()[1]


@contextmanager
def mute():
    """
    A port that takes connections, and never says a word.
    """
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


@dataclass
class Relay:
    """
    A port that leads to another one, until it is cut.
    """

    port: int
    sockets: list

    def cut(self):
        for end in self.sockets:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


@contextmanager
def relay(host, port):
    """
    A relay for one connection.
    """
    with socket.create_server(("127.0.0.1", 0)) as listener:
        made = Relay(listener.getsockname()[1], [])

        def copy(source, target):
            with suppress(OSError):
                while data := source.recv(65536):
                    target.sendall(data)
            made.cut()

        def serve():
            near, _ = listener.accept()
            with near, socket.create_connection((host, port)) as far:
                made.sockets += [near, far]
                back = threading.Thread(target=copy, args=(far, near))
                back.start()
                copy(near, far)
                back.join()

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield made
        finally:
            made.cut()
            thread.join()
