"""
Web frameworks: Werkzeug (Flask) and Django.

A tool meets their exceptions where it shares code with a site. Those of Starlette and FastAPI carry
a status, by which `_judge` takes them.
"""

from __future__ import annotations

from typing import Final

from toolfault._codes import McpErrorCode
from toolfault._meanings.rows import OPERATOR, bug, permanent, value_refusal
from toolfault._verdict import Rule, Verdict
from toolfault.rules._helpers import int_attr
from toolfault.rules.http import verdict_for


def _werkzeug(exc: BaseException) -> Verdict | None:
    status = int_attr(exc, "code")
    if status is None or status < 400:
        return None
    wait = int_attr(exc, "retry_after")
    headers = {} if wait is None else {"Retry-After": str(wait)}
    return verdict_for(status, headers=headers)


_NOT_FOUND: Final = value_refusal("What was asked for does not exist", family="other")
_DENIED: Final = Verdict(
    code=McpErrorCode.PERMISSION_DENIED,
    sentence="This is not allowed",
    advice="Other rights are needed.",
    family="auth",
)


RULES: Final[dict[str, Rule]] = {
    "django.core.exceptions.BadRequest": value_refusal("The request is malformed", family="other"),
    "django.core.exceptions.FieldDoesNotExist": bug("The tool names a field that does not exist"),
    "django.core.exceptions.FieldError": bug("The tool names a field that does not exist"),
    "django.core.exceptions.ImproperlyConfigured": permanent(
        "The server is not configured properly", advice=OPERATOR
    ),
    "django.core.exceptions.MultipleObjectsReturned": bug(
        "The database has several rows where the tool needs one", family="database"
    ),
    "django.core.exceptions.ObjectDoesNotExist": _NOT_FOUND,
    "django.core.exceptions.PermissionDenied": _DENIED,
    "django.core.exceptions.SuspiciousOperation": _DENIED,
    "django.core.exceptions.SynchronousOnlyOperation": bug(
        "The tool uses the database from asynchronous code, which Django does not allow"
    ),
    "django.core.exceptions.ValidationError": value_refusal(
        "A value is not allowed", family="database"
    ),
    "django.http.response.Http404": _NOT_FOUND,
    "werkzeug.exceptions.HTTPException": _werkzeug,
}

#: Django's own signals, errors of a site that is still starting, and what carries its status.
IGNORED: Final = frozenset(
    {
        "django.core.exceptions.AppRegistryNotReady",
        "django.core.exceptions.EmptyResultSet",
        "django.core.exceptions.FullResultSet",
        "django.core.exceptions.MiddlewareNotUsed",
        "django.core.exceptions.RequestAborted",
        "django.core.exceptions.ViewDoesNotExist",
        "starlette.exceptions.HTTPException",
        "starlette.exceptions.WebSocketException",
    }
)
