"""
What really raised exceptions mean: code, category, retryable.
"""

# ruff: noqa: PTH102, PTH104, PTH106, PTH110, SIM115, SIM117 -- tools do as they like, and the nesting shows which server belongs to which client

import array
import ast
import asyncio
import base64
import binascii
import bz2
import concurrent.futures
import configparser
import copy
import csv
import ctypes
import email.message
import email.mime.nonmultipart
import errno
import ftplib
import getopt
import gzip
import http.client
import http.cookies
import imaplib
import io
import json
import lzma
import mailbox
import multiprocessing
import multiprocessing.pool
import os
import pickle
import plistlib
import queue
import re
import shutil
import signal
import smtplib
import socket
import ssl
import struct
import subprocess
import sys
import tarfile
import tomllib
import urllib.error
import urllib.request
import wave
import xml.dom.minidom
import xml.etree.ElementTree as ET
import xml.sax
import xmlrpc.client
import zipfile
import zlib
from concurrent.futures import ProcessPoolExecutor

import pytest

from toolfault._codes import McpErrorCode


INTERNAL = ("internal", "permanent", False)
OUTAGE = ("internal", "transient", True)
LOGIN = ("internal", "auth", False)
PANICKED = ("tool_panicked", "permanent", False)
ARGUMENTS = ("invalid_arguments", "validation", False)
DENIED = ("permission_denied", "auth", False)
BLOCKED = ("network_blocked", "permanent", False)
USED_UP = ("quota_exceeded", "permanent", False)
LATE = ("tool_timeout", "transient", True)


# ---- bugs


def recurses():
    recurses()


def exhausts_memory():
    array.array("B", [0]) * (sys.maxsize // 2)


def stops_inside_a_generator():
    def numbers():
        yield next(iter(()))

    list(numbers())


def resizes_what_is_exported():
    data = bytearray(b"x")
    with memoryview(data):
        data.append(1)


BUGS = [
    (lambda: {}["k"], "KeyError"),
    ([].pop, "IndexError"),
    (lambda: None.x, "AttributeError"),
    (lambda: len(5), "TypeError"),
    (lambda: int("x"), "ValueError"),
    (lambda: 1 / 0, "ZeroDivisionError"),
    (lambda: 10.0**400, "OverflowError"),
    (lambda: exec("assert False"), "AssertionError"),
    (lambda: nothing, "NameError"),  # noqa: F821
    (lambda: exec("def f():\n    x\n    x = 1\nf()"), "UnboundLocalError"),
    (recurses, "RecursionError"),
    (exhausts_memory, "MemoryError"),
    (lambda: next(iter(())), "StopIteration"),
    (lambda: exec("import nosuchmodule"), "ModuleNotFoundError"),
    (lambda: exec("from os import nosuch"), "ImportError"),
    (lambda: ast.parse("x ="), "SyntaxError"),
    (lambda: ast.parse("if x:\ny"), "IndentationError"),
    (lambda: memoryview(b"")["x"], "TypeError"),
    (resizes_what_is_exported, "BufferError"),
    (stops_inside_a_generator, "RuntimeError"),
    (lambda: sys.exit(3), "SystemExit"),
]


@pytest.mark.parametrize(("fail", "name"), BUGS, ids=[name for _, name in BUGS])
def test_bugs(caught, facts, verdict_on, fail, name):
    """
    Nobody planned them.
    """
    exc = caught(fail)

    assert name == type(exc).__name__
    assert facts(exc) == PANICKED
    assert verdict_on(exc).family in {"bug", "general"}


def test_exception_says_nothing(facts, verdict_on):
    """
    The base class is general, and no crash by itself.
    """
    assert facts(Exception("x")) == INTERNAL
    assert verdict_on(Exception("x")).family == "general"
    assert verdict_on(RuntimeError("x")).family == "general"


@pytest.mark.parametrize(
    ("exc", "message"),
    [
        (MemoryError("x" * 10), "The tool ran out of memory. Ask for less at a time."),
        (RecursionError("x"), "The tool went too deep (RecursionError). Input that is nested less may help."),
        (SystemExit(3), "The tool tried to end the server process (exit code 3)."),
        (SystemExit(), "The tool tried to end the server process (exit code 0)."),
        (SystemExit(True), "The tool tried to end the server process (exit code 0)."),
        (SystemExit("no config"), "The tool tried to end the server process: no config"),
        (asyncio.CancelledError(), "A task that the tool waited for was cancelled."),
    ],
    ids=repr,
)
def test_constant_messages(verdict_on, exc, message):
    """
    Where formatting the exception could do harm, or its text is no sentence.
    """
    assert message == verdict_on(exc).message
    assert verdict_on(exc).code is McpErrorCode.TOOL_PANICKED


def test_any_other_base_exception_is_a_crash(facts):
    """
    A class outside ``Exception`` would end the server.
    """
    own = type("Own", (BaseException,), {})

    assert facts(own()) == PANICKED


# ---- files


def test_files(tmp_path, caught, facts, verdict_on):
    """
    The path is the verdict's, its last component the message's; whose it is, the classifier finds out.
    """
    (tmp_path / "file").write_text("x")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "one").write_text("x")
    (tmp_path / "loop").symlink_to("loop")
    cases = {
        "FileNotFoundError": (lambda: open(tmp_path / "none.txt"), "none.txt", "ENOENT"),
        "NotADirectoryError": (lambda: open(tmp_path / "file" / "x"), "x", "ENOTDIR"),
        "IsADirectoryError": (lambda: open(tmp_path), tmp_path.name, "EISDIR"),
        "FileExistsError": (lambda: os.mkdir(tmp_path / "full"), "full", "EEXIST"),
    }
    for name, (fail, shown, number) in cases.items():
        exc = caught(fail)
        verdict = verdict_on(exc)

        assert type(exc).__name__ == name
        assert facts(exc) == INTERNAL
        assert (verdict.family, verdict.code_if_caller_named) == ("file", McpErrorCode.INVALID_ARGUMENTS)
        assert verdict.paths == (str(exc.filename),)
        assert f"{shown!r} ({number})" in verdict.message
        assert str(tmp_path) not in verdict.message

    for fail, number in [
        (lambda: open(tmp_path / "loop"), "ELOOP"),
        (lambda: os.rmdir(tmp_path / "full"), "ENOTEMPTY"),
        (lambda: open(tmp_path / ("a" * 1000)), "ENAMETOOLONG"),
    ]:
        verdict = verdict_on(caught(fail))

        assert (verdict.code, verdict.code_if_caller_named) == (McpErrorCode.INTERNAL, McpErrorCode.INVALID_ARGUMENTS)
        assert f"({number})" in verdict.message
        assert len(verdict.message) < 200


