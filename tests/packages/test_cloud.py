"""
grpc, google-api-core, google-auth and botocore: what their exceptions mean, shown with exceptions that they raised.
"""

import os
import sys
import warnings
from pathlib import Path

import pytest

from installed_classes import class_named
from toolfault import Guard, McpErrorCategory, McpErrorCode
from toolfault._names import qualified_name
from toolfault._verdict import Verdict
from toolfault.hosting import Call
from toolfault.rules import DEFAULT
from toolfault.rules import botocore as botocore_table
from toolfault.rules import google as google_table
from toolfault.rules import grpc as grpc_table


sys.path.insert(0, str(Path(__file__).parent / "support"))
with warnings.catch_warnings():
    warnings.simplefilter("ignore", ImportWarning)
    import google.api_core.exceptions

import botocore.exceptions
import grpc
import grpc_status.rpc_status
from cloud_cases import (
    CASES,
    NOT_RAISED,
    World,
    aio,
    answered,
    arn_that_is_none,
    gave_up,
    over_http_without_a_body_403,
    parameters_missing,
    region_that_is_none,
    stubbed,
    token_revoked,
    wrapped,
)
from cloud_peers import (
    ARGUMENTS,
    ARN,
    BLOCKED,
    DENIED,
    INTERNAL,
    LATE,
    LOGIN,
    METADATA,
    OUTAGE,
    PLANTED,
    QUOTA,
    SECRET,
    USED_UP,
    all_text,
    exported,
    facts,
    grpc_server,
    http_server,
    rule_of,
    telling_base,
)
from google.protobuf import any_pb2, duration_pb2
from google.rpc import error_details_pb2, status_pb2


pytestmark = pytest.mark.filterwarnings("ignore:Please install grpcio-status:ImportWarning")


@pytest.fixture(autouse=True)
def _without_grpcio_status(monkeypatch):
    """
    google-api-core leaves details in the metadata where the package grpcio-status is not installed.
    """
    monkeypatch.setattr(google.api_core.exceptions, "rpc_status", None)


ROWS = {**grpc_table.RULES, **google_table.RULES, **botocore_table.RULES}
IGNORED = grpc_table.IGNORED | google_table.IGNORED | botocore_table.IGNORED

MODULES = """
    grpc grpc.aio grpc.experimental
    google.api_core._feature_gating_helpers google.api_core.exceptions google.api_core.future.async_future
    google.api_core.future.polling google.api_core.grpc_helpers google.api_core.iam google.api_core.operation
    google.api_core.operations_v1 google.api_core.resumable_transfer google.api_core.retry google.api_core.universe
    google.auth google.auth.aio.transport google.auth.exceptions google.auth.transport google.oauth2
    botocore.client botocore.config botocore.credentials botocore.discovery botocore.eventstream botocore.exceptions
    botocore.loaders botocore.model botocore.paginate botocore.parsers botocore.response botocore.session botocore.stub
    botocore.tokens botocore.utils botocore.waiter
""".split()


def tool():
    """
    Stands for the function of the tool that failed.
    """


def judged(exc, **options):
    """
    The fault that a guard makes of an exception.
    """
    return Guard(**options).judge(exc, Call(tool="t", function=tool))


# ---- the tables and the packages


@pytest.mark.parametrize("name", sorted({*ROWS, *IGNORED}))
def test_every_name_is_that_of_a_class(name):
    """
    A class that a package renames or drops turns this red.
    """
    assert qualified_name(class_named(name)) == name
    assert issubclass(class_named(name), BaseException)


@pytest.mark.parametrize("module", MODULES)
def test_every_exception_of_a_module_has_a_rule(module):
    """
    A class that a package adds turns this red, until it is mapped, or ignored on purpose.
    """
    without = {
        qualified_name(cls)
        for cls in exported(module)
        if cls.__module__.partition(".")[0] in {"grpc", "google", "botocore"}
        and all(name.startswith("builtins.") for name, _ in DEFAULT.rules_for(cls))
    }

    assert without - IGNORED == set()


def test_a_modelled_error_of_a_service_has_the_rule_of_its_base(world):
    """
    botocore makes classes at run time, one for each error of a service's model.
    """
    cls = world.client("s3").exceptions.NoSuchKey

    assert [name for name, _ in DEFAULT.rules_for(cls)][0] == "botocore.exceptions.ClientError"


