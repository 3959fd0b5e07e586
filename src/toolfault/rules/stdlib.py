"""
The standard library's exceptions.

Texts that hold a command line, a document, an address or a path are never shown.
"""

from __future__ import annotations

import math
import re
import signal
import socket
from typing import Any, Final

from toolfault._codes import McpErrorCode
from toolfault._meanings.rows import (
    OPERATOR,
    SERVICE,
    bug,
    outage,
    permanent,
    server_auth,
    timeout,
    value_refusal,
)
from toolfault._names import qualified_name
from toolfault._verdict import Rule, Verdict, replace, seconds
from toolfault.rules._helpers import (
    attr,
    first_argument,
    int_attr,
    short_line,
    str_attr,
    walk_causes,
)
from toolfault.rules.builtins import NO_CONNECTION_ALLOWED, os_error
from toolfault.rules.http import verdict_for


# ---- shapes


def _unreadable(what: str, *, note: str = "") -> Verdict:
    return permanent(f"The data that the tool read is not {what}", note=note, family="data")


# ---- data


def _json(exc: BaseException) -> Verdict:
    why = short_line(str_attr(exc, "msg"))
    line, column = int_attr(exc, "lineno"), int_attr(exc, "colno")
    where = f" at line {line}, column {column}" if line is not None and column is not None else ""
    note = f"{why}{where}" if why else ""
    return permanent("The data that the tool read is not valid JSON", note=note, family="data")


def _xml(exc: BaseException) -> Verdict:
    position = attr(exc, "position")
    line = int_attr(exc, "lineno")
    if issubclass(type(position), tuple) and position:
        line = position[0]
    return _unreadable("valid XML", note=f"line {line}" if type(line) is int else "")


def _csv(exc: BaseException) -> Verdict:
    why = short_line(first_argument(exc))
    return permanent("The tool could not read or write CSV", note=why, family="data")


def _pattern(exc: BaseException) -> Verdict:
    # Whose the pattern is can't be known; its text stays unseen, as a statement's does.
    position = int_attr(exc, "pos")
    where = f" at position {position}" if position is not None else ""
    return bug(f"A regular expression is not valid{where}", family="data")


_DATA: Final[dict[str, Rule]] = {
    "_csv.Error": _csv,
    "_lzma.LZMAError": _unreadable("valid LZMA data"),
    "_pickle.PickleError": _unreadable("a valid pickle"),
    "_pickle.PicklingError": bug("The tool tried to pickle something that can't be pickled"),
    "_zstd.ZstdError": _unreadable("valid Zstandard data"),
    "binascii.Error": _unreadable("valid base64, hexadecimal or the like"),
    "binascii.Incomplete": _unreadable("complete"),
    "compression.zstd.ZstdError": _unreadable("valid Zstandard data"),
    "configparser.Error": permanent(
        "A configuration file that the tool reads is not valid", family="data", advice=OPERATOR
    ),
    "email.errors.MessageDefect": _unreadable("a valid e-mail message"),
    "email.errors.MessageError": _unreadable("a valid e-mail message"),
    "gzip.BadGzipFile": _unreadable("valid gzip data"),
    "http.cookies.CookieError": _unreadable("a valid cookie"),
    "json.decoder.JSONDecodeError": _json,
    "netrc.NetrcParseError": permanent(
        "The server's netrc file is not valid", family="data", advice=OPERATOR
    ),
    "plistlib.InvalidFileException": _unreadable("a valid property list"),
    "re.PatternError": _pattern,
    "re.error": _pattern,
    "struct.error": _unreadable("in the binary format that it expects"),
    "tarfile.FilterError": permanent(
        "The tool refused to extract an archive member that would leave its folder", family="data"
    ),
    "tarfile.TarError": _unreadable("a valid tar archive"),
    "tokenize.TokenError": _unreadable("valid Python"),
    "tomllib.TOMLDecodeError": _unreadable("valid TOML"),
    "wave.Error": _unreadable("a valid WAV file"),
    "xml.dom.DOMException": bug("The tool uses an XML document in a way that it does not allow"),
    "xml.etree.ElementTree.ParseError": _xml,
    "xml.parsers.expat.ExpatError": _xml,
    "xml.sax._exceptions.SAXException": _unreadable("valid XML"),
    "zipfile.BadZipFile": _unreadable("a valid ZIP archive"),
    "zipfile.LargeZipFile": bug(
        "The tool writes a ZIP archive that needs ZIP64 extensions, and did not turn them on"
    ),
    "zlib.error": _unreadable("valid compressed data"),
}


# ---- processes, threads, tasks


def _exit_status(exc: BaseException) -> Verdict:
    status = int_attr(exc, "returncode")
    if status is None:
        return permanent("A program that the tool runs failed", family="process")
    if status >= 0:
        return permanent(
            "A program that the tool runs failed", note=f"exit status {status}", family="process"
        )
    try:
        name = signal.Signals(-status).name
    except ValueError:
        name = f"signal {-status}"
    return permanent(f"A program that the tool runs was ended by {name}", family="process")