def test_two_paths(tmp_path, caught, verdict_on):
    """
    A rename has two.
    """
    verdict = verdict_on(caught(lambda: os.rename(tmp_path / "a", tmp_path / "b")))

    assert verdict.paths == (str(tmp_path / "a"), str(tmp_path / "b"))


def test_bytes_and_descriptors(tmp_path, caught, verdict_on):
    """
    A file name may be bytes, and may be no name at all.
    """
    by_bytes = verdict_on(caught(lambda: open(os.fsencode(tmp_path) + b"/\xff")))
    by_number = verdict_on(caught(lambda: os.fstat(987654)))

    assert by_bytes.paths == (f"{tmp_path}/\udcff",)
    assert by_bytes.message == "There is no such file or directory (ENOENT)."
    assert by_number.paths == ()


def test_a_program_that_is_not_there(caught, verdict_on):
    """
    A missing binary looks like a missing file.
    """
    verdict = verdict_on(caught(lambda: subprocess.run(["/nosuch/NOTREAL-tool", "--password", "NOTREAL"], check=False)))

    assert (verdict.code, verdict.family) == (McpErrorCode.INTERNAL, "file")
    assert "--password" not in verdict.message


def test_permission(facts, verdict_on):
    """
    With a file name it is the file's; without one the traceback has to tell.
    """
    named = verdict_on(PermissionError(errno.EACCES, "Permission denied", "/srv/ledger.db"))
    bare = PermissionError(errno.EACCES, "Permission denied")
    of_a_socket = verdict_on(PermissionError(errno.EACCES, "Connect call failed ('10.0.0.1', 80)"))
    said = verdict_on(PermissionError(errno.EACCES, "Permission denied: ledger is read-only"))

    assert (named.code, named.code_if_caller_named) == (McpErrorCode.INTERNAL, McpErrorCode.PERMISSION_DENIED)
    assert "'ledger.db'" in named.message
    assert facts(bare) == DENIED
    assert (of_a_socket.family, of_a_socket.message) == ("auth", "Permission denied (EACCES).")
    assert said.message is None
    assert facts(PermissionError("may not use this")) == DENIED


