"""
Logging in at a server that asks for it: the authorization server of the SDK, and a browser without a user.
"""

import asyncio
import json
import os
import shlex
import socket
import stat
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from urllib.request import Request, urlopen

import pytest

from raw_client import connected
from remote_server import RemoteServer, serving
from toolfault import parse
from toolfault.gateway._oauth import Login, LoginError
from toolfault.gateway._tokens import TokenFile


SUPPORT = Path(__file__).parent.parent / "support"
BROWSER = f"{shlex.quote(sys.executable)} {shlex.quote(str(SUPPORT / 'browser.py'))} %s"


class LoginServer:
    def __init__(self, process, port):
        self.process = process
        self.origin = f"http://127.0.0.1:{port}"
        self.url = f"{self.origin}/mcp"

    def expire_tokens(self):
        urlopen(Request(f"{self.origin}/expire", method="POST"), timeout=20).read()

    def told(self):
        """
        End the server; return what it printed.
        """
        self.process.terminate()
        return [line.strip() for line in self.process.stdout]


@contextmanager
def login_server(*words):
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
    command = [sys.executable, str(SUPPORT / "login_server.py"), str(port), *words]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline() == "ready\n"
        wait_for_port(port)
        yield LoginServer(process, port)
    finally:
        process.kill()
        process.wait(20)
        process.stdout.close()


def wait_for_port(port):
    end = time.monotonic() + 30
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            assert time.monotonic() < end


@contextmanager
def through(server, state, stderr=None, browser=BROWSER, *options):
    command = [sys.executable, "-m", "toolfault", "gateway", *options, server.url]
    with connected(command, stderr=stderr, BROWSER=browser, XDG_STATE_HOME=str(state)) as client:
        yield client


def test_a_login_is_asked_for_kept_used_and_refreshed(tmp_path):
    with login_server() as server:
        with through(server, tmp_path, subprocess.PIPE) as client:
            client.initialize()
            assert client.call("hello")["result"]["content"][0]["text"] == "hello"
            client.close()
            told = client.process.stderr.read().decode()
        (file,) = (tmp_path / "toolfault" / "oauth").iterdir()
        kept = json.loads(file.read_text())
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
        assert "to log in, open http://127.0.0.1" in told
        assert kept["tokens"]["access_token"] not in told

        # The next start needs no login, and a token that is refused is refreshed.
        with through(server, tmp_path, browser="/bin/false") as client:
            client.initialize()
            client.call("hello")
            server.expire_tokens()
            assert client.call("hello")["result"]["content"][0]["text"] == "hello"
        assert json.loads(file.read_text())["tokens"] != kept["tokens"]

        assert server.told() == ["registered", "logged in", "refreshed"]


def test_a_client_that_is_registered_for_a_port_in_use_is_registered_again(tmp_path):
    with login_server() as server, socket.create_server(("127.0.0.1", 0)) as busy:
        file = TokenFile(server.url, tmp_path / "toolfault" / "oauth")
        file.update(port=busy.getsockname()[1], client={"client_id": "gone"})
        with through(server, tmp_path) as client:
            client.initialize()
            assert client.call("hello")["result"]["content"][0]["text"] == "hello"


def test_calls_at_once_share_one_login(tmp_path):
    with login_server() as server, through(server, tmp_path) as client:
        client.initialize()
        server.expire_tokens()
        for file in (tmp_path / "toolfault" / "oauth").iterdir():
            assert file.exists()
        ids = {client.request("tools/call", {"name": "hello", "arguments": {}}) for _ in range(10)}
        answers = [json.loads(client.read()) for _ in range(10)]

        assert {one["id"] for one in answers} == ids
        assert all("error" not in one and not one["result"].get("isError") for one in answers)
        assert server.told().count("refreshed") == 1


def test_a_refused_login_is_a_failure_and_opens_no_second_page(tmp_path):
    with login_server("refuse") as server, through(server, tmp_path) as client:
        first = json.loads(client.lines("initialize", {"protocolVersion": "2025-11-25"})[-1])
        fault = parse(client.call("hello")["result"])

        assert first["error"]["data"]["io.github.toolfault/error"]["error"]["code"] == "permission_denied"
        assert (fault.code, fault.category, fault.outcome) == ("permission_denied", "auth", "not_executed")
        assert "The user said no" in fault.message
        assert server.told() == ["registered", "refused"]