# ---- exceptions that were really raised


@pytest.fixture(scope="session")
def peers():
    """
    The servers that all cases share.
    """
    with grpc_server() as address, http_server() as (base, put):
        yield address, base, put


@pytest.fixture
def world(monkeypatch, tmp_path, peers):
    """
    A world in which nobody is logged in anywhere.
    """
    for name in [*os.environ]:
        strange = name.startswith(("AWS_", "GOOGLE_", "GCE_", "CLOUDSDK_", "GCLOUD_", "GRPC_"))
        if strange or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    nowhere = str(tmp_path / "none")
    settings = {
        "AWS_CONFIG_FILE": nowhere,
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_SHARED_CREDENTIALS_FILE": nowhere,
        "CLOUDSDK_CONFIG": nowhere,
        "HOME": str(tmp_path),
        "NO_GCE_CHECK": "true",
    }
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    made = World(monkeypatch, tmp_path, *peers)
    with made.stack:
        yield made


def caught(fail, world):
    with pytest.raises(BaseException) as found:
        fail(world)
    return found.value


@pytest.mark.parametrize(("row", "expected", "fail"), CASES)
def test_raised(world, row, expected, fail):
    """
    The row that is meant decides, and says what is expected.
    """
    exc = caught(fail, world)

    assert rule_of(exc) == row
    assert facts(exc) == expected
    verdict = DEFAULT.verdict_on(exc)[1]
    assert verdict.message
    assert verdict.message.endswith(".")
    # As a guard has it: the same, and nothing of what was planted.
    fault = judged(exc)
    assert (fault.envelope.code.value, fault.envelope.category.value, fault.envelope.retryable) == expected
    assert [secret for secret in PLANTED if secret.lower() in all_text(fault).lower()] == []


def test_every_row_is_raised_or_listed():
    """
    No row is only believed; the list has a reason for each that can't be shown.
    """
    shown = {case.values[0] for case in CASES}

    assert set(ROWS) - shown == set(NOT_RAISED)
    assert all(NOT_RAISED.values())


# ---- waits


def packed(*messages):
    """
    A google.rpc.Status with details, as gRPC carries it.
    """
    status = status_pb2.Status(code=8, message=f"{SECRET} of {ARN}")
    for message in messages:
        detail = any_pb2.Any()
        detail.Pack(message)
        status.details.append(detail)
    return status.SerializeToString()


def retry_info(seconds, nanos=0):
    return error_details_pb2.RetryInfo(retry_delay=duration_pb2.Duration(seconds=seconds, nanos=nanos))


def quota(text):
    return error_details_pb2.QuotaFailure(violations=[{"subject": ARN, "description": text}])


DETAILS = "grpc-status-details-bin"
RETRY = "google.rpc.retryinfo-bin"
PUSHBACK = "grpc-retry-pushback-ms"
SHORT = error_details_pb2.DebugInfo(detail="x")

WAITS = [
    ("details", {DETAILS: packed(SHORT, retry_info(3))}, QUOTA, 3),
    ("rounded up", {DETAILS: packed(retry_info(3, 1))}, QUOTA, 4),
    ("none at all", {DETAILS: packed(retry_info(0))}, QUOTA, 0),
    ("its own entry", {RETRY: retry_info(7).SerializeToString()}, QUOTA, 7),
    ("its own entry first", {DETAILS: packed(retry_info(3)), RETRY: retry_info(7).SerializeToString()}, QUOTA, 7),
    ("pushback first", {RETRY: retry_info(7).SerializeToString(), PUSHBACK: "1500"}, QUOTA, 2),
    ("pushback of none", {PUSHBACK: "0"}, QUOTA, 0),
    ("pushback that forbids", {PUSHBACK: "-1"}, ("quota_exceeded", "transient", False), None),
    ("invalid pushback", {PUSHBACK: "soon"}, ("quota_exceeded", "transient", False), None),
    ("a daily quota", {DETAILS: packed(quota("Requests per day"))}, USED_UP, None),
    ("a quota of no time", {DETAILS: packed(quota("Queries"))}, USED_UP, None),
    ("a quota of a minute", {DETAILS: packed(quota("Requests per minute per user"))}, QUOTA, None),
    ("a daily quota with a wait", {DETAILS: packed(quota("Requests per day"), retry_info(5))}, QUOTA, 5),
    ("negative", {DETAILS: packed(retry_info(-3))}, QUOTA, None),
    ("too long", {DETAILS: packed(retry_info(2**40))}, QUOTA, None),
    ("no Duration", {DETAILS: packed(error_details_pb2.RetryInfo())}, QUOTA, None),
    ("cut off", {DETAILS: packed(retry_info(3))[:-2]}, QUOTA, None),
    ("nonsense", {DETAILS: b"\xff" * 40, RETRY: b"\x07"}, QUOTA, None),
    ("too much", {RETRY: retry_info(7).SerializeToString() + b"\x00" * 20000}, QUOTA, None),
    ("a number for a message", {RETRY: b"\x08\x07"}, QUOTA, None),
    ("other fields", {RETRY: b"\x11" + b"1" * 8 + b"\x1d" + b"1" * 4 + retry_info(7).SerializeToString()}, QUOTA, 7),
]  # fmt: skip