@pytest.mark.parametrize(
    ("number", "expected", "family"),
    [
        (errno.ENOSPC, INTERNAL, "limit"),
        (errno.EDQUOT, USED_UP, "limit"),
        (errno.EMFILE, OUTAGE, "limit"),
        (errno.ENFILE, OUTAGE, "limit"),
        (errno.ENOMEM, OUTAGE, "limit"),
        (errno.EAGAIN, OUTAGE, "other"),
        (errno.EINTR, OUTAGE, "other"),
        (errno.EBUSY, OUTAGE, "other"),
        (errno.EIO, INTERNAL, "file"),
        (errno.EROFS, INTERNAL, "file"),
        (errno.ECONNREFUSED, OUTAGE, "network"),
        (errno.ECONNRESET, OUTAGE, "network"),
        (errno.ECONNABORTED, OUTAGE, "network"),
        (errno.EPIPE, OUTAGE, "network"),
        (errno.EHOSTUNREACH, OUTAGE, "network"),
        (errno.ENETUNREACH, BLOCKED, "network"),
        (errno.ETIMEDOUT, LATE, "timeout"),
        (errno.ESRCH, INTERNAL, "other"),
        (errno.ECHILD, INTERNAL, "other"),
        (errno.EINVAL, INTERNAL, "other"),
        (987654, INTERNAL, "other"),
        (-(10**30), INTERNAL, "other"),
    ],
)
def test_errno(facts, verdict_on, number, expected, family):
    """
    The number decides, whatever the class.
    """
    exc = OSError(number, "Connect call failed ('10.1.2.3', 5432)")

    assert expected == facts(exc)
    assert family == verdict_on(exc).family
    assert "10.1.2.3" not in verdict_on(exc).message


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="Linux has this device")
def test_an_errno_means_the_same_beside_any_path(verdict_on):
    """
    What one error says of its path, no other says.
    """
    paths = ["/srv/a.db", None, "/srv/b.db", None]

    verdicts = [verdict_on(OSError(errno.ENOENT, "No such file", path)) for path in paths]

    assert [verdict.paths for verdict in verdicts] == [("/srv/a.db",), (), ("/srv/b.db",), ()]
    assert [verdict.code_if_caller_named for verdict in verdicts] == [McpErrorCode.INVALID_ARGUMENTS, None] * 2
    assert ["a.db" in verdict.message for verdict in verdicts] == [True, False, False, False]


def test_a_full_disk(caught, facts):
    """
    Raised by the kernel, not by us.
    """

    def write():
        with open("/dev/full", "wb", buffering=0) as full:
            full.write(b"x")

    assert facts(caught(write)) == INTERNAL


@pytest.mark.parametrize(
    ("exc", "expected", "family"),
    [
        (TimeoutError(), LATE, "timeout"),
        (TimeoutError("timed out"), LATE, "timeout"),
        (ConnectionError("pooler refused the login packet"), OUTAGE, "network"),
        (ConnectionRefusedError("no"), OUTAGE, "network"),
        (ConnectionResetError("Connection lost"), OUTAGE, "network"),
        (BlockingIOError("later"), OUTAGE, "other"),
        (FileNotFoundError("no config"), INTERNAL, "file"),
        (OSError("Invalid data stream"), INTERNAL, "other"),
        (OSError(), INTERNAL, "other"),
        (OSError("Multiple exceptions: [Errno 111] Connect call failed ('::1', 5, 0, 0)"), OUTAGE, "network"),
    ],
    ids=repr,
)
def test_without_errno(facts, verdict_on, exc, expected, family):
    """
    A library or an author made it of a text: the class decides, and the text is shown unless it tells an address.
    """
    verdict = verdict_on(exc)

    assert expected == facts(exc)
    assert family == verdict.family
    assert "::1" not in (verdict.message or "")


def test_a_text_of_an_author_survives(verdict_on):
    """
    Only the interpreter's texts are composed anew.
    """
    assert verdict_on(ConnectionError("pooler refused the login packet")).message is None
    assert verdict_on(TimeoutError("the ledger took too long")).message is None
    assert verdict_on(TimeoutError("timed out")).message is not None
    assert verdict_on(TimeoutError()).message is not None


# ---- the network, on the loopback interface


def test_a_refused_connection(caught, facts, verdict_on, refused):
    """
    Nobody listens.
    """
    exc = caught(lambda: socket.create_connection(("127.0.0.1", refused), timeout=5))

    assert type(exc) is ConnectionRefusedError
    assert facts(exc) == OUTAGE
    assert str(refused) not in verdict_on(exc).message


def test_a_refused_connection_under_asyncio(caught, facts, verdict_on, refused):
    """
    asyncio writes the address into the text.
    """

    async def connect():
        await asyncio.open_connection("127.0.0.1", refused)

    exc = caught(connect)

    assert str(refused) in str(exc)
    assert facts(exc) == OUTAGE
    assert str(refused) not in verdict_on(exc).message