def _program_timeout(exc: BaseException) -> Verdict:
    limit = attr(exc, "timeout")
    known = type(limit) in {int, float} and 0 < limit < 10**9
    within = f" within {seconds(math.ceil(limit))}" if known else " in time"
    return timeout(f"A program that the tool runs did not finish{within}")


_WORKER: Final = bug("A worker process of the tool ended unexpectedly", family="process")
_SHUT_DOWN: Final = permanent("A queue that the tool uses was shut down")

_WORK: Final[dict[str, Rule]] = {
    "_queue.Empty": outage("A queue that the tool reads from was empty", family="other"),
    "asyncio.exceptions.IncompleteReadError": outage(
        "The connection was closed before all data had come"
    ),
    "asyncio.exceptions.InvalidStateError": bug(
        "The tool used a future in a state that does not allow it"
    ),
    "asyncio.exceptions.LimitOverrunError": permanent(
        "The tool received a line that is longer than its limit", family="data"
    ),
    "asyncio.queues.QueueEmpty": outage(
        "A queue that the tool reads from was empty", family="other"
    ),
    "asyncio.queues.QueueFull": outage("A queue that the tool writes to is full", family="limit"),
    "asyncio.queues.QueueShutDown": _SHUT_DOWN,
    "concurrent.futures._base.BrokenExecutor": _WORKER,
    "concurrent.futures._base.CancelledError": permanent(
        "Work that the tool waited for was cancelled"
    ),
    "concurrent.futures._base.Error": permanent("Work that the tool waited for failed"),
    "concurrent.futures._base.InvalidStateError": bug(
        "The tool used a future in a state that does not allow it"
    ),
    "concurrent.futures.interpreter.ExecutionFailed": _WORKER,
    "multiprocessing.context.AuthenticationError": server_auth(
        "Two processes of the server did not accept each other"
    ),
    "multiprocessing.context.BufferTooShort": bug(
        "The tool received a message that is larger than its buffer"
    ),
    "multiprocessing.context.ProcessError": permanent(
        "A worker process of the tool failed", family="process"
    ),
    "multiprocessing.context.TimeoutError": timeout(
        "A worker process of the tool did not answer in time"
    ),
    "multiprocessing.pool.MaybeEncodingError": bug("A worker's result could not be sent back"),
    "queue.Empty": outage("A queue that the tool reads from was empty", family="other"),
    "queue.Full": outage("A queue that the tool writes to is full", family="limit"),
    "queue.ShutDown": _SHUT_DOWN,
    "subprocess.CalledProcessError": _exit_status,
    "subprocess.SubprocessError": permanent(
        "A program that the tool runs could not be started", family="process"
    ),
    "subprocess.TimeoutExpired": _program_timeout,
}


# ---- network


def _no_name(exc: BaseException) -> Verdict:
    """
    Judge a failed look-up by its EAI code, wherever in the numbers this system has it.
    """
    number = int_attr(exc, "errno")
    name = next(
        (
            name
            for name in dir(socket)
            if name.startswith("EAI_") and getattr(socket, name) == number
        ),
        None,
    )
    what, note = "The name of a host could not be resolved", name or ""
    if name in {"EAI_AGAIN", "EAI_MEMORY", "EAI_SYSTEM"}:
        return outage(what, note=note)
    advice = "Check the name of the host if it was given."
    return replace(
        permanent(what, note=note, family="network", advice=advice),
        code_if_caller_named=McpErrorCode.INVALID_ARGUMENTS,
    )


def _no_host(exc: BaseException) -> Verdict:
    # netdb.h: HOST_NOT_FOUND 1, TRY_AGAIN 2, NO_RECOVERY 3, NO_DATA 4.
    what = "The name of a host could not be resolved"
    return outage(what) if int_attr(exc, "errno") == 2 else permanent(what, family="network")


def _certificate(exc: BaseException) -> Verdict:
    why = short_line(str_attr(exc, "verify_message"))
    # A mismatch names the host, in quotes.
    why = why.split(",")[0] if "'" in why else why
    what = "The TLS certificate of {peer} could not be verified"
    return permanent(what, note=why, family="network", advice=OPERATOR, peer=SERVICE)


def _tls(exc: BaseException) -> Verdict:
    reason = short_line(str_attr(exc, "reason"), 64)
    is_name = reason.replace("_", "").isalnum() and reason.isupper()
    return permanent(
        "No TLS connection to {peer} could be made",
        note=reason if is_name else "",
        family="network",
        advice=OPERATOR,
        peer=SERVICE,
    )


_CUT_OFF: Final = outage("The TLS connection to {peer} was cut off", peer=SERVICE)