@pytest.mark.parametrize("over", ["grpc", "grpc.aio", "google"])
@pytest.mark.parametrize(("metadata", "expected", "wait"), [pytest.param(*rest, id=name) for name, *rest in WAITS])
def test_waits_of_grpc(world, over, metadata, expected, wait):
    """
    From the trailing metadata, over each of the three ways to make a call.
    """
    request = repr(metadata).encode()
    METADATA[request] = [*metadata.items()]
    path = "/status/RESOURCE_EXHAUSTED"
    ways = {
        "grpc": lambda w: w.call(path, request),
        "grpc.aio": aio(path, request=request),
        "google": wrapped(path, request),
    }
    exc = caught(ways[over], world)

    assert facts(exc) == expected
    assert DEFAULT.verdict_on(exc)[1].retry_after_seconds == wait
    if wait:
        assert f"Retry after {wait} second" in judged(exc).envelope.message


#: With grpcio-status, google-api-core raises an error of its own for the first two, and details come before entries.
DIFFERENT = {"cut off", "nonsense", "its own entry first"}


@pytest.mark.parametrize(
    ("metadata", "expected", "wait"), [pytest.param(*rest, id=name) for name, *rest in WAITS if name not in DIFFERENT]
)
def test_waits_of_grpc_that_grpcio_status_unpacked(world, monkeypatch, metadata, expected, wait):
    """
    From the details that google-api-core reads where the package grpcio-status is installed.
    """
    monkeypatch.setattr(google.api_core.exceptions, "rpc_status", grpc_status.rpc_status)
    request = repr(metadata).encode()
    METADATA[request] = [*metadata.items()]

    exc = caught(wrapped("/status/RESOURCE_EXHAUSTED", request), world)

    assert facts(exc) == expected
    assert DEFAULT.verdict_on(exc)[1].retry_after_seconds == wait


@pytest.mark.parametrize(
    ("details", "expected", "wait"),
    [
        pytest.param([SHORT, retry_info(3)], QUOTA, 3, id="wait"),
        pytest.param([retry_info(3, 1)], QUOTA, 4, id="rounded up"),
        pytest.param([retry_info(-3)], QUOTA, None, id="negative"),
        pytest.param([error_details_pb2.RetryInfo()], QUOTA, None, id="no Duration"),
        pytest.param([quota("Requests per day")], USED_UP, None, id="daily"),
        pytest.param([quota("Requests per minute")], QUOTA, None, id="minute"),
        pytest.param([quota("Requests per day"), retry_info(5)], QUOTA, 5, id="daily with a wait"),
    ],
)
def test_waits_that_google_unpacked(details, expected, wait):
    """
    As with the package grpcio-status.
    """
    exc = google.api_core.exceptions.from_grpc_status(grpc.StatusCode.RESOURCE_EXHAUSTED, SECRET, details=details)

    assert facts(exc) == expected
    assert DEFAULT.verdict_on(exc)[1].retry_after_seconds == wait


REST = "type.googleapis.com/google.rpc."