def test_a_static_header_is_no_reason_for_a_login():
    with serving() as server:
        server.tokens = {"right"}
        for value, code in (("Bearer wrong", "permission_denied"), ("Bearer right", None)):
            command = [sys.executable, "-m", "toolfault", "gateway", "--header", "Authorization=TOKEN", server.url]
            with connected(command, TOKEN=value) as client:
                client.initialize()
                fault = parse(client.call("ok")["result"])
            assert (fault and fault.code) == code
        assert {row[4] for row in server.requests if row[4]} == {"/mcp"}


def test_a_server_without_an_authorization_server_is_a_failure(tmp_path):
    with serving() as server, through(server, tmp_path, browser="/bin/false") as client:
        server.tokens = set()
        fault = parse(client.call("ok")["result"])

    assert (fault.code, fault.outcome) == ("permission_denied", "not_executed")
    assert fault.message.startswith("The MCP server wants a login, which failed: ")


# ---- the parts


def test_what_is_kept_is_for_one_url_and_survives_damage(tmp_path):
    file = TokenFile("https://a", tmp_path / "x" / "oauth")
    assert file.read() == {}
    file.update(tokens={"access_token": "t"})
    file.update(port=5)
    assert file.read() == {"url": "https://a", "tokens": {"access_token": "t"}, "port": 5}
    assert TokenFile("https://b", tmp_path / "x" / "oauth").read() == {}

    for damage in (b"", b"{", b"[]", b"\xff", b"[" * 100_000, b'{"url": "https://other"}'):
        file.path.write_bytes(damage)
        assert file.read() == {}
    assert [one.name for one in file.path.parent.iterdir()] == [file.path.name]


@pytest.mark.parametrize(
    ("state", "expected"),
    [("/state", "/state/toolfault/oauth"), ("", "{home}/.local/state/toolfault/oauth"), ("relative", "{home}/.local")],
)
def test_tokens_are_in_the_users_directory_for_state(monkeypatch, state, expected):
    monkeypatch.setenv("XDG_STATE_HOME", state)

    assert str(TokenFile("https://a").path).startswith(expected.format(home=Path.home()))


def test_a_token_is_used_until_it_expires(tmp_path):
    now = [1000.0]
    TokenFile("https://a", tmp_path).update(tokens={"access_token": "t"}, expires_at=2000.0)
    login = Login("https://a", print, directory=tmp_path, clock=lambda: now[0])

    assert login.token() == "t"
    now[0] = 1990.0
    assert login.token() is None
    assert Login("https://b", print, directory=tmp_path).token() is None


class Answer:
    def __init__(self, status, challenge=""):
        self.status_code = status
        self.headers = {"www-authenticate": challenge} if challenge else {}


@pytest.mark.parametrize(
    ("answer", "is_asked"),
    [
        (Answer(401), True),
        (Answer(401, "Bearer"), True),
        (Answer(403), False),
        (Answer(403, 'Bearer error="insufficient_scope", scope="x"'), True),
        (Answer(403, 'Basic realm="insufficient_scope"'), False),
        (Answer(200, 'Bearer error="insufficient_scope"'), False),
    ],
)
def test_which_answers_ask_for_a_login(answer, is_asked):
    assert Login.is_asked_by(answer) is is_asked


class Asked:
    headers = {"authorization": ""}


def test_no_page_is_opened_again_soon_after_a_failure(tmp_path, monkeypatch):
    now, tries = [0.0], []

    async def fail(*_args):
        tries.append(now[0])
        raise ValueError("no")

    async def main():
        TokenFile("https://a", tmp_path).update(client={"client_id": "gone"})
        login = Login("https://a", print, directory=tmp_path, clock=lambda: now[0])
        monkeypatch.setattr(login, "_get_token", fail)
        for moment in (0.0, 10.0, 31.0):
            now[0] = moment
            with pytest.raises(LoginError, match="which failed: no"):
                await login.log_in(None, Asked, None)

    asyncio.run(main())

    assert tries == [0.0, 31.0]
    # The next login registers a new client.
    assert TokenFile("https://a", tmp_path).read()["client"] is None


def test_a_directory_that_can_not_be_written_costs_the_login_nothing(tmp_path):
    told = []
    (tmp_path / "file").write_text("")
    login = Login("https://a", told.append, directory=tmp_path / "file" / "x")

    login._keep(tokens={"access_token": "t"})

    assert login.token() == "t"
    assert "can't be kept" in told[0]


def test_the_environment_of_the_tests_has_a_browser_of_its_own():
    assert os.access(SUPPORT / "browser.py", os.R_OK)
    assert RemoteServer().port is None