_tunnel = re.compile(r"Tunnel connection failed: ([0-9]{3})\b").match


def proxy_refused(text: str, pattern: Any = _tunnel) -> Verdict | None:
    """
    Return the verdict on a proxy's refusal to connect, by its status; None for any other text.
    """
    match = pattern(text)
    if match is None:
        return None
    if match[1] in {"403", "407"}:
        return Verdict(
            code=McpErrorCode.NETWORK_BLOCKED,
            sentence="A proxy does not let the connection through",
            note=f"HTTP {match[1]}",
            advice=OPERATOR,
            family="network",
        )
    return outage("A proxy could not make the connection", note=f"HTTP {match[1]}")


def network_error(exc: BaseException) -> Verdict | None:
    """
    Return the verdict on the nearest OSError at or below an exception; None if there is none.

    For the wrappers that hide the reason why nothing could be sent.
    """
    for link in walk_causes(exc):
        if not isinstance(link, OSError):
            continue
        if (refused := proxy_refused(first_argument(link))) is not None:
            return refused
        if isinstance(link, PermissionError):
            # Without a file, in a wrapper of the network: a policy of the environment.
            return NO_CONNECTION_ALLOWED
        verdict = _stdlib_verdict(link)
        if verdict is not None:
            return verdict
    return None


def _stdlib_verdict(exc: BaseException) -> Verdict | None:
    for cls in type(exc).__mro__:
        rule = _NETWORK.get(qualified_name(cls))
        if rule is not None:
            return rule if isinstance(rule, Verdict) else rule(exc)
    if int_attr(exc, "errno") is None and not isinstance(exc, ConnectionError | TimeoutError):
        return None
    return os_error(exc)


def _url_status(exc: BaseException) -> Verdict:
    status = int_attr(exc, "code")
    if status is None:
        return permanent("{peer} gave an answer without a status", family="http")
    return verdict_for(status, headers=attr(exc, "headers"), url=str_attr(exc, "url"))


def _url(exc: BaseException) -> Verdict:
    reason = attr(exc, "reason")
    if issubclass(type(reason), BaseException) and reason is not exc:
        return network_error(reason) or outage("{peer} could not be reached")
    text = str_attr(exc, "reason") or ""
    if (refused := proxy_refused(text)) is not None:
        return refused
    if text.startswith(("unknown url type", "no host given", "unknown ")):
        return permanent(
            "The tool was given, or made, a URL that can't be used",
            family="network",
            advice="Check the URL if it was given.",
        )
    return outage("{peer} could not be reached")


def _xmlrpc_status(exc: BaseException) -> Verdict:
    status = int_attr(exc, "errcode")
    if status is None:
        return permanent("{peer} gave an answer without a status", family="http")
    return verdict_for(status, headers=attr(exc, "headers"), url=str_attr(exc, "url"))


_NONSENSE: Final = outage("{peer} gave an answer that is not HTTP")
_MISUSED: Final = bug("The tool used an HTTP connection in a state that does not allow it")

_NETWORK: Final[dict[str, Rule]] = {
    "http.client.BadStatusLine": _NONSENSE,
    "http.client.HTTPException": permanent(
        "The HTTP exchange with {peer} failed", family="network"
    ),
    "http.client.ImproperConnectionState": _MISUSED,
    "http.client.IncompleteRead": outage("{peer}'s answer was cut off"),
    "http.client.InvalidURL": replace(
        bug("The tool was given, or made, a URL that is not valid"), family="other"
    ),
    "http.client.NotConnected": _MISUSED,
    "http.client.RemoteDisconnected": outage("{peer} closed the connection without an answer"),
    "http.client.UnimplementedFileMode": _MISUSED,
    "http.cookiejar.LoadError": permanent(
        "A file of cookies that the tool reads is not valid", family="data"
    ),
    "socket.gaierror": _no_name,
    "socket.herror": _no_host,
    "ssl.SSLCertVerificationError": _certificate,
    "ssl.SSLEOFError": _CUT_OFF,
    "ssl.SSLError": _tls,
    "ssl.SSLSyscallError": _CUT_OFF,
    "ssl.SSLWantReadError": _CUT_OFF,
    "ssl.SSLWantWriteError": _CUT_OFF,
    "ssl.SSLZeroReturnError": _CUT_OFF,
    "urllib.error.ContentTooShortError": outage("{peer}'s answer was cut off"),
    "urllib.error.HTTPError": _url_status,
    "urllib.error.URLError": _url,
    "xmlrpc.client.Error": permanent("{peer} could not carry out the call", family="http"),
    "xmlrpc.client.ProtocolError": _xmlrpc_status,
    "xmlrpc.client.ResponseError": _unreadable("a valid XML-RPC answer"),
}


# ---- mail and file servers