@pytest.mark.parametrize(
    ("status", "error", "headers", "expected", "wait"),
    [
        pytest.param(429, {}, {"Retry_After": "7"}, QUOTA, 7, id="header"),
        pytest.param(429, {"details": [{"@type": f"{REST}RetryInfo", "retryDelay": "3.2s"}]}, {}, QUOTA, 4, id="detail"),
        pytest.param(503, {"details": [{"@type": f"{REST}RetryInfo", "retryDelay": "30s"}]}, {}, OUTAGE, 30, id="503"),
        pytest.param(
            429, {"details": [{"@type": f"{REST}RetryInfo", "retryDelay": "3s"}]}, {"Retry_After": "7"}, QUOTA, 7, id="both"
        ),
        pytest.param(429, {"details": [{"@type": f"{REST}RetryInfo", "retryDelay": "-3s"}]}, {}, QUOTA, None, id="past"),
        pytest.param(429, {"details": [{"@type": f"{REST}RetryInfo", "retryDelay": 3}]}, {}, QUOTA, 3, id="number"),
        pytest.param(429, {"details": [{"@type": 5}, {}]}, {}, QUOTA, None, id="nonsense"),
        pytest.param(
            429, {"details": [{"@type": f"{REST}QuotaFailure", "violations": [5, {"description": 5}]}]}, {}, QUOTA, None, id="odd"
        ),
    ],
)  # fmt: skip
def test_waits_of_google_over_http(world, status, error, headers, expected, wait):
    """
    The answer's headers first, then its body.
    """
    exc = caught(answered(status, error, **headers), world)

    assert facts(exc) == expected
    verdict = DEFAULT.verdict_on(exc)[1]
    assert (verdict.retry_after_seconds, verdict.upstream_status) == (wait, status)


def test_a_status_of_grpc_without_an_answer_has_its_quota(world):
    """
    Made from a status and JSON details, as a client of both transports may.
    """
    details = [{"@type": f"{REST}QuotaFailure", "violations": [{"description": "Requests per day"}]}]
    exc = google.api_core.exceptions.ResourceExhausted(SECRET, details=details)

    assert facts(exc) == USED_UP


@pytest.mark.parametrize(
    ("metadata", "fields", "wait"),
    [
        ({"HTTPHeaders": {"x-amz-retry-after": "1500"}}, {}, 2),
        ({"HTTPHeaders": {"retry-after": "7"}}, {"RetryAfterSeconds": "9"}, 7),
        ({}, {"RetryAfterSeconds": 9}, 9),
        ({}, {"retryAfterSeconds": "9"}, 9),
        ({}, {"retryAfterSeconds": True}, None),
        ({}, {"retryAfterSeconds": -1}, None),
        ({}, {"retryAfterSeconds": "soon"}, None),
        ({}, {"retryAfterSeconds": None}, None),
        ({"HTTPHeaders": 5}, {}, None),
    ],
)
def test_waits_of_botocore(world, metadata, fields, wait):
    """
    From the headers, and from the fields that some services have.
    """
    client, stubber = world.stub("lambda")
    code = "TooManyRequestsException"
    stubber.add_client_error("list_functions", code, SECRET, 429, response_meta=metadata, modeled_fields=None)
    exc = caught(lambda w: client.list_functions(), world)
    exc.response.update(fields)

    assert facts(exc) == QUOTA
    assert DEFAULT.verdict_on(exc)[1].retry_after_seconds == wait


def test_a_wait_is_in_the_error_too(world):
    """
    One level down, where a parser leaves it that knows no model.
    """
    response = {"Error": {"Code": "Throttling", "RetryAfterSeconds": 5}, "ResponseMetadata": {"HTTPStatusCode": 429}}

    assert DEFAULT.verdict_on(botocore.exceptions.ClientError(response, "x"))[1].retry_after_seconds == 5


def test_a_refusal_is_no_limit_although_it_has_a_wait(world):
    """
    A code says more than what a 403 with a wait would mean.
    """
    metadata = {"HTTPStatusCode": 403, "HTTPHeaders": {"retry-after": "7"}}
    exc = botocore.exceptions.ClientError({"Error": {"Code": "AccessDenied"}, "ResponseMetadata": metadata}, "x")

    assert facts(exc) == DENIED


# ---- what is said


