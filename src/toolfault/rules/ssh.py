"""
paramiko: other machines over SSH.
"""

from __future__ import annotations

from typing import Final

from toolfault._meanings.rows import OPERATOR, bug, outage, permanent, server_auth
from toolfault._verdict import Rule, Verdict
from toolfault.rules._helpers import dict_attr, first_argument
from toolfault.rules.stdlib import network_error


_UNREACHED: Final = outage("The machine could not be reached over SSH", origin="upstream")
_CUT_OFF: Final = outage(
    "The SSH connection broke, and whether the command was carried out is unknown",
    origin="upstream",
)
_LOGIN: Final = server_auth("The machine did not accept the server's SSH login", origin="upstream")
_HOST_KEY: Final = permanent(
    "The SSH key of the machine is not the expected one",
    advice=OPERATOR,
    family="auth",
    origin="upstream",
)
_SETTINGS: Final = permanent("The server's SSH settings are not valid", advice=OPERATOR)
_KEY: Final = server_auth("The server's SSH key can't be used")


def _no_connection(exc: BaseException) -> Verdict:
    """
    Judge by the first attempt: there is one for each address of the host.
    """
    first = next(iter(dict_attr(exc, "errors").values()), None)
    if not isinstance(first, BaseException):
        return _UNREACHED
    return network_error(first) or _UNREACHED


def _other(exc: BaseException) -> Verdict:
    if "not found in known_hosts" in first_argument(exc)[:1024]:
        return _HOST_KEY
    return network_error(exc) or _CUT_OFF


RULES: Final[dict[str, Rule]] = {
    "paramiko.pkey.UnknownKeyType": _KEY,
    "paramiko.sftp.SFTPError": permanent("A transfer over SSH failed", origin="upstream"),
    "paramiko.ssh_exception.AuthenticationException": _LOGIN,
    "paramiko.ssh_exception.BadHostKeyException": _HOST_KEY,
    "paramiko.ssh_exception.ChannelException": permanent(
        "The machine refused to open an SSH channel", origin="upstream"
    ),
    "paramiko.ssh_exception.ConfigParseError": _SETTINGS,
    "paramiko.ssh_exception.CouldNotCanonicalize": _SETTINGS,
    "paramiko.ssh_exception.MessageOrderError": bug("The tool uses an SSH connection wrongly"),
    "paramiko.ssh_exception.NoValidConnectionsError": _no_connection,
    "paramiko.ssh_exception.PasswordRequiredException": _KEY,
    "paramiko.ssh_exception.SSHException": _other,
}

IGNORED: Final = frozenset[str]()
