"""
SDKs of services that fail without an HTTP status of a failure: Slack, Notion, MinIO, Playwright.

Slack answers 200 and says ``ok: false`` with a word (https://docs.slack.dev, "error responses").
"""

from __future__ import annotations

from typing import Any, Final

from toolfault._meanings.rows import OPERATOR, outage, permanent, server_auth, timeout
from toolfault._verdict import Rule, Verdict
from toolfault.rules._helpers import attr, dict_attr, int_attr
from toolfault.rules.http import verdict_for


_SLACK: Final = "Slack"

#: What a word of Slack means, as the status that it stands for. Any other: the arguments.
_SLACK_WORDS: Final[dict[str, int]] = {
    **dict.fromkeys(("ratelimited", "rate_limited", "message_limit_exceeded"), 429),
    **dict.fromkeys(("fatal_error", "internal_error", "request_timeout"), 500),
    **dict.fromkeys(("service_unavailable", "team_added_to_org"), 503),
    **dict.fromkeys(("invalid_auth", "not_authed", "token_expired", "token_revoked"), 401),
    "account_inactive": 401,
    **dict.fromkeys(
        ("missing_scope", "no_permission", "access_denied", "not_allowed_token_type"), 403
    ),
    **dict.fromkeys(("restricted_action", "ekm_access_denied", "org_login_required"), 403),
}

_LATE: Final = timeout(
    "{peer} did not answer in time, and whether the request was carried out is unknown"
)


def _slack(exc: BaseException) -> Verdict:
    response: Any = attr(exc, "response")
    status = int_attr(response, "status_code")
    # It keeps Retry-After under two spellings.
    given = dict_attr(response, "headers")
    headers = {str(name).lower(): value for name, value in given.items()}
    if status is not None and status >= 400:
        return verdict_for(status, headers=headers, peer=_SLACK)
    word = dict_attr(response, "data").get("error")
    status = _SLACK_WORDS.get(word, 400) if type(word) is str else 500
    return verdict_for(status, headers=headers, peer=_SLACK)


def _minio(exc: BaseException) -> Verdict | None:
    status = int_attr(exc, "_code") or int_attr(exc, "status_code")
    return None if status is None or status < 400 else verdict_for(status)


RULES: Final[dict[str, Rule]] = {
    "minio.error.InvalidResponseError": _minio,
    "notion_client.errors.RequestTimeoutError": _LATE,
    "playwright._impl._errors.TargetClosedError": outage("The browser ended"),
    "playwright._impl._errors.TimeoutError": timeout(
        "The page did not do in time what the tool waits for"
    ),
    "slack_sdk.errors.BotUserAccessError": server_auth("The server's token can't do this in Slack"),
    "slack_sdk.errors.SlackApiError": _slack,
    "slack_sdk.errors.SlackClientConfigurationError": permanent(
        "The server's settings for Slack are not valid", advice=OPERATOR
    ),
    "slack_sdk.errors.SlackClientNotConnectedError": outage("The connection to Slack is not open"),
    "slack_sdk.errors.SlackTokenRotationError": server_auth(
        "The server's token for Slack could not be renewed"
    ),
}

IGNORED: Final = frozenset[str]()
