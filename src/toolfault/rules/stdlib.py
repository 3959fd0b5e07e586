"""
The standard library's exceptions.

Texts that hold a command line, a document, an address or a path are never shown.
"""

from __future__ import annotations

import math
import re
import signal
import socket
from dataclasses import replace
from typing import Any, Final

from toolfault._codes import McpErrorCode
from toolfault._names import qualified_name
from toolfault._verdict import Rule, Verdict
from toolfault.rules._helpers import (
    NO_USE,
    OPERATOR,
    attr,
    below,
    bug,
    final,
    first_argument,
    late,
    no_login,
    outage,
    seconds,
    short,
    whole,
    words,
)
from toolfault.rules.builtins import NO_CONNECTION_ALLOWED, os_error
from toolfault.rules.http import verdict_for


# ---- shapes


def _unreadable(what: str) -> Verdict:
    return final(f"The data that the tool read is not {what}", family="data")


# ---- data


def _json(exc: BaseException) -> Verdict:
    why, line, column = short(words(exc, "msg")), whole(exc, "lineno"), whole(exc, "colno")
    where = f" at line {line}, column {column}" if line is not None and column is not None else ""
    return final(
        f"The data that the tool read is not valid JSON{f' ({why}{where})' if why else ''}",
        family="data",
    )


def _xml(exc: BaseException) -> Verdict:
    position = attr(exc, "position")
    line = position[0] if issubclass(type(position), tuple) and position else whole(exc, "lineno")
    where = f" (line {line})" if type(line) is int else ""
    return _unreadable(f"valid XML{where}")


def _csv(exc: BaseException) -> Verdict:
    why = short(first_argument(exc))
    return final(f"The tool could not read or write CSV{f' ({why})' if why else ''}", family="data")


def _pattern(exc: BaseException) -> Verdict:
    # Whose the pattern is can't be known; its text stays unseen, as a statement's does.
    position = whole(exc, "pos")
    where = f" at position {position}" if position is not None else ""
    return replace(bug(f"A regular expression is not valid{where}"), family="data")