def test_a_socket_that_times_out(caught, facts, peer):
    """
    ``socket.timeout`` is the builtin.
    """

    def read():
        with peer(lambda connection: connection.recv(1)) as port:
            with socket.create_connection(("127.0.0.1", port), timeout=0.01) as connection:
                connection.recv(1)

    exc = caught(read)

    assert type(exc) is TimeoutError
    assert facts(exc) == LATE


def test_a_connection_that_is_reset(caught, facts, peer):
    """
    The other side closes with data unread and no linger.
    """

    def reset(connection):
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    def read():
        with peer(reset) as port, socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
            connection.recv(1)

    exc = caught(read)

    assert type(exc) is ConnectionResetError
    assert facts(exc) == OUTAGE


def test_a_broken_pipe(caught, facts):
    """
    Writing where nobody reads.
    """

    def write():
        ours, theirs = socket.socketpair()
        theirs.close()
        with ours:
            ours.send(b"x")

    exc = caught(write)

    assert type(exc) is BrokenPipeError
    assert facts(exc) == OUTAGE


def test_a_name_that_does_not_exist(caught, facts, verdict_on):
    """
    Without a network the resolver may ask to try again; both are as RFC 3493 says.
    """
    exc = caught(lambda: socket.getaddrinfo("nosuch.invalid", 80))

    assert type(exc) is socket.gaierror
    assert (OUTAGE if exc.errno == socket.EAI_AGAIN else INTERNAL) == facts(exc)
    assert "EAI_" in verdict_on(exc).message


@pytest.mark.parametrize(
    ("name", "expected"),
    [("EAI_AGAIN", OUTAGE), ("EAI_NONAME", INTERNAL), ("EAI_FAIL", INTERNAL), ("EAI_MEMORY", OUTAGE), (None, INTERNAL)],
)
def test_a_look_up_by_its_code(facts, name, expected):
    """
    The numbers differ from system to system.
    """
    assert expected == facts(socket.gaierror(getattr(socket, name) if name else 4711, "x"))


def test_herror(facts):
    """
    The older resolver has other numbers.
    """
    assert facts(socket.herror(2, "Host name lookup failure")) == OUTAGE
    assert facts(socket.herror(1, "Unknown host")) == INTERNAL


def test_a_certificate_that_nobody_trusts(caught, facts, verdict_on, self_signed):
    """
    It is a ValueError as well, and no mistake of the caller's.
    """

    def connect():
        with self_signed() as port, socket.create_connection(("127.0.0.1", port), timeout=5) as plain:
            ssl.create_default_context().wrap_socket(plain, server_hostname="localhost")

    exc = caught(connect)

    assert isinstance(exc, ValueError)
    assert facts(exc) == INTERNAL
    assert verdict_on(exc).message == (
        "The TLS certificate of a service that the tool depends on could not be verified "
        "(self-signed certificate). The server's operator has to look into it."
    )


def test_a_certificate_of_another_host(verdict_on):
    """
    OpenSSL names the host; the message does not.
    """
    exc = ssl.SSLCertVerificationError(1, "certificate verify failed")
    exc.verify_message = "Hostname mismatch, certificate is not valid for 'db1.internal'."
    message = verdict_on(exc).message

    assert "(Hostname mismatch)" in message
    assert "db1" not in message


def test_no_tls_at_all(caught, facts, verdict_on, peer):
    """
    A plain text answer to a TLS greeting.
    """

    def connect():
        with peer(lambda connection: (connection.recv(1000), connection.sendall(b"HTTP/1.1 400 No\r\n\r\n"))) as port:
            with socket.create_connection(("127.0.0.1", port), timeout=5) as plain:
                ssl.create_default_context().wrap_socket(plain, server_hostname="localhost")

    exc = caught(connect)

    assert type(exc) is ssl.SSLError
    assert facts(exc) == INTERNAL
    assert "(WRONG_VERSION_NUMBER)" in verdict_on(exc).message or "(RECORD_LAYER_FAILURE)" in verdict_on(exc).message


def test_tls_that_is_cut_off(caught, facts, peer):
    """
    The peer hangs up in the middle of the handshake.
    """

    def connect():
        with peer(lambda connection: connection.recv(10000)) as port:
            with socket.create_connection(("127.0.0.1", port), timeout=5) as plain:
                ssl.create_default_context().wrap_socket(plain, server_hostname="localhost")

    exc = caught(connect)

    assert isinstance(exc, ssl.SSLEOFError | ConnectionResetError)
    assert facts(exc) == OUTAGE


@pytest.mark.parametrize(
    "name", ["SSLZeroReturnError", "SSLWantReadError", "SSLWantWriteError", "SSLSyscallError", "SSLEOFError"]
)
def test_tls_that_time_may_mend(facts, name):
    """
    Not an ``SSLError`` like the others.
    """
    assert facts(getattr(ssl, name)(1, "x")) == OUTAGE


