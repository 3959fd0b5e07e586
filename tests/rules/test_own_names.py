"""
What the name of an author's class says.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolfault._codes import McpErrorCode
from toolfault._judge.own_names import WORDS, verdict_for_name


QUOTA = McpErrorCode.QUOTA_EXCEEDED
DENIED = McpErrorCode.PERMISSION_DENIED
LATE = McpErrorCode.TOOL_TIMEOUT
INTERNAL = McpErrorCode.INTERNAL
INVALID = McpErrorCode.INVALID_ARGUMENTS


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("RateLimitError", QUOTA),
        ("RateLimited", QUOTA),
        ("RatelimitError", QUOTA),
        ("GitHubRateLimitExceeded", QUOTA),
        ("TooManyRequests", QUOTA),
        ("QuotaExceededError", QUOTA),
        ("ThrottlingException", QUOTA),
        ("Rate_Limit_Error", QUOTA),
        ("AuthError", DENIED),
        ("OAuthError", DENIED),
        ("HTTPAuthError", DENIED),
        ("AuthenticationFailed", DENIED),
        ("UnauthorizedError", DENIED),
        ("InvalidCredentialsError", DENIED),
        ("IdentityError", DENIED),
        ("Forbidden", DENIED),
        ("PermissionDenied", DENIED),
        ("ToolNotAllowedError", DENIED),
        ("UnsafeQueryError", DENIED),
        ("TimeoutError_", LATE),
        ("ReadTimeout", LATE),
        ("RequestTimedOut", LATE),
        ("NetworkError", INTERNAL),
        ("DBConnectionError", INTERNAL),
        ("TransientFailure", INTERNAL),
        ("ServiceUnavailable", INTERNAL),
        ("UpstreamError", INTERNAL),
        ("ConfigError", INTERNAL),
        ("InvalidConfigError", INTERNAL),
        ("SettingsMissing", INTERNAL),
        ("InvalidCity", INVALID),
        ("InputError", INVALID),
        ("BadArgument", INVALID),
        ("ValidationFailed", INVALID),
        ("CityNotFoundError", INVALID),
        ("AlreadyExists", INVALID),
        ("FileTooLarge", INVALID),
        # not these
        ("AuthorError", None),
        ("AuthoringError", None),
        ("UnknownError", None),
        ("UnknownCity", None),
        ("LimitError", None),
        ("SizeLimitExceeded", None),
        ("Found", None),
        ("NotFounded", None),
        ("LargeError", None),
        ("AllowedOnce", None),
        ("RateError", None),
        ("Reconfigured", None),
        ("Disconnection", None),
        ("PermissiveError", None),
        ("LedgerError", None),
        ("Error", None),
        ("", None),
        ("_", None),
    ],
)
def test_names(name, code):
    """
    Whole words, the first of the table.
    """
    verdict = verdict_for_name(name)

    assert code == (None if verdict is None else verdict.code)


def test_outages_may_be_retried():
    """
    A name that speaks of the network is no final word.
    """
    assert verdict_for_name("UpstreamError").retryable is True
    assert verdict_for_name("ConfigError").retryable is None


def test_credentials_are_told_from_rights():
    """
    Only the first are a matter of whose they are.
    """
    assert verdict_for_name("AuthError").refuses_credentials
    assert not verdict_for_name("Forbidden").refuses_credentials


def test_every_entry_is_found_by_its_own_name():
    """
    No entry hides behind another of another meaning.
    """
    for words, verdict in WORDS.items():
        assert verdict_for_name("".join(word.capitalize() for word in words.split()) + "Error") is verdict


@given(st.text())
def test_any_text_is_a_name(text):
    """
    Class names can be anything.
    """
    verdict = verdict_for_name(text)

    assert verdict is None or verdict in WORDS.values()