@pytest.mark.parametrize(
    ("response", "message"),
    [
        (
            {"Error": {"Code": "NoSuchKey", "Message": SECRET}, "ResponseMetadata": {"HTTPStatusCode": 404}},
            "The AWS API found nothing, or does not show it (NoSuchKey, HTTP 404). Check the arguments.",
        ),
        (
            {"Error": {"Code": "ThrottlingException"}, "ResponseMetadata": {"HTTPStatusCode": 400}},
            "The AWS API's rate limit is reached (ThrottlingException, HTTP 400). Try again later.",
        ),
        (
            {"Error": {"Code": "ExpiredToken"}},
            "The AWS API did not accept the server's credentials (ExpiredToken). The server's operator has to look into it.",
        ),
        (
            {"Error": {"Code": "ServiceQuotaExceededException"}},
            "A quota of the AWS account is used up (ServiceQuotaExceededException). More has to be granted, or something freed.",
        ),
        (
            {"Error": {"Code": f"see {ARN}"}, "ResponseMetadata": {"HTTPStatusCode": 418}},
            "The AWS API refused the request (HTTP 418). Check the arguments.",
        ),
        ({"Error": {"Code": "Odd"}}, "The AWS API refused the call (Odd). Repeating the same call will not help."),
        ({}, "The AWS API refused the call. Repeating the same call will not help."),
        (
            {"Error": {"Code": "404"}},
            "The AWS API found nothing, or does not show it (HTTP 404). Check the arguments.",
        ),
    ],
)
def test_what_is_said_of_an_error(response, message):
    """
    The code and the status, never the text.
    """
    assert DEFAULT.verdict_on(botocore.exceptions.ClientError(response, "GetObject"))[1].message == message


def test_parameters_are_named_and_their_values_are_not(world):
    """
    The first word of a path, since the rest may be keys that were given.
    """

    def fail(w):
        w.client("dynamodb").put_item(TableName="name", Item={SECRET: {"S": 5}})

    message = judged(caught(fail, world)).envelope.message
    assert message == "The parameters of the call to AWS are not valid (not fitting: Item). Check the arguments."
    missing = judged(caught(lambda w: w.client("s3").get_object(), world)).envelope.message
    assert missing == ("The parameters of the call to AWS are not valid (missing: Bucket, Key). Check the arguments.")


def test_a_refused_token_says_why_in_a_word_of_oauth(world):
    """
    What follows the word is not shown.
    """
    message = judged(caught(token_revoked, world)).envelope.message

    assert message == (
        "The server could not get an access token for the Google API (invalid_grant). "
        "The server's operator has to look into it."
    )


def test_what_the_service_said_is_quoted_on_demand(world):
    """
    Without the request, which stands before it in Google's texts.
    """
    said = "The table has moved"
    response = {"Error": {"Code": "NoSuchKey", "Message": said}, "ResponseMetadata": {"HTTPStatusCode": 404}}
    for exc in (
        botocore.exceptions.ClientError(response, "GetObject"),
        caught(answered(404, {"message": said}), world),
        google.api_core.exceptions.NotFound(said),
    ):
        quoted = judged(exc, upstream_text=True).envelope.message
        assert quoted.endswith(f' The upstream said, in its own words: "{said}"')
        assert "http" not in quoted
        assert said not in judged(exc).envelope.message
    over_grpc = judged(caught(lambda w: w.call("/crash/x"), world), upstream_text=True).envelope.message
    assert "Exception calling application" in over_grpc


# ---- what a guard's owner declares


CREDENTIALS = [
    lambda w: w.call("/status/UNAUTHENTICATED"),
    wrapped("/status/UNAUTHENTICATED"),
    answered(401),
    stubbed("s3", "list_buckets", "AccessDenied", 403),
    stubbed("s3", "list_buckets", "UnauthorizedOperation", 403),
    stubbed("s3", "list_buckets", "", 401),
    over_http_without_a_body_403,
]

FORWARDED = [
    lambda w: w.call("/status/INVALID_ARGUMENT"),
    wrapped("/status/NOT_FOUND"),
    answered(404),
    stubbed("dynamodb", "list_tables", "ValidationException", 400),
    stubbed("s3", "list_buckets", "NoSuchBucket", 404),
    parameters_missing,
    region_that_is_none,
    arn_that_is_none,
]


@pytest.mark.parametrize("fail", CREDENTIALS)
def test_whose_credentials(world, fail):
    """
    The caller's, unless the guard says that they are the server's own.
    """
    exc = caught(fail, world)
    own = judged(exc, credentials="server").envelope

    assert judged(exc).envelope.code is McpErrorCode.PERMISSION_DENIED
    assert (own.code, own.category, own.retryable) == (McpErrorCode.INTERNAL, McpErrorCategory.AUTH, False)