# ---- HTTP of the standard library


def answers(text):
    return lambda connection: (connection.recv(10000), connection.sendall(text))


def asks(port, path="/x?key=NOTREAL"):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", path)
        connection.getresponse().read()
    finally:
        connection.close()


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        (b"", "RemoteDisconnected", OUTAGE),
        (b"nonsense NOTREAL\r\n\r\n", "BadStatusLine", OUTAGE),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc", "IncompleteRead", OUTAGE),
        (b"HTTP/1.1 200 OK\r\nX: " + b"a" * 70000 + b"\r\n\r\n", "LineTooLong", INTERNAL),
        (b"HTTP/9 200 OK\r\n\r\n", "UnknownProtocol", INTERNAL),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_an_http_server_may_answer(caught, facts, verdict_on, peer, text, name, expected):
    """
    Its words are never shown.
    """

    def ask():
        with peer(answers(text)) as port:
            asks(port)

    exc = caught(ask)

    assert name == type(exc).__name__
    assert expected == facts(exc)
    assert "NOTREAL" not in verdict_on(exc).message


@pytest.mark.parametrize(
    ("fail", "name", "expected"),
    [
        (lambda: asks(9, "/a b?key=NOTREAL"), "InvalidURL", PANICKED),
        (lambda: http.client.HTTPConnection("127.0.0.1", 9).getresponse(), "ResponseNotReady", PANICKED),
        (lambda: http.client.HTTPConnection("127.0.0.1", 9).endheaders(), "CannotSendHeader", PANICKED),
        (lambda: http.client.HTTPConnection("127.0.0.1:nonsense"), "InvalidURL", PANICKED),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_http_client_used_wrongly(caught, facts, verdict_on, fail, name, expected):
    """
    The tool's own mistakes.
    """
    exc = caught(fail)

    assert name == type(exc).__name__
    assert expected == facts(exc)
    assert "NOTREAL" not in verdict_on(exc).message


def opens(url, proxy=None):
    handler = urllib.request.ProxyHandler({"https": proxy} if proxy else {})
    urllib.request.build_opener(handler).open(url, timeout=5).close()


def test_urllib_over_a_refused_connection(caught, facts, refused):
    """
    The reason inside decides.
    """
    exc = caught(lambda: opens(f"http://127.0.0.1:{refused}/?key=NOTREAL"))

    assert type(exc) is urllib.error.URLError
    assert facts(exc) == OUTAGE


def test_urllib_over_a_certificate(caught, facts, verdict_on, self_signed):
    """
    As without urllib.
    """

    def ask():
        with self_signed() as port:
            opens(f"https://localhost:{port}/")

    exc = caught(ask)

    assert type(exc) is urllib.error.URLError
    assert facts(exc) == INTERNAL
    assert "certificate" in verdict_on(exc).message


def test_urllib_through_a_proxy_that_refuses(caught, facts, peer):
    """
    A refused CONNECT is the network's policy.
    """

    def ask():
        with peer(answers(b"HTTP/1.1 403 Forbidden\r\n\r\n")) as port:
            opens("https://api.example.invalid/", proxy=f"http://127.0.0.1:{port}")

    exc = caught(ask)

    assert "Tunnel connection failed" in str(exc)
    assert facts(exc) == BLOCKED


def test_urllib_with_a_scheme_that_is_none(caught, facts):
    """
    The scheme may be the caller's, and cannot be matched with an argument.
    """
    assert facts(caught(lambda: opens("nosuch://x/?key=NOTREAL"))) == INTERNAL


def test_a_download_that_is_too_short(facts):
    """
    As any cut off answer.
    """
    assert facts(urllib.error.ContentTooShortError("x", b"")) == OUTAGE


def test_xmlrpc(facts, verdict_on):
    """
    A fault is the server's, a status is a status.
    """
    refused = xmlrpc.client.ProtocolError("host/?key=NOTREAL", 503, "busy", {"retry-after": "7"})

    assert facts(xmlrpc.client.Fault(1, "NOTREAL")) == INTERNAL
    assert facts(refused) == OUTAGE
    assert verdict_on(refused).retry_after_seconds == 7


# ---- data


def of_zip():
    with zipfile.ZipFile(io.BytesIO(b"no zip")):
        pass


def of_tar():
    with tarfile.open(fileobj=io.BytesIO(b"no tar" * 1000)):
        pass


def of_gzip():
    gzip.decompress(b"no gzip")


def escapes_from_tar():
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("../../NOTREAL"))
    held.seek(0)
    with tarfile.open(fileobj=held) as archive:
        archive.extractall("/nonexistent/NOTREAL", filter="data")


def converts_a_message():
    email.mime.nonmultipart.MIMENonMultipart("text", "NOTREAL").attach(email.message.Message())


DATA = [
    (lambda: json.loads("<html>NOTREAL</html>"), "JSONDecodeError", INTERNAL),
    (b"\xffNOTREAL".decode, "UnicodeDecodeError", INTERNAL),
    (lambda: "NOTREAL\xff".encode("ascii"), "UnicodeEncodeError", INTERNAL),
    (lambda: f"{'NOTREAL' * 20}.com".encode("idna"), "", INTERNAL),
    (lambda: base64.b64decode("NOTREALxx"), "Error", INTERNAL),
    (lambda: binascii.unhexlify("xNOTREAL"), "Error", INTERNAL),
    (lambda: struct.unpack("I", b"N"), "error", INTERNAL),
    (of_zip, "BadZipFile", INTERNAL),
    (of_tar, "ReadError", INTERNAL),
    (escapes_from_tar, "OutsideDestinationError", INTERNAL),
    (of_gzip, "BadGzipFile", INTERNAL),
    (lambda: gzip.decompress(gzip.compress(b"NOTREAL")[:-9]), "EOFError", INTERNAL),
    (lambda: zlib.decompress(b"NOTREAL"), "error", INTERNAL),
    (lambda: lzma.decompress(b"NOTREAL"), "LZMAError", INTERNAL),
    (lambda: bz2.decompress(b"NOTREAL"), "OSError", INTERNAL),
    (lambda: next(csv.reader(["NOTREAL" * 20000])), "Error", INTERNAL),
    (lambda: configparser.ConfigParser().read_string("NOTREAL"), "MissingSectionHeaderError", INTERNAL),
    (lambda: configparser.ConfigParser().get("NOTREAL", "x"), "NoSectionError", INTERNAL),
    (lambda: ET.fromstring("<NOTREAL>"), "ParseError", INTERNAL),
    (lambda: xml.dom.minidom.parseString("<NOTREAL>"), "ExpatError", INTERNAL),
    (lambda: xml.sax.parseString("<NOTREAL>", xml.sax.ContentHandler()), "SAXParseException", INTERNAL),
    (lambda: tomllib.loads("NOTREAL"), "TOMLDecodeError", INTERNAL),
    (lambda: pickle.loads(b"NOTREAL"), "UnpicklingError", INTERNAL),
    (lambda: plistlib.loads(b"NOTREAL"), "InvalidFileException", INTERNAL),
    (lambda: wave.open(io.BytesIO(b"NOTREAL NOTREAL ")), "", INTERNAL),
    (lambda: http.cookies.SimpleCookie().__setitem__("a NOTREAL", "x"), "CookieError", INTERNAL),
    (converts_a_message, "MultipartConversionError", INTERNAL),
    (lambda: re.compile("(NOTREAL"), "", PANICKED),
    (lambda: pickle.dumps(lambda: "NOTREAL"), "", PANICKED),
]


@pytest.mark.parametrize(("fail", "name", "expected"), DATA, ids=[f"{i}-{name}" for i, (_, name, _) in enumerate(DATA)])
def test_data(caught, facts, verdict_on, fail, name, expected):
    """
    Nonsense from somewhere: the server's problem, and never the caller's by its class alone.
    """
    exc = caught(fail)
    verdict = verdict_on(exc)

    assert name in {"", type(exc).__name__}
    assert expected == facts(exc)
    assert "NOTREAL" not in (verdict.message or "")
    if expected is INTERNAL and not isinstance(exc, OSError) or isinstance(exc, gzip.BadGzipFile):
        assert verdict.family == "data"


def test_json_says_where(verdict_on, caught):
    """
    The position helps whoever mends it.
    """
    assert verdict_on(caught(lambda: json.loads('{"a": }'))).message == (
        "The data that the tool read is not valid JSON (Expecting value at line 1, column 7). "
        "Repeating the same call will not help."
    )


def test_zip_that_is_too_large(facts):
    """
    The tool forgot an option.
    """
    assert facts(zipfile.LargeZipFile("x")) == PANICKED


# ---- processes and tasks

FAST = [sys.executable, "-S", "-E", "-c"]


@pytest.mark.parametrize(
    ("fail", "expected", "shown"),
    [
        (
            lambda: subprocess.run([*FAST, "raise SystemExit(3)", "--token=NOTREAL"], check=True),
            INTERNAL,
            "exit status 3",
        ),
        (
            lambda: subprocess.run([*FAST, "import os; os.kill(os.getpid(), 9)", "NOTREAL"], check=True),
            INTERNAL,
            "SIGKILL",
        ),
        (
            lambda: subprocess.run([*FAST, "import time; time.sleep(60)", "NOTREAL"], timeout=0.01, check=True),
            LATE,
            "within 1 second",
        ),
    ],
    ids=["exit", "signal", "timeout"],
)
def test_programs(caught, facts, verdict_on, fail, expected, shown):
    """
    How it ended is shown, its command line is not.
    """
    exc = caught(fail)

    assert "NOTREAL" in str(exc)
    assert expected == facts(exc)
    assert shown in verdict_on(exc).message
    assert "NOTREAL" not in verdict_on(exc).message


@pytest.mark.parametrize(
    ("status", "shown"),
    [(-4711, "signal 4711"), (-signal.SIGTERM, "SIGTERM"), (0, "exit status 0"), (None, "failed. ")],
)
def test_a_program_ends(verdict_on, status, shown):
    """
    Any status, and none.
    """
    assert shown in verdict_on(subprocess.CalledProcessError(status, ["x"])).message


def test_a_worker_that_is_killed(caught, facts, verdict_on):
    """
    A pool whose process is gone.
    """

    def work():
        with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
            pool.submit(os._exit, 1).result()

    exc = caught(work)

    assert type(exc).__name__ == "BrokenProcessPool"
    assert facts(exc) == PANICKED
    assert verdict_on(exc).message


def waits_for_an_event():
    async def wait():
        async with asyncio.timeout(0):
            await asyncio.Event().wait()

    return wait


async def reads_too_little():
    reader = asyncio.StreamReader()
    reader.feed_data(b"NOTREAL")
    reader.feed_eof()
    await reader.readexactly(10)


async def reads_too_much():
    reader = asyncio.StreamReader(limit=4)
    reader.feed_data(b"NOTREAL" * 10)
    await reader.readuntil(b"\n")


async def awaits_a_cancelled_task():
    task = asyncio.ensure_future(asyncio.sleep(60))
    task.cancel()
    await task


async def asks_a_future_too_early():
    asyncio.get_running_loop().create_future().result()


def asks_a_cancelled_future():
    future = concurrent.futures.Future()
    future.cancel()
    future.result()


@pytest.mark.parametrize(
    ("fail", "name", "expected"),
    [
        (waits_for_an_event(), "TimeoutError", LATE),
        (lambda: concurrent.futures.Future().result(timeout=0), "TimeoutError", LATE),
        (reads_too_little, "IncompleteReadError", OUTAGE),
        (reads_too_much, "LimitOverrunError", INTERNAL),
        (awaits_a_cancelled_task, "CancelledError", PANICKED),
        (asks_a_cancelled_future, "CancelledError", INTERNAL),
        (asks_a_future_too_early, "InvalidStateError", PANICKED),
        (lambda: asyncio.Queue().get_nowait(), "QueueEmpty", OUTAGE),
        (lambda: _full(asyncio.Queue(1)), "QueueFull", OUTAGE),
        (lambda: queue.Queue().get_nowait(), "Empty", OUTAGE),
        (lambda: _full(queue.Queue(1)), "Full", OUTAGE),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_tasks_and_queues(caught, facts, verdict_on, fail, name, expected):
    """
    Most of them have no text of their own.
    """
    exc = caught(fail)

    assert name == type(exc).__name__
    assert expected == facts(exc)
    assert verdict_on(exc).message
    assert "NOTREAL" not in verdict_on(exc).message


def _full(full):
    full.put_nowait(1)
    full.put_nowait(2)


def test_multiprocessing(facts, verdict_on):
    """
    Its TimeoutError is not the builtin; a result that can't be sent holds the value.
    """
    encoding = multiprocessing.pool.MaybeEncodingError(ValueError("x"), "NOTREAL")

    assert facts(multiprocessing.TimeoutError()) == LATE
    assert facts(multiprocessing.AuthenticationError("digest sent was rejected")) == LOGIN
    assert facts(multiprocessing.BufferTooShort(b"NOTREAL")) == PANICKED
    assert facts(encoding) == PANICKED
    assert "NOTREAL" not in verdict_on(encoding).message


# ---- mail and file servers


@pytest.mark.parametrize(
    ("exc", "expected"),
    [
        (smtplib.SMTPDataError(451, b"try later NOTREAL"), OUTAGE),
        (smtplib.SMTPDataError(554, b"NOTREAL"), INTERNAL),
        (smtplib.SMTPSenderRefused(550, b"NOTREAL", "a@NOTREAL"), INTERNAL),
        (smtplib.SMTPRecipientsRefused({"a@NOTREAL": (550, b"no")}), ARGUMENTS),
        (smtplib.SMTPAuthenticationError(535, b"NOTREAL"), LOGIN),
        (smtplib.SMTPAuthenticationError(454, b"NOTREAL"), OUTAGE),
        (smtplib.SMTPServerDisconnected("NOTREAL"), OUTAGE),
        (smtplib.SMTPConnectError(421, b"NOTREAL"), OUTAGE),
        (smtplib.SMTPNotSupportedError("NOTREAL"), INTERNAL),
        (ftplib.error_temp("425 NOTREAL"), OUTAGE),
        (ftplib.error_perm("550 NOTREAL"), ARGUMENTS),
        (ftplib.error_perm("530 NOTREAL"), LOGIN),
        (ftplib.error_perm("502 NOTREAL"), INTERNAL),
        (ftplib.error_reply("NOTREAL"), INTERNAL),
        (imaplib.IMAP4.error("NOTREAL"), INTERNAL),
        (imaplib.IMAP4.abort("NOTREAL"), OUTAGE),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
def test_servers(facts, verdict_on, exc, expected):
    """
    By their reply codes; their words and the addresses are not shown.
    """
    assert expected == facts(exc)
    assert "NOTREAL" not in verdict_on(exc).message


def test_a_mail_server_that_hangs_up(caught, facts, peer):
    """
    Before it says a word.
    """

    def connect():
        with peer(lambda connection: None) as port:
            smtplib.SMTP("127.0.0.1", port, timeout=5)

    assert facts(caught(connect)) == OUTAGE


# ---- the rest


def copies_nothing():
    class Fixed:
        __reduce_ex__ = __reduce__ = None

    copy.copy(Fixed())


@pytest.mark.parametrize(
    ("fail", "expected"),
    [
        (lambda: io.BytesIO(b"").fileno(), PANICKED),
        (lambda: shutil.register_unpack_format("NOTREAL", [".zip"], print), PANICKED),
        (lambda: getopt.getopt(["--NOTREAL"], ""), PANICKED),
        (lambda: ctypes.CFUNCTYPE(None, ctypes.c_int)(lambda n: None)("NOTREAL"), PANICKED),
        (copies_nothing, PANICKED),
        (lambda: shutil.copyfile("/dev/null", "/dev/null"), INTERNAL),
        (lambda: mailbox.mbox("/nonexistent-NOTREAL", create=False), INTERNAL),
    ],
)
def test_the_rest(caught, facts, verdict_on, fail, expected):
    """
    Rows that are about nothing in common.
    """
    exc = caught(fail)

    assert expected == facts(exc)
    assert "NOTREAL" not in verdict_on(exc).message


# ---- traps: what the builtin base would say is wrong


@pytest.mark.parametrize(
    ("exc", "base"),
    [
        (ssl.SSLCertVerificationError(1, "x"), ValueError),
        (ssl.SSLEOFError(8, "x"), OSError),
        (TimeoutError(), OSError),
        (PermissionError("x"), OSError),
        (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "x"), ValueError),
        (json.JSONDecodeError("x", "", 0), ValueError),
        (binascii.Error("x"), ValueError),
        (tomllib.TOMLDecodeError("x"), ValueError),
        (ET.ParseError("x"), SyntaxError),
        (asyncio.IncompleteReadError(b"", 1), EOFError),
        (io.UnsupportedOperation("x"), OSError),
        (http.client.RemoteDisconnected("x"), http.client.HTTPException),
        (urllib.error.URLError(ConnectionRefusedError(errno.ECONNREFUSED, "x")), OSError),
        (urllib.error.HTTPError("http://x/", 429, "x", email.message.Message(), io.BytesIO()), OSError),
        (smtplib.SMTPAuthenticationError(535, b"x"), OSError),
        (concurrent.futures.BrokenExecutor(), RuntimeError),
        (shutil.ReadError("x"), OSError),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else type(value).__name__,
)
def test_the_row_beats_the_base(facts, verdict_on, exc, base):
    """
    A class that a ladder of ``isinstance`` would put into the wrong place.
    """
    plain = base("x") if base is not http.client.HTTPException else base()

    assert isinstance(exc, base)
    assert (facts(exc), verdict_on(exc).family) != (facts(plain), verdict_on(plain).family)


def test_a_cancelled_future_is_no_cancelled_task(facts):
    """
    Two classes of one name.
    """
    assert not isinstance(concurrent.futures.CancelledError(), asyncio.CancelledError)
    assert facts(concurrent.futures.CancelledError()) != facts(asyncio.CancelledError())
