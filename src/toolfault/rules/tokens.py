"""
PyJWT and authlib: tokens that were refused, and logins that need a new one.

A token that a tool checks came from its caller or from an upstream; either way it is a refusal of
credentials, and a guard can say that they are the server's own.
"""

from __future__ import annotations

from typing import Final

from toolfault._codes import McpErrorCode
from toolfault._meanings.rows import OPERATOR, bug, outage, permanent
from toolfault._verdict import Rule, Verdict
from toolfault.rules._helpers import str_attr
from toolfault.rules.stdlib import network_error


def _refusal(sentence: str) -> Verdict:
    return Verdict(
        code=McpErrorCode.PERMISSION_DENIED,
        sentence=sentence,
        advice="Other credentials are needed.",
        family="auth",
        refuses_credentials=True,
    )


_EXPIRED: Final = _refusal("The token has expired")
_SIGNATURE: Final = _refusal("The token's signature is not valid")
_CLAIM: Final = _refusal("The token is not meant for this server")
_TOKEN: Final = _refusal("The token is not valid")
_KEYS: Final = outage(
    "The keys that tokens are checked with could not be fetched", origin="upstream"
)
_SETTINGS: Final = permanent("The server's key for tokens can't be used", advice=OPERATOR)
_OAUTH: Final = _refusal("The authorization server refused the request")

#: Error codes of OAuth 2.0 (RFC 6749, sections 4.1.2.1 and 5.2) that are no refusal.
_OAUTH_CODES: Final[dict[str, Verdict]] = {
    "server_error": outage("The authorization server failed", origin="upstream"),
    "temporarily_unavailable": outage("The authorization server is unavailable", origin="upstream"),
    "invalid_token": _EXPIRED,
    "token_expired": _EXPIRED,
}


def _keys(exc: BaseException) -> Verdict:
    return network_error(exc) or _KEYS


def _oauth(exc: BaseException) -> Verdict:
    return _OAUTH_CODES.get(str_attr(exc, "error") or "", _OAUTH)


RULES: Final[dict[str, Rule]] = {
    "authlib.common.errors.AuthlibBaseError": _oauth,
    "authlib.integrations.base_client.errors.TokenExpiredError": _EXPIRED,
    "authlib.jose.errors.BadSignatureError": _SIGNATURE,
    "authlib.jose.errors.ExpiredTokenError": _EXPIRED,
    "authlib.jose.errors.InvalidClaimError": _CLAIM,
    "authlib.jose.errors.JoseError": _TOKEN,
    "authlib.jose.errors.MissingClaimError": _CLAIM,
    "jwt.exceptions.ExpiredSignatureError": _EXPIRED,
    "jwt.exceptions.ImmatureSignatureError": _refusal("The token is not valid yet"),
    "jwt.exceptions.InvalidAudienceError": _CLAIM,
    "jwt.exceptions.InvalidIssuerError": _CLAIM,
    "jwt.exceptions.InvalidKeyError": _SETTINGS,
    "jwt.exceptions.InvalidSignatureError": _SIGNATURE,
    "jwt.exceptions.InvalidTokenError": _TOKEN,
    "jwt.exceptions.MissingCryptographyError": bug("A package that checks signatures is missing"),
    "jwt.exceptions.PyJWKClientConnectionError": _keys,
    "jwt.exceptions.PyJWTError": _SETTINGS,
}

#: How authlib goes on with another grant.
IGNORED: Final = frozenset({"authlib.common.errors.ContinueIteration"})