@pytest.mark.parametrize("fail", FORWARDED)
def test_whose_arguments(world, fail):
    """
    The caller's, unless the guard says that none are forwarded.
    """
    exc = caught(fail, world)
    own = judged(exc, arguments_forwarded=False).envelope

    assert judged(exc).envelope.code is McpErrorCode.INVALID_ARGUMENTS
    assert (own.code, own.category, own.retryable) == (McpErrorCode.INTERNAL, McpErrorCategory.PERMANENT, False)


def test_only_what_has_no_code_may_be_a_proxys(world):
    """
    A 403 with a code of AWS came from AWS.
    """
    assert DEFAULT.verdict_on(caught(over_http_without_a_body_403, world))[1].maybe_proxy
    assert not DEFAULT.verdict_on(caught(stubbed("s3", "list_buckets", "AccessDenied", 403), world))[1].maybe_proxy


# ---- traps


#: Classes below a class that is built in, and means something else; as what the package's row has it.
TRAPS = {
    "botocore.exceptions.ConnectTimeoutError": OUTAGE,
    "botocore.exceptions.InvalidRegionError": ARGUMENTS,
    "botocore.exceptions.ProxyConnectionError": BLOCKED,
    "botocore.exceptions.ReadTimeoutError": LATE,
    "botocore.exceptions.UnknownEndpointError": INTERNAL,
    "botocore.utils.InvalidArnException": ARGUMENTS,
    "google.api_core._feature_gating_helpers.FeatureGatingError": INTERNAL,
    "google.api_core.universe.EmptyUniverseError": INTERNAL,
    "google.api_core.universe.UniverseMismatchError": INTERNAL,
    "google.auth.exceptions.InvalidOperation": LOGIN,
    "google.auth.exceptions.InvalidResource": LOGIN,
    "google.auth.exceptions.InvalidType": LOGIN,
    "google.auth.exceptions.InvalidValue": LOGIN,
    "google.auth.exceptions.MalformedError": LOGIN,
    "google.auth.exceptions.OSError": LOGIN,
}

#: Classes that have the name of one that is built in, and no relation to it.
NAMESAKES = {
    "botocore.exceptions.ConnectionError": OUTAGE,
    "google.auth.exceptions.TimeoutError": LATE,
}


def every_class():
    found = {cls for module in MODULES for cls in exported(module)}
    return {cls for cls in found if qualified_name(cls).partition(".")[0] in {"grpc", "google", "botocore"}}


def of_base(cls):
    base = class_named(telling_base(cls))
    return facts(base.__new__(base))


def test_traps(capsys):
    """
    Every class whose verdict differs from that of its base is in the table, and no other is.
    """
    below = {cls for cls in every_class() if telling_base(cls) not in {None, "builtins.Warning"}}
    differing = {
        qualified_name(cls): facts(cls.__new__(cls)) for cls in below if facts(cls.__new__(cls)) != of_base(cls)
    }
    with capsys.disabled():
        print(f" {len(differing)} traps", end="")  # noqa: T201 -- the count is to be seen

    assert differing == TRAPS
    assert len(TRAPS) == 15


@pytest.mark.parametrize("name", NAMESAKES)
def test_namesakes(name):
    """
    Rules go by where a class is defined.
    """
    cls = class_named(name)

    assert telling_base(cls) is None
    assert facts(cls.__new__(cls)) == NAMESAKES[name]


@pytest.mark.parametrize(
    ("row", "below"),
    [
        ("botocore.exceptions.ConnectTimeoutError", "botocore.exceptions.ConnectionError"),
        ("botocore.exceptions.ReadTimeoutError", "botocore.exceptions.HTTPClientError"),
        ("botocore.exceptions.ProxyConnectionError", "botocore.exceptions.ConnectionError"),
        ("botocore.exceptions.SSLError", "botocore.exceptions.ConnectionError"),
        ("google.api_core.exceptions.RetryError", "google.api_core.exceptions.GoogleAPIError"),
        ("google.auth.exceptions.RefreshError", "google.auth.exceptions.GoogleAuthError"),
        ("grpc._cython.cygrpc.UsageError", "grpc._cython.cygrpc.BaseError"),
    ],
)
def test_the_nearer_row_is_asked_first(row, below):
    """
    The order of tests is that of the MRO.
    """
    names = [name for name, _ in DEFAULT.rules_for(class_named(row))]

    assert names.index(row) == 0
    assert below in names