_DATA: Final[dict[str, Rule]] = {
    "_csv.Error": _csv,
    "_lzma.LZMAError": _unreadable("valid LZMA data"),
    "_pickle.PickleError": _unreadable("a valid pickle"),
    "_pickle.PicklingError": bug("The tool tried to pickle something that can't be pickled"),
    "_zstd.ZstdError": _unreadable("valid Zstandard data"),
    "binascii.Error": _unreadable("valid base64, hexadecimal or the like"),
    "binascii.Incomplete": _unreadable("complete"),
    "compression.zstd.ZstdError": _unreadable("valid Zstandard data"),
    "configparser.Error": final(
        "A configuration file that the tool reads is not valid", family="data", advice=OPERATOR
    ),
    "email.errors.MessageDefect": _unreadable("a valid e-mail message"),
    "email.errors.MessageError": _unreadable("a valid e-mail message"),
    "gzip.BadGzipFile": _unreadable("valid gzip data"),
    "http.cookies.CookieError": _unreadable("a valid cookie"),
    "json.decoder.JSONDecodeError": _json,
    "netrc.NetrcParseError": final(
        "The server's netrc file is not valid", family="data", advice=OPERATOR
    ),
    "plistlib.InvalidFileException": _unreadable("a valid property list"),
    "re.PatternError": _pattern,
    "re.error": _pattern,
    "struct.error": _unreadable("in the binary format that it expects"),
    "tarfile.FilterError": final(
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
    status = whole(exc, "returncode")
    if status is None:
        return final("A program that the tool runs failed", family="process")
    if status >= 0:
        return final(
            f"A program that the tool runs failed (exit status {status})", family="process"
        )
    try:
        name = signal.Signals(-status).name
    except ValueError:
        name = f"signal {-status}"
    return final(f"A program that the tool runs was ended by {name}", family="process")


def _expired(exc: BaseException) -> Verdict:
    limit = attr(exc, "timeout")
    known = type(limit) in {int, float} and 0 < limit < 10**9
    within = f" within {seconds(math.ceil(limit))}" if known else " in time"
    return late(f"A program that the tool runs did not finish{within}")


_WORKER: Final = Verdict(
    code=McpErrorCode.TOOL_PANICKED,
    message=f"A worker process of the tool ended unexpectedly. {NO_USE}",
    family="process",
)
_SHUT_DOWN: Final = final("A queue that the tool uses was shut down")

_WORK: Final[dict[str, Rule]] = {
    "_queue.Empty": outage("A queue that the tool reads from was empty", family="other"),
    "asyncio.exceptions.IncompleteReadError": outage(
        "The connection was closed before all data had come"
    ),
    "asyncio.exceptions.InvalidStateError": bug(
        "The tool used a future in a state that does not allow it"
    ),
    "asyncio.exceptions.LimitOverrunError": final(
        "The tool received a line that is longer than its limit", family="data"
    ),
    "asyncio.queues.QueueEmpty": outage(
        "A queue that the tool reads from was empty", family="other"
    ),
    "asyncio.queues.QueueFull": outage("A queue that the tool writes to is full", family="limit"),
    "asyncio.queues.QueueShutDown": _SHUT_DOWN,
    "concurrent.futures._base.BrokenExecutor": _WORKER,
    "concurrent.futures._base.CancelledError": final("Work that the tool waited for was cancelled"),
    "concurrent.futures._base.Error": final("Work that the tool waited for failed"),
    "concurrent.futures._base.InvalidStateError": bug(
        "The tool used a future in a state that does not allow it"
    ),
    "concurrent.futures.interpreter.ExecutionFailed": _WORKER,
    "multiprocessing.context.AuthenticationError": no_login(
        "Two processes of the server did not accept each other"
    ),
    "multiprocessing.context.BufferTooShort": bug(
        "The tool received a message that is larger than its buffer"
    ),
    "multiprocessing.context.ProcessError": final(
        "A worker process of the tool failed", family="process"
    ),
    "multiprocessing.context.TimeoutError": late(
        "A worker process of the tool did not answer in time"
    ),
    "multiprocessing.pool.MaybeEncodingError": bug("A worker's result could not be sent back"),
    "queue.Empty": outage("A queue that the tool reads from was empty", family="other"),
    "queue.Full": outage("A queue that the tool writes to is full", family="limit"),
    "queue.ShutDown": _SHUT_DOWN,
    "subprocess.CalledProcessError": _exit_status,
    "subprocess.SubprocessError": final(
        "A program that the tool runs could not be started", family="process"
    ),
    "subprocess.TimeoutExpired": _expired,
}


# ---- network


def _no_name(exc: BaseException) -> Verdict:
    """
    Judge a failed look-up by its EAI code, wherever in the numbers this system has it.
    """
    number = whole(exc, "errno")
    name = next(
        (
            name
            for name in dir(socket)
            if name.startswith("EAI_") and getattr(socket, name) == number
        ),
        None,
    )
    what = f"The name of a host could not be resolved{f' ({name})' if name else ''}"
    if name in {"EAI_AGAIN", "EAI_MEMORY", "EAI_SYSTEM"}:
        return outage(what)
    return replace(
        final(what, family="network", advice="Check the name of the host if it was given."),
        callers=McpErrorCode.INVALID_ARGUMENTS,
    )


def _no_host(exc: BaseException) -> Verdict:
    # netdb.h: HOST_NOT_FOUND 1, TRY_AGAIN 2, NO_RECOVERY 3, NO_DATA 4.
    what = "The name of a host could not be resolved"
    return outage(what) if whole(exc, "errno") == 2 else final(what, family="network")


def _certificate(exc: BaseException) -> Verdict:
    why = short(words(exc, "verify_message"))
    # A mismatch names the host, in quotes.
    why = why.split(",")[0] if "'" in why else why
    what = "The TLS certificate of a service that the tool depends on could not be verified"
    return final(f"{what}{f' ({why})' if why else ''}", family="network", advice=OPERATOR)


def _tls(exc: BaseException) -> Verdict:
    reason = short(words(exc, "reason"), 64)
    why = f" ({reason})" if reason.replace("_", "").isalnum() and reason.isupper() else ""
    return final(
        f"No TLS connection to a service that the tool depends on could be made{why}",
        family="network",
        advice=OPERATOR,
    )


_CUT_OFF: Final = outage("The TLS connection to a service that the tool depends on was cut off")

_tunnel = re.compile(r"Tunnel connection failed: ([0-9]{3})\b").match


def proxy_refused(text: str, pattern: Any = _tunnel) -> Verdict | None:
    """
    Return the verdict on a proxy's refusal to connect through, if this text is one; its status
    comes first.
    """
    match = pattern(text)
    if match is None:
        return None
    if match[1] in {"403", "407"}:
        return Verdict(
            code=McpErrorCode.NETWORK_BLOCKED,
            message=f"A proxy does not let the connection through (HTTP {match[1]}). {OPERATOR}",
            family="network",
        )
    return outage(f"A proxy could not make the connection (HTTP {match[1]})")


def network_error(exc: BaseException) -> Verdict | None:
    """
    Return the verdict on the nearest OSError at or below an exception; None: there is none.

    For the wrappers that hide the reason why nothing could be sent.
    """
    for link in below(exc):
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
    return (
        os_error(exc)
        if whole(exc, "errno") is not None or isinstance(exc, ConnectionError | TimeoutError)
        else None
    )


def _url_status(exc: BaseException) -> Verdict:
    status = whole(exc, "code")
    if status is None:
        return final("The upstream API gave an answer without a status", family="http")
    return verdict_for(status, headers=attr(exc, "headers"), url=words(exc, "url"))


def _url(exc: BaseException) -> Verdict:
    reason = attr(exc, "reason")
    if issubclass(type(reason), BaseException) and reason is not exc:
        return network_error(reason) or outage("The upstream API could not be reached")
    text = words(exc, "reason") or ""
    if (refused := proxy_refused(text)) is not None:
        return refused
    if text.startswith(("unknown url type", "no host given", "unknown ")):
        return final(
            "The tool was given, or made, a URL that can't be used",
            family="network",
            advice="Check the URL if it was given.",
        )
    return outage("The upstream API could not be reached")


def _xmlrpc_status(exc: BaseException) -> Verdict:
    status = whole(exc, "errcode")
    if status is None:
        return final("The upstream API gave an answer without a status", family="http")
    return verdict_for(status, headers=attr(exc, "headers"), url=words(exc, "url"))


_NONSENSE: Final = outage("The upstream API gave an answer that is not HTTP")
_MISUSED: Final = bug("The tool used an HTTP connection in a state that does not allow it")

_NETWORK: Final[dict[str, Rule]] = {
    "http.client.BadStatusLine": _NONSENSE,
    "http.client.HTTPException": final(
        "The HTTP exchange with the upstream API failed", family="network"
    ),
    "http.client.ImproperConnectionState": _MISUSED,
    "http.client.IncompleteRead": outage("The upstream API's answer was cut off"),
    "http.client.InvalidURL": replace(
        bug("The tool was given, or made, a URL that is not valid"), family="other"
    ),
    "http.client.NotConnected": _MISUSED,
    "http.client.RemoteDisconnected": outage(
        "The upstream API closed the connection without an answer"
    ),
    "http.client.UnimplementedFileMode": _MISUSED,
    "http.cookiejar.LoadError": final(
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
    "urllib.error.ContentTooShortError": outage("The upstream API's answer was cut off"),
    "urllib.error.HTTPError": _url_status,
    "urllib.error.URLError": _url,
    "xmlrpc.client.Error": final("The upstream API could not carry out the call", family="http"),
    "xmlrpc.client.ProtocolError": _xmlrpc_status,
    "xmlrpc.client.ResponseError": _unreadable("a valid XML-RPC answer"),
}


# ---- mail and file servers


def _mail_status(exc: BaseException) -> Verdict:
    """
    Judge by the reply code of RFC 5321: 4xx is for now, 5xx for good.
    """
    status = whole(exc, "smtp_code")
    what = f"The mail server refused the message{f' ({status})' if status else ''}"
    return (
        outage(what, family="other") if status is not None and 400 <= status < 500 else final(what)
    )


def _mail_login(exc: BaseException) -> Verdict:
    status = whole(exc, "smtp_code")
    if status is not None and 400 <= status < 500:
        return _mail_status(exc)
    return no_login(
        f"The mail server did not accept the server's credentials{f' ({status})' if status else ''}"
    )


_reply = re.compile(r"([1-5][0-9]{2})\b").match


def _file_server(exc: BaseException) -> Verdict:
    match = _reply(first_argument(exc))
    status = match[1] if match is not None else ""
    shown = f" ({status})" if status else ""
    if status in {"530", "532"}:
        return no_login(f"The file server did not accept the server's credentials{shown}")
    if status in {"550", "553"}:
        return Verdict(
            code=McpErrorCode.INVALID_ARGUMENTS,
            message=f"The file server has no such file, or does not give it{shown}. Check the arguments.",
            forwarded=True,
        )
    return final(f"The file server refused the command{shown}")


_SERVERS: Final[dict[str, Rule]] = {
    "ftplib.Error": final("The file server gave an answer that the tool did not expect"),
    "ftplib.error_perm": _file_server,
    "ftplib.error_temp": outage("The file server can't do this now", family="other"),
    "imaplib.IMAP4.abort": outage("The connection to the mail server broke"),
    "imaplib.IMAP4.error": final("The mail server refused the command"),
    "poplib.error_proto": final("The mail server refused the command"),
    "smtplib.SMTPAuthenticationError": _mail_login,
    "smtplib.SMTPConnectError": outage("The mail server did not accept the connection"),
    "smtplib.SMTPException": final("The mail server could not be used"),
    "smtplib.SMTPRecipientsRefused": Verdict(
        code=McpErrorCode.INVALID_ARGUMENTS,
        message="The mail server refused every recipient. Check the addresses.",
        forwarded=True,
    ),
    "smtplib.SMTPResponseException": _mail_status,
    "smtplib.SMTPServerDisconnected": outage("The mail server closed the connection"),
}


# ---- the rest

_OPTIONS: Final = bug(
    "The tool was started as a command line program, with options that it does not take"
)

_REST: Final[dict[str, Rule]] = {
    "_curses.error": final("The tool needs a terminal, and the server has none"),
    "_dbm.error": final("The database file of the tool can't be used", family="file"),
    "_gdbm.error": final("The database file of the tool can't be used", family="file"),
    "argparse.ArgumentError": _OPTIONS,
    "argparse.ArgumentTypeError": _OPTIONS,
    "copy.Error": bug("The tool tried to copy something that can't be copied"),
    "ctypes.ArgumentError": bug("The tool called a C function with values of the wrong type"),
    "dbm.error": final("The database file of the tool can't be used", family="file"),
    "getopt.GetoptError": _OPTIONS,
    "io.UnsupportedOperation": bug(
        "The tool used a file or stream in a way that it does not allow"
    ),
    "locale.Error": final(
        "The server's system lacks a locale that the tool needs", family="other", advice=OPERATOR
    ),
    "mailbox.Error": final("A mailbox that the tool uses can't be read or written", family="file"),
    "optparse.OptParseError": _OPTIONS,
    "shutil.Error": final("Files could not be copied or moved", family="file"),
    "shutil.ExecError": final("A program that the tool needs could not be run", family="process"),
    "shutil.ReadError": _unreadable("an archive that can be unpacked"),
    "shutil.RegistryError": bug("The tool asked for an archive format that is not known"),
    "shutil.SpecialFileError": final("A special file can't be copied", family="file"),
    "termios.error": final("The tool needs a terminal, and the server has none"),
    "webbrowser.Error": final("The tool needs a browser, and the server has none"),
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