def _mail_status(exc: BaseException) -> Verdict:
    """
    Judge by the reply code of RFC 5321: 4xx is for now, 5xx for good.
    """
    status = int_attr(exc, "smtp_code")
    what, note = "The mail server refused the message", _reply_note(status)
    if status is not None and 400 <= status < 500:
        return outage(what, note=note, family="other")
    return permanent(what, note=note)


def _mail_login(exc: BaseException) -> Verdict:
    status = int_attr(exc, "smtp_code")
    if status is not None and 400 <= status < 500:
        return _mail_status(exc)
    what = "The mail server did not accept the server's credentials"
    return server_auth(what, note=_reply_note(status))


def _reply_note(status: int | None) -> str:
    return str(status) if status else ""


_reply = re.compile(r"([1-5][0-9]{2})\b").match


def _file_server(exc: BaseException) -> Verdict:
    match = _reply(first_argument(exc))
    status = match[1] if match is not None else ""
    if status in {"530", "532"}:
        what = "The file server did not accept the server's credentials"
        return server_auth(what, note=status)
    if status in {"550", "553"}:
        what = "The file server has no such file, or does not give it"
        return value_refusal(what, note=status, family="other")
    return permanent("The file server refused the command", note=status)


_SERVERS: Final[dict[str, Rule]] = {
    "ftplib.Error": permanent("The file server gave an answer that the tool did not expect"),
    "ftplib.error_perm": _file_server,
    "ftplib.error_temp": outage("The file server can't do this now", family="other"),
    "imaplib.IMAP4.abort": outage("The connection to the mail server broke"),
    "imaplib.IMAP4.error": permanent("The mail server refused the command"),
    "poplib.error_proto": permanent("The mail server refused the command"),
    "smtplib.SMTPAuthenticationError": _mail_login,
    "smtplib.SMTPConnectError": outage("The mail server did not accept the connection"),
    "smtplib.SMTPException": permanent("The mail server could not be used"),
    "smtplib.SMTPRecipientsRefused": value_refusal(
        "The mail server refused every recipient", advice="Check the addresses.", family="other"
    ),
    "smtplib.SMTPResponseException": _mail_status,
    "smtplib.SMTPServerDisconnected": outage("The mail server closed the connection"),
}


# ---- the rest

_OPTIONS: Final = bug(
    "The tool was started as a command line program, with options that it does not take"
)

_REST: Final[dict[str, Rule]] = {
    "_curses.error": permanent("The tool needs a terminal, and the server has none"),
    "_dbm.error": permanent("The database file of the tool can't be used", family="file"),
    "_gdbm.error": permanent("The database file of the tool can't be used", family="file"),
    "argparse.ArgumentError": _OPTIONS,
    "argparse.ArgumentTypeError": _OPTIONS,
    "copy.Error": bug("The tool tried to copy something that can't be copied"),
    "ctypes.ArgumentError": bug("The tool called a C function with values of the wrong type"),
    "dbm.error": permanent("The database file of the tool can't be used", family="file"),
    "getopt.GetoptError": _OPTIONS,
    "io.UnsupportedOperation": bug(
        "The tool used a file or stream in a way that it does not allow"
    ),
    "locale.Error": permanent(
        "The server's system lacks a locale that the tool needs", family="other", advice=OPERATOR
    ),
    "mailbox.Error": permanent(
        "A mailbox that the tool uses can't be read or written", family="file"
    ),
    "optparse.OptParseError": _OPTIONS,
    "shutil.Error": permanent("Files could not be copied or moved", family="file"),
    "shutil.ExecError": permanent(
        "A program that the tool needs could not be run", family="process"
    ),
    "shutil.ReadError": _unreadable("an archive that can be unpacked"),
    "shutil.RegistryError": bug("The tool asked for an archive format that is not known"),
    "shutil.SpecialFileError": permanent("A special file can't be copied", family="file"),
    "termios.error": permanent("The tool needs a terminal, and the server has none"),
    "webbrowser.Error": permanent("The tool needs a browser, and the server has none"),
}

RULES: Final[dict[str, Rule]] = {**_DATA, **_WORK, **_NETWORK, **_SERVERS, **_REST}

#: Left without a rule on purpose: control flow that never leaves its module, and tools for
#: developers.
IGNORED: Final = frozenset(
    {
        "bdb.BdbQuit",
        "concurrent.futures.process._RemoteTraceback",
        "doctest.DocTestFailure",
        "doctest.UnexpectedException",
        "inspect.ClassFoundException",
        "inspect.EndOfBlock",
        "multiprocessing.pool.RemoteTraceback",
        "pickle._Stop",
        "py_compile.PyCompileError",
        "runpy._Error",
        "shutil._GiveupOnFastCopy",
        "socket._GiveupOnSendfile",
        "tokenize.StopTokenizing",
        "unittest.case.SkipTest",
    }
)