def test_a_retry_error_is_its_cause(world):
    """
    At any depth, and never in a circle.
    """
    exc = caught(gave_up, world)
    outer = google.api_core.exceptions.RetryError(SECRET, exc)
    circle = google.api_core.exceptions.RetryError(SECRET, None)
    circle._cause = circle

    assert "(UNAVAILABLE)" in judged(outer).envelope.message
    assert facts(circle) == LATE
    assert facts(google.api_core.exceptions.RetryError(SECRET, SECRET)) == LATE


# ---- exceptions that are not whole


def half_built(cls):
    return cls.__new__(cls)


HARMLESS = {"__class__", "__dict__", "__cause__", "__context__", "__traceback__", "__suppress_context__"}


class Odd:
    """
    Says that it is whatever one asks for, and raises when it is used.
    """

    __class__ = property(lambda self: 1 / 0)
    __str__ = __index__ = __iter__ = __len__ = __bool__ = __eq__ = __call__ = lambda self, *_: 1 / 0
    __hash__ = object.__hash__

    def __getattr__(self, name):
        raise KeyError(name)


def hostile(cls):
    """
    An instance whose every attribute that a rule may read raises.
    """

    def refuse(self, name):
        if name in HARMLESS:
            return super(evil, self).__getattribute__(name)
        raise RuntimeError(f"no {name} for you")

    evil = type(cls)(f"Evil{cls.__name__}", (cls,), {"__getattribute__": refuse, "__str__": lambda self: 1 / 0})
    return half_built(evil)


def strange(cls):
    """
    An instance whose every attribute that a rule may read is of no kind that it can be.
    """

    def give(self, name):
        return super(odd, self).__getattribute__(name) if name in HARMLESS else Odd()

    odd = type(cls)(f"Odd{cls.__name__}", (cls,), {"__getattribute__": give})
    return half_built(odd)


def answers_oddly(cls):
    """
    An instance whose methods and fields are containers of the wrong things.
    """
    names = ("code", "details", "trailing_metadata", "done")
    methods = {name: lambda self: [Odd(), (1, 2, 3), ("x", Odd())] for name in names}
    fields = {
        "response": {"Error": [5], "ResponseMetadata": {"HTTPStatusCode": "x"}},
        "kwargs": {"report": 5, "reason": Odd()},
    }
    exc = half_built(type(cls)(f"Odd{cls.__name__}", (cls,), methods if "RpcError" in cls.__name__ else {}))
    exc.__dict__.update(
        fields, _details=[Odd(), {"@type": "x.RetryInfo", "retryDelay": Odd()}], _errors=[{"reason": Odd()}]
    )
    return exc


@pytest.mark.parametrize("make", [half_built, hostile, strange, answers_oddly])
@pytest.mark.parametrize("name", sorted(ROWS))
def test_no_rule_raises(name, make):
    """
    Whatever the state of an exception, its row has an opinion.
    """
    rule = ROWS[name]
    verdict = rule if isinstance(rule, Verdict) else rule(make(class_named(name)))

    assert isinstance(verdict, Verdict)
    assert type(verdict.message) is str


@pytest.mark.parametrize("cls", sorted(every_class(), key=qualified_name), ids=qualified_name)
def test_half_built_exceptions_are_judged(cls):
    """
    From every class that the packages export.
    """
    assert judged(half_built(cls)).envelope.message


def test_a_call_that_has_not_ended_is_not_waited_for(world):
    """
    grpc's methods would wait until it has.
    """
    call = world.channel().unary_stream("/mute/x")(b"")
    try:
        assert facts(call) == INTERNAL
    finally:
        call.cancel()


def test_an_integer_for_a_status(world):
    """
    One that is known by its number, and one that grpc does not know.
    """
    exc = google.api_core.exceptions.GoogleAPICallError(SECRET)
    exc.grpc_status_code = 14
    unknown = google.api_core.exceptions.from_grpc_status(99, SECRET)

    assert facts(exc) == OUTAGE
    assert facts(unknown) == INTERNAL
