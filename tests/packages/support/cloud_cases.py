"""
How to make grpc, google-api-core, google-auth and botocore really raise what their tables speak of.
"""

import asyncio
import datetime as dt
import io
import sys
import types
import warnings
from contextlib import ExitStack, closing, suppress


with warnings.catch_warnings():
    # As in the tests: grpcio-status is not installed.
    warnings.simplefilter("ignore", ImportWarning)
    import google.api_core.exceptions

import botocore.auth
import botocore.awsrequest
import botocore.compat
import botocore.configloader
import botocore.credentials
import botocore.discovery
import botocore.eventstream
import botocore.exceptions
import botocore.httpchecksum
import botocore.httpsession
import botocore.loaders
import botocore.model
import botocore.parsers
import botocore.response
import botocore.retries.bucket
import botocore.retryhandler
import botocore.session
import botocore.tokens
import botocore.utils
import botocore.waiter
import google.api_core._feature_gating_helpers
import google.api_core.grpc_helpers
import google.api_core.iam
import google.api_core.operations_v1
import google.api_core.resumable_transfer.common
import google.api_core.resumable_transfer.upload
import google.api_core.retry
import google.api_core.universe
import google.auth
import google.auth.aio.transport.aiohttp
import google.auth.aio.transport.sessions
import google.auth.credentials
import google.auth.exceptions
import google.auth.transport._mtls_helper
import google.auth.transport.requests
import google.oauth2.credentials
import google.oauth2.utils
import grpc
import grpc.aio
import grpc.experimental
import pytest
import requests
from botocore.config import Config
from botocore.stub import Stubber
from cloud_peers import (
    ACCOUNT,
    ARGUMENTS,
    ARN,
    BLOCKED,
    DENIED,
    INTERNAL,
    LATE,
    LOGIN,
    OUTAGE,
    PANICKED,
    QUOTA,
    SECRET,
    USED_UP,
    full,
    mute,
    peer,
    raising,
    refused,
    saying,
    self_signed,
)


LOADER = botocore.loaders.create_loader()


class World:
    """
    What cases need: peers, clients, an environment without anyone's credentials.
    """

    def __init__(self, monkeypatch, tmp_path, address, base, put):
        self.monkeypatch = monkeypatch
        self.tmp_path = tmp_path
        self.address = address
        self.base = base
        self.put = put
        self.stack = ExitStack()

    def port(self, context):
        return self.stack.enter_context(context)

    def channel(self, address=None, **options):
        made = grpc.insecure_channel(address or self.address, options=[*options.items()])
        return self.stack.enter_context(made)

    def call(self, path, request=b"", **options):
        return self.channel().unary_unary(path)(request, **options)

    def session(self, **config):
        made = botocore.session.Session()
        # Reading the models of the services takes longer than all else.
        made.register_component("data_loader", LOADER)
        for name, value in config.items():
            made.set_config_variable(name, value)
        return made

    def client(self, service, *, port=None, endpoint=None, region="eu-west-1", config=None, **options):
        keys = {"aws_access_key_id": "AKIANOTREALNOTREAL00", "aws_secret_access_key": SECRET}
        quick = Config(retries={"total_max_attempts": 1}, connect_timeout=5, read_timeout=5)
        made = self.session().create_client(
            service,
            region_name=region,
            endpoint_url=endpoint or (None if port is None else f"http://127.0.0.1:{port}"),
            config=quick if config is None else quick.merge(config),
            **{**keys, **options},
        )
        self.stack.callback(made.close)
        return made

    def stub(self, service):
        client = self.client(service)
        stubber = Stubber(client)
        stubber.activate()
        self.stack.callback(stubber.deactivate)
        return client, stubber

    def s3_get(self, **options):
        client = self.client("s3", **options)
        return client.get_object(Bucket=f"{SECRET}-bucket".lower(), Key=SECRET)

    def file(self, name, text):
        path = self.tmp_path / name
        path.write_text(text)
        return str(path)

    def google_session(self):
        made = requests.Session()
        self.stack.callback(made.close)
        return google.auth.transport.requests.Request(made)

    def refresh(self, uri):
        google.oauth2.credentials.Credentials(
            "token", refresh_token=SECRET, token_uri=uri, client_id="id", client_secret=SECRET
        ).refresh(self.google_session())


CASES = []


def raised(row, expected, name=""):
    """
    Tell of a function that it makes a package raise what a row speaks of.
    """

    def add(fail):
        CASES.append(pytest.param(row, expected, fail, id=f"{row.rpartition('.')[2]}-{name or fail.__name__}"))
        return fail

    return add


# grpc

STATUSES = {
    "CANCELLED": INTERNAL, "UNKNOWN": INTERNAL, "INVALID_ARGUMENT": ARGUMENTS, "DEADLINE_EXCEEDED": LATE,
    "NOT_FOUND": ARGUMENTS, "ALREADY_EXISTS": ARGUMENTS, "PERMISSION_DENIED": DENIED, "RESOURCE_EXHAUSTED": QUOTA,
    "FAILED_PRECONDITION": ARGUMENTS, "ABORTED": OUTAGE, "OUT_OF_RANGE": ARGUMENTS, "UNIMPLEMENTED": INTERNAL,
    "INTERNAL": INTERNAL, "UNAVAILABLE": OUTAGE, "DATA_LOSS": INTERNAL, "UNAUTHENTICATED": DENIED,
}  # fmt: skip


def aio(path, address=None, request=b"", **options):
    """
    A call over asyncio.
    """

    def fail(world):
        async def run():
            async with grpc.aio.insecure_channel(address or world.address) as channel:
                await channel.unary_unary(path)(request, **options)

        asyncio.run(run())

    return fail


def wrapped(path, request=b"", **options):
    """
    A call as Google's clients make it.
    """

    def fail(world):
        google.api_core.grpc_helpers.wrap_errors(world.channel().unary_unary(path))(request, **options)

    return fail


for status, expected in STATUSES.items():
    raised("grpc.RpcError", expected, status)(lambda w, status=status: w.call(f"/status/{status}"))
    raised("grpc.RpcError", expected, f"{status}-aio")(aio(f"/status/{status}"))
    raised("google.api_core.exceptions.GoogleAPICallError", expected, status)(wrapped(f"/status/{status}"))


@raised("grpc.RpcError", QUOTA)
def in_the_middle_of_a_stream(w):
    list(w.channel().unary_stream("/stream/RESOURCE_EXHAUSTED")(b""))


@raised("grpc.RpcError", OUTAGE)
def in_a_stream_of_one_thread(w):
    options = {grpc.experimental.ChannelOptions.SingleThreadedUnaryStream: 1}
    list(w.channel(**options).unary_stream("/stream/ABORTED")(b""))


@raised("grpc.RpcError", OUTAGE)
def in_a_stream_over_asyncio(w):
    async def run():
        async with grpc.aio.insecure_channel(w.address) as channel:
            async for _ in channel.unary_stream("/stream/ABORTED")(b""):
                pass

    asyncio.run(run())


@raised("grpc.RpcError", LATE)
def deadline(w):
    w.call("/mute/x", timeout=0.05)


raised("grpc.RpcError", LATE, "deadline-aio")(aio("/mute/x", timeout=0.05))
raised("google.api_core.exceptions.GoogleAPICallError", LATE, "deadline")(wrapped("/mute/x", timeout=0.05))


@raised("grpc.RpcError", OUTAGE)
def server_gone(w):
    w.channel(f"127.0.0.1:{w.port(refused())}").unary_unary("/status/OK")(b"", timeout=5)


@raised("grpc.RpcError", OUTAGE)
def server_gone_over_asyncio(w):
    aio("/status/OK", address=f"127.0.0.1:{w.port(refused())}", timeout=5)(w)


@raised("grpc.RpcError", ARGUMENTS)
def answer_too_large(w):
    w.channel(**{"grpc.max_receive_message_length": 100}).unary_unary("/large/x")(b"")


@raised("grpc.RpcError", ARGUMENTS)
def request_too_large(w):
    w.channel(**{"grpc.max_send_message_length": 100}).unary_unary("/large/x")(b"x" * 200)


@raised("grpc.RpcError", USED_UP)
def daily_quota(w):
    w.call("/daily/x")


@raised("grpc.RpcError", INTERNAL)
def handler_crashed(w):
    w.call("/crash/x")


@raised("grpc.RpcError", INTERNAL)
def no_such_method(w):
    w.call("/nothing/x")


@raised("grpc.RpcError", INTERNAL)
def interceptor_crashed(w):
    class Interceptor(grpc.UnaryUnaryClientInterceptor):
        def intercept_unary_unary(self, continuation, details, request):
            return continuation(details, request)

    channel = grpc.intercept_channel(w.channel(), Interceptor())
    channel.unary_unary("/status/DATA_LOSS")(b"")


@raised("grpc.FutureTimeoutError", LATE)
def channel_not_ready(w):
    ready = grpc.channel_ready_future(w.channel(f"127.0.0.1:{w.port(refused())}"))
    w.stack.callback(ready.cancel)
    ready.result(timeout=0.05)


@raised("grpc.FutureCancelledError", INTERNAL)
def call_cancelled(w):
    call = w.channel().unary_unary("/mute/x").future(b"")
    call.cancel()
    call.result()


@raised("grpc.experimental.UsageError", PANICKED)
def code_before_the_end(w):
    options = {grpc.experimental.ChannelOptions.SingleThreadedUnaryStream: 1}
    call = w.channel(**options).unary_stream("/mute/x")(b"")
    w.stack.callback(call.cancel)
    call.code()


@raised("grpc._cython.cygrpc.UsageError", PANICKED)
def two_styles_mixed(w):
    async def run():
        async with grpc.aio.insecure_channel(w.address) as channel:
            call = channel.stream_unary("/mute/x")(iter([b""]))
            try:
                await call.write(b"")
            finally:
                call.cancel()

    asyncio.run(run())


@raised("grpc._cython.cygrpc.BaseError", INTERNAL)
def aborted_in_a_server(w):
    seen = []

    class Handler(grpc.GenericRpcHandler):
        def service(self, details):
            async def answer(request, context):
                try:
                    await context.abort(grpc.StatusCode.ABORTED, SECRET)
                except grpc.aio.BaseError as exc:
                    seen.append(exc)
                    raise

            return grpc.unary_unary_rpc_method_handler(answer)

    async def run():
        server = grpc.aio.server()
        server.add_generic_rpc_handlers((Handler(),))
        port = server.add_insecure_port("127.0.0.1:0")
        await server.start()
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            with suppress(grpc.RpcError):
                await channel.unary_unary("/x/x")(b"")
        await server.stop(None)

    asyncio.run(run())
    raise seen[0]


# google-api-core

HTTP = {
    400: ARGUMENTS, 401: DENIED, 403: DENIED, 404: ARGUMENTS, 405: INTERNAL, 409: ARGUMENTS, 411: INTERNAL,
    412: ARGUMENTS, 416: ARGUMENTS, 418: ARGUMENTS, 429: QUOTA, 499: INTERNAL, 500: OUTAGE, 501: INTERNAL,
    502: OUTAGE, 503: OUTAGE, 504: LATE,
}  # fmt: skip

CALL = "google.api_core.exceptions.GoogleAPICallError"


def answered(status, error=None, **headers):
    """
    An HTTP answer as Google's REST clients read it.
    """

    def fail(world):
        body = {"error": {"message": f"{SECRET} of {ARN}", **(error or {})}}
        url = world.put(f"/google/{status}", status, body, **headers)
        with requests.get(url, params={"key": SECRET}, timeout=5) as response:
            raising(google.api_core.exceptions.from_http_response(response))

    return fail


for status, expected in HTTP.items():
    raised(CALL, expected, f"http-{status}")(answered(status))

raised(CALL, QUOTA, "http-403-rate")(answered(403, {"errors": [{"reason": "rateLimitExceeded"}]}))
raised(CALL, USED_UP, "http-403-quota")(answered(403, {"errors": [{"reason": "quotaExceeded"}]}))
raised(CALL, QUOTA, "http-403-wait")(answered(403, Retry_After="7"))
raised(CALL, USED_UP, "http-429-daily")(answered(429, {"message": "Daily limit reached"}))


@raised(CALL, OUTAGE)
def by_status_alone(w):
    raising(google.api_core.exceptions.from_http_status(502, SECRET))


@raised(CALL, INTERNAL)
def without_a_status(w):
    raising(google.api_core.exceptions.from_grpc_error(grpc.RpcError(SECRET)))


@raised("google.api_core.exceptions.RetryError", OUTAGE)
def gave_up(w):
    call = google.api_core.grpc_helpers.wrap_errors(w.channel().unary_unary("/status/UNAVAILABLE"))
    # The first wait would end after the deadline, so nothing waits.
    google.api_core.retry.Retry(initial=60, multiplier=1, timeout=0.001)(call)(b"")


@raised("google.api_core.exceptions.RetryError", LATE)
def gave_up_over_nothing(w):
    kind = google.api_core.retry.RetryFailureReason.TIMEOUT
    raising(google.api_core.retry.build_retry_error([], kind, 1.0)[0])


@raised("google.api_core.exceptions.GoogleAPIError", INTERNAL)
def nothing_told(w):
    strange = type("Strange", (google.api_core.exceptions.GoogleAPIError,), {"__module__": "vendor.client"})
    raising(strange(SECRET))


@raised("google.api_core.exceptions.DuplicateCredentialArgs", PANICKED)
def credentials_twice(w):
    anonymous = google.auth.credentials.AnonymousCredentials()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        google.api_core.grpc_helpers.create_channel("x", credentials=anonymous, credentials_file=SECRET)


@raised("google.api_core.exceptions.AsyncRestUnsupportedParameterError", PANICKED)
def unsupported_parameter(w):
    google.api_core.operations_v1.AsyncOperationsRestTransport(
        credentials=google.auth.aio.credentials.AnonymousCredentials(), quota_project_id=SECRET
    )


def upload_state():
    return google.api_core.resumable_transfer.upload_state._ProtocolState()


@raised("google.api_core.exceptions.ResumableTransferError", OUTAGE)
def no_status_header(w):
    upload_state().process_start_response(200, {})


@raised("google.api_core.exceptions.UploadCancelledError", INTERNAL)
def upload_cancelled(w):
    upload_state().process_chunk_response(200, {"X-Goog-Upload-Status": "cancelled"}, 1)


@raised("google.api_core.exceptions.UnseekableStreamError", PANICKED)
def unseekable(w):
    session = google.api_core.resumable_transfer.upload.ResumableUploadSession.__new__(
        google.api_core.resumable_transfer.upload.ResumableUploadSession
    )
    session._buffered_chunk = None
    session._protocol = session._state = types.SimpleNamespace(upload_url=SECRET, chunk_size=1)
    session._chunk_size = 1
    session._reposition_stream_offset(types.SimpleNamespace(seekable=lambda: False), 5)


@raised("google.api_core._feature_gating_helpers.FeatureGatingError", INTERNAL)
def feature_not_enabled(w):
    google.api_core._feature_gating_helpers.resolve_feature_flags(
        env_var="GOOGLE_EXPERIMENTAL_NOTREAL", feature_key="x", configuration={"x": True}
    )


@raised("google.api_core.universe.EmptyUniverseError", INTERNAL)
def empty_universe(w):
    google.api_core.universe.determine_domain("", None)


@raised("google.api_core.universe.UniverseMismatchError", INTERNAL)
def other_universe(w):
    google.api_core.universe.compare_domains(SECRET, google.auth.credentials.AnonymousCredentials())


@raised("google.api_core.iam.InvalidOperationException", PANICKED)
def policy_as_a_dict(w):
    google.api_core.iam.Policy(version=3)["roles/owner"] = [SECRET]


# google-auth


@raised("google.auth.exceptions.DefaultCredentialsError", LOGIN)
def nobody_logged_in(w):
    google.auth.default()


@raised("google.auth.exceptions.DefaultCredentialsError", LOGIN)
def no_such_file(w):
    w.monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(w.tmp_path / SECRET))
    google.auth.default()


@raised("google.auth.exceptions.DefaultCredentialsError", LOGIN)
def malformed_file(w):
    text = '{"type": "service_account", "client_email": "NOTREAL@x", "token_uri": "x", "private_key": "no key"}'
    w.monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", w.file("key.json", text))
    google.auth.default()


@raised("google.auth.exceptions.DefaultCredentialsError", LOGIN)
def value_that_is_none(w):
    google.auth._helpers.to_bytes(5)


@raised("google.auth.exceptions.RefreshError", LOGIN)
def token_revoked(w):
    body = {"error": "invalid_grant", "error_description": f"{SECRET} was revoked"}
    w.refresh(w.put("/token/revoked", 400, body))


@raised("google.auth.exceptions.RefreshError", OUTAGE)
def token_endpoint_down(w):
    w.monkeypatch.setattr("google.auth._exponential_backoff.time.sleep", lambda seconds: None)
    w.refresh(w.put("/token/down", 503, {"error": "internal_failure", "error_description": SECRET}))


@raised("google.auth.exceptions.RefreshError", LOGIN)
def nothing_to_refresh_with(w):
    google.oauth2.credentials.Credentials(SECRET).refresh(w.google_session())


@raised("google.auth.exceptions.TransportError", OUTAGE)
def token_endpoint_refused(w):
    w.refresh(f"http://127.0.0.1:{w.port(refused())}/{SECRET}")


@raised("google.auth.exceptions.TransportError", INTERNAL)
def token_endpoint_untrusted(w):
    w.refresh(f"https://127.0.0.1:{w.port(peer(self_signed))}/{SECRET}")


@raised("google.auth.exceptions.GoogleAuthError", LOGIN)
def oauth_refused(w):
    google.oauth2.utils.handle_error_response(f'{{"error": "invalid_client", "error_description": "{SECRET}"}}')


@raised("google.auth.exceptions.ClientCertError", LOGIN)
def no_certificate_command(w):
    google.auth.transport._mtls_helper._run_cert_provider_command([str(w.tmp_path / "none")])


@raised("google.auth.exceptions.MutualTLSChannelError", LOGIN)
def no_certificate(w):
    def give():
        raise google.auth.exceptions.ClientCertError(SECRET)

    w.monkeypatch.setenv("GOOGLE_API_USE_CLIENT_CERTIFICATE", "true")
    session = google.auth.transport.requests.AuthorizedSession(google.auth.credentials.AnonymousCredentials())
    w.stack.callback(session.close)
    session.configure_mtls_channel(give)


@raised("google.auth.exceptions.TimeoutError", LATE)
def token_in_no_time(w):
    async def run():
        async with google.auth.aio.transport.sessions.timeout_guard(0.01) as within:
            await within(asyncio.Event().wait())

    asyncio.run(run())


@raised("google.auth.exceptions.ResponseError", OUTAGE)
def token_cut_short(w):
    port = w.port(peer(saying(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nx")))

    async def run():
        request = google.auth.aio.transport.aiohttp.Request()
        try:
            response = await request(f"http://127.0.0.1:{port}/{SECRET}")
            try:
                async for _ in response.content():
                    pass
            finally:
                await response.close()
        finally:
            await request.close()

    asyncio.run(run())


# botocore

CLIENT = "botocore.exceptions.ClientError"

#: Service, operation, code, status, what it means.
ERRORS = [
    ("dynamodb", "list_tables", "ThrottlingException", 400, QUOTA),
    ("dynamodb", "list_tables", "ProvisionedThroughputExceededException", 400, QUOTA),
    ("s3", "list_buckets", "SlowDown", 503, QUOTA),
    ("ec2", "describe_instances", "RequestLimitExceeded", 503, QUOTA),
    ("lambda", "list_functions", "TooManyRequestsException", 429, QUOTA),
    ("kinesis", "list_streams", "LimitExceededException", 400, QUOTA),
    ("s3", "list_buckets", "Throttling", 400, QUOTA),
    ("s3", "list_buckets", "EC2ThrottledException", 503, QUOTA),
    ("s3", "list_buckets", "BandwidthLimitExceeded", 503, QUOTA),
    ("iam", "list_users", "LimitExceeded", 409, USED_UP),
    ("sagemaker", "list_models", "ResourceLimitExceeded", 400, USED_UP),
    ("bedrock-runtime", "list_async_invokes", "ServiceQuotaExceededException", 402, USED_UP),
    ("rds", "describe_db_instances", "StorageQuotaExceeded", 400, USED_UP),
    ("comprehend", "list_endpoints", "TextSizeLimitExceededException", 400, ARGUMENTS),
    ("neptunedata", "get_engine_status", "MemoryLimitExceededException", 500, OUTAGE),
    ("s3", "list_buckets", "AccessDenied", 403, DENIED),
    ("dynamodb", "list_tables", "AccessDeniedException", 400, DENIED),
    ("ec2", "describe_instances", "UnauthorizedOperation", 403, DENIED),
    ("dynamodb", "list_tables", "NotAuthorizedException", 400, DENIED),
    ("s3", "list_buckets", "ExpiredToken", 400, LOGIN),
    ("dynamodb", "list_tables", "ExpiredTokenException", 400, LOGIN),
    ("sts", "get_caller_identity", "InvalidClientTokenId", 403, LOGIN),
    ("s3", "list_buckets", "SignatureDoesNotMatch", 403, LOGIN),
    ("s3", "list_buckets", "InvalidAccessKeyId", 403, LOGIN),
    ("dynamodb", "list_tables", "UnrecognizedClientException", 400, LOGIN),
    ("s3", "list_buckets", "RequestTimeTooSkewed", 403, LOGIN),
    ("dynamodb", "list_tables", "ValidationException", 400, ARGUMENTS),
    ("s3", "list_buckets", "NoSuchKey", 404, ARGUMENTS),
    ("dynamodb", "list_tables", "ResourceNotFoundException", 400, ARGUMENTS),
    ("dynamodb", "list_tables", "ConditionalCheckFailedException", 400, ARGUMENTS),
    ("sqs", "list_queues", "AWS.SimpleQueueService.NonExistentQueue", 400, ARGUMENTS),
    ("ec2", "describe_instances", "InvalidInstanceID.NotFound", 400, ARGUMENTS),
    ("s3", "list_buckets", "EntityTooLarge", 400, ARGUMENTS),
    ("s3", "list_buckets", "BucketAlreadyExists", 409, ARGUMENTS),
    ("s3", "list_buckets", "RequestTimeout", 400, LATE),
    ("dynamodb", "list_tables", "TransactionInProgressException", 400, OUTAGE),
    ("dynamodb", "list_tables", "InternalServerError", 500, OUTAGE),
    ("s3", "list_buckets", "ServiceUnavailable", 503, OUTAGE),
    ("s3", "list_buckets", "NotImplemented", 501, INTERNAL),
    ("s3", "list_buckets", "PermanentRedirect", 301, INTERNAL),
    ("s3", "list_buckets", "SomethingNew", 400, ARGUMENTS),
    ("s3", "list_buckets", "SomethingNew", 503, OUTAGE),
    ("s3", "list_buckets", "", 403, DENIED),
    ("s3", "list_buckets", "", 429, QUOTA),
    ("s3", "list_buckets", f"of {SECRET}", 404, ARGUMENTS),
]


def stubbed(service, operation, code, status):
    def fail(world):
        client, stubber = world.stub(service)
        stubber.add_client_error(operation, code, f"{SECRET} of {ARN}", status)
        getattr(client, operation)()

    return fail


for service, operation, code, status, expected in ERRORS:
    raised(CLIENT, expected, f"{code or 'none'}-{status}")(stubbed(service, operation, code, status))


@raised(CLIENT, ARGUMENTS)
def over_http(w):
    body = f"<Error><Code>NoSuchKey</Code><Message>{SECRET}</Message><Resource>/{ARN}</Resource></Error>"
    w.put("/bucket/gone", 404, body.encode(), Content_Type="application/xml")
    w.client("s3", endpoint=w.base).get_object(Bucket="bucket", Key="gone")


@raised(CLIENT, ARGUMENTS)
def over_http_without_a_body(w):
    w.put("/bucket/gone", 404)
    w.client("s3", endpoint=w.base).head_object(Bucket="bucket", Key="gone")


@raised(CLIENT, DENIED)
def over_http_without_a_body_403(w):
    w.put("/bucket/secret", 403)
    w.client("s3", endpoint=w.base).head_object(Bucket="bucket", Key="secret")


@raised("botocore.exceptions.EndpointConnectionError", OUTAGE)
def endpoint_refused(w):
    w.s3_get(port=w.port(refused()))


@raised("botocore.exceptions.ConnectTimeoutError", OUTAGE)
def never_connected(w):
    w.s3_get(port=w.port(full()), config=Config(connect_timeout=0.05))


@raised("botocore.exceptions.ReadTimeoutError", LATE)
def mute_endpoint(w):
    w.s3_get(port=w.port(mute()), config=Config(read_timeout=0.05))


@raised("botocore.exceptions.ConnectionClosedError", OUTAGE)
def closed_without_an_answer(w):
    w.s3_get(port=w.port(peer(saying(b""))))


@raised("botocore.exceptions.SSLError", INTERNAL)
def untrusted_certificate(w):
    w.s3_get(endpoint=f"https://127.0.0.1:{w.port(peer(self_signed))}")


@raised("botocore.exceptions.ProxyConnectionError", OUTAGE)
def proxy_refused(w):
    proxy = f"http://user:{SECRET}@127.0.0.1:{w.port(refused())}"
    w.s3_get(endpoint="https://bucket.invalid", config=Config(proxies={"https": proxy}))


@raised("botocore.exceptions.ProxyConnectionError", BLOCKED)
def proxy_denies(w):
    proxy = f"http://127.0.0.1:{w.port(peer(saying(b'HTTP/1.1 403 Forbidden' + bytes([13, 10]) * 2)))}"
    w.s3_get(endpoint="https://bucket.invalid", config=Config(proxies={"https": proxy}))


@raised("botocore.exceptions.HTTPClientError", OUTAGE)
def nonsense_of_a_length(w):
    port = w.port(peer(saying(b"HTTP/1.1 200 OK\r\nContent-Length: 5, 6\r\n\r\nx")))
    w.s3_get(port=port)


@raised("botocore.exceptions.IncompleteReadError", OUTAGE)
def body_cut_short(w):
    botocore.response.StreamingBody(io.BytesIO(SECRET.encode()), 99).read()


@raised("botocore.exceptions.ResponseStreamingError", OUTAGE)
def chunk_cut_short(w):
    port = w.port(peer(saying(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nx")))
    with closing(w.s3_get(port=port)["Body"]) as body:
        body.read()


@raised("botocore.exceptions.ParamValidationError", ARGUMENTS)
def parameters_missing(w):
    w.client("iam").create_access_key(UserName=5, Nonsense=SECRET)


@raised("botocore.exceptions.ParamValidationError", ARGUMENTS)
def bucket_that_is_none(w):
    w.client("s3").get_object(Bucket=f"{SECRET} {ARN}", Key="x")


@raised("botocore.exceptions.ValidationError", ARGUMENTS)
def region_that_is_none(w):
    w.client("s3", region=f"{SECRET} x")


@raised("botocore.exceptions.WaiterError", LATE)
def waited_too_long(w):
    client, stubber = w.stub("s3")
    stubber.add_client_error("head_bucket", "404", SECRET, 404)
    client.get_waiter("bucket_exists").wait(Bucket="x", WaiterConfig={"Delay": 0, "MaxAttempts": 1})


@raised("botocore.exceptions.WaiterError", DENIED)
def waited_and_was_refused(w):
    client, stubber = w.stub("dynamodb")
    stubber.add_client_error("describe_table", "AccessDeniedException", SECRET, 400)
    client.get_waiter("table_exists").wait(TableName="name")


@raised("botocore.exceptions.WaiterError", INTERNAL)
def waited_in_vain(w):
    client, stubber = w.stub("ec2")
    answer = {"Reservations": [{"Instances": [{"InstanceId": SECRET, "State": {"Code": 48, "Name": "terminated"}}]}]}
    stubber.add_response("describe_instances", answer)
    client.get_waiter("instance_running").wait()


@raised("botocore.exceptions.NoCredentialsError", LOGIN)
def no_keys(w):
    w.client("s3", aws_access_key_id=None, aws_secret_access_key=None).list_buckets()


@raised("botocore.exceptions.PartialCredentialsError", LOGIN)
def half_a_key(w):
    w.client("s3", aws_secret_access_key=None)


@raised("botocore.exceptions.NoAuthTokenError", LOGIN)
def no_token(w):
    botocore.auth.BearerAuth(None).add_auth(botocore.awsrequest.AWSRequest("GET", w.base))


@raised("botocore.exceptions.CredentialRetrievalError", LOGIN)
def process_without_keys(w):
    command = f"{sys.executable} -c raise(SystemExit(3))"
    config = w.file("config", f"[default]\ncredential_process = {command}\n")
    w.monkeypatch.setenv("AWS_CONFIG_FILE", config)
    w.session().get_credentials()


@raised("botocore.exceptions.RefreshWithMFAUnsupportedError", LOGIN)
def second_refresh(w):
    refresh = botocore.credentials.create_mfa_serial_refresher(lambda: None)
    refresh()
    refresh()


@raised("botocore.exceptions.SSOError", LOGIN)
def no_token_of_sso(w):
    botocore.utils.SSOTokenLoader(cache={})(f"https://{SECRET}.awsapps.com/start")


@raised("botocore.exceptions.TokenRetrievalError", LOGIN)
def token_has_expired(w):
    past = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)
    frozen = botocore.tokens.FrozenAuthToken(SECRET, expiration=past)
    botocore.tokens.DeferredRefreshableToken("x", lambda: frozen).get_frozen_token()


@raised("botocore.exceptions.MetadataRetrievalError", LOGIN)
def no_metadata(w):
    w.put("/metadata", 500, SECRET.encode())
    fetcher = botocore.utils.ContainerMetadataFetcher(sleep=lambda seconds: None)
    fetcher.retrieve_full_uri(f"{w.base}/metadata")


@raised("botocore.exceptions.BaseEndpointResolverError", INTERNAL)
def no_region(w):
    w.client("sqs", region=None).list_queues()


@raised("botocore.exceptions.EndpointProviderError", INTERNAL)
def no_endpoint(w):
    # The endpoint depends on it, so it is looked at before the parameters are.
    w.client("dynamodb").put_item(TableName=5)


@raised("botocore.exceptions.ConfigNotFound", INTERNAL)
def no_configuration(w):
    botocore.configloader.load_config(str(w.tmp_path / SECRET))


@raised("botocore.exceptions.ConfigParseError", INTERNAL)
def unreadable_configuration(w):
    botocore.configloader.load_config(w.file(SECRET, "no section"))


@raised("botocore.exceptions.InvalidChecksumConfigError", INTERNAL)
def wrong_checksum_option(w):
    w.client("s3", config=Config(request_checksum_calculation="nonsense"))


@raised("botocore.exceptions.InvalidConfigError", INTERNAL)
def wrong_option(w):
    text = "[profile a]\nrole_arn = x\nsource_profile = a\nrole_session_name = x\n[profile b]\nrole_arn = x\n"
    w.monkeypatch.setenv("AWS_CONFIG_FILE", w.file("config", text.replace("source_profile = a", "source_profile = z")))
    w.session(profile="a").get_credentials()


@raised("botocore.exceptions.InvalidDefaultsMode", INTERNAL)
def wrong_mode(w):
    w.client("s3", config=Config(defaults_mode="nonsense"))


@raised("botocore.exceptions.InvalidEndpointConfigurationError", INTERNAL)
def token_over_http(w):
    token = botocore.tokens.FrozenAuthToken(SECRET)
    botocore.auth.BearerAuth(token).add_auth(botocore.awsrequest.AWSRequest("GET", "http://127.0.0.1"))


@raised("botocore.exceptions.InvalidIMDSEndpointError", INTERNAL)
def wrong_metadata_endpoint(w):
    botocore.utils.IMDSFetcher(config={"ec2_metadata_service_endpoint": f"{SECRET} x"})


@raised("botocore.exceptions.InvalidIMDSEndpointModeError", INTERNAL)
def wrong_metadata_mode(w):
    botocore.utils.resolve_imds_endpoint_mode(w.session(ec2_metadata_service_endpoint_mode=SECRET))


@raised("botocore.exceptions.InvalidProxiesConfigError", INTERNAL)
def wrong_proxy(w):
    settings = {"proxy_ca_bundle": str(w.tmp_path / "none")}
    session = botocore.httpsession.URLLib3Session(proxies_config=settings)
    session._setup_proxy_ssl_context("https://127.0.0.1:1")


@raised("botocore.exceptions.InvalidRetryConfigurationError", INTERNAL)
def wrong_retries(w):
    Config(retries={"nonsense": 1})


@raised("botocore.exceptions.InvalidS3AddressingStyleError", INTERNAL)
def wrong_addressing(w):
    Config(s3={"addressing_style": SECRET})


@raised("botocore.exceptions.InvalidS3UsEast1RegionalEndpointConfigError", INTERNAL)
def wrong_regional_endpoint(w):
    w.client("s3", config=Config(s3={"us_east_1_regional_endpoint": SECRET}))


@raised("botocore.exceptions.InvalidSTSRegionalEndpointsConfigError", INTERNAL)
def wrong_sts_endpoint(w):
    w.monkeypatch.setenv("AWS_STS_REGIONAL_ENDPOINTS", SECRET)
    w.client("sts")


@raised("botocore.exceptions.MD5UnavailableError", INTERNAL)
def no_md5(w):
    w.monkeypatch.setattr(botocore.compat, "MD5_AVAILABLE", False)
    botocore.compat.get_md5()


@raised("botocore.exceptions.ProfileNotFound", INTERNAL)
def no_profile(w):
    w.session(profile=SECRET).get_scoped_config()


@raised("botocore.exceptions.UnknownCredentialError", INTERNAL)
def no_provider(w):
    botocore.credentials.CredentialResolver([]).insert_before("nobody", None)


@raised("botocore.exceptions.UnknownTokenProviderError", INTERNAL)
def no_token_provider(w):
    botocore.tokens.TokenProviderChain([]).get_provider("nobody")


@raised("botocore.exceptions.UnknownRegionError", INTERNAL)
def no_partition(w):
    w.session().get_partition_for_region(SECRET)


@raised("botocore.exceptions.UnsupportedS3ConfigurationError", INTERNAL)
def accelerated_lambda(w):
    setter = botocore.utils.S3EndpointSetter(None, "eu-west-1", {"use_accelerate_endpoint": True})
    setter.update_endpoint_to_s3_object_lambda({}, {})


@raised("botocore.exceptions.UnsupportedS3AccesspointConfigurationError", INTERNAL)
def fips_access_point(w):
    setter = botocore.utils.S3EndpointSetter(None, "eu-west-1", {}, use_fips_endpoint=True)
    setter._validate_fips_supported(
        types.SimpleNamespace(context={"s3_accesspoint": {"region": "fips-eu", "arn": ARN}})
    )


@raised("botocore.exceptions.UnsupportedS3ControlConfigurationError", INTERNAL)
def other_region_in_an_arn(w):
    setter = botocore.utils.S3ControlEndpointSetter(None, "eu-west-1", {})
    details = {"region": "us-east-1", "partition": "aws", "original": ARN}
    setter._validate_endpoint_from_arn_details_supported(types.SimpleNamespace(context={"arn_details": details}))


@raised("botocore.exceptions.UnsupportedS3ControlArnError", ARGUMENTS)
def fips_in_an_arn(w):
    setter = botocore.utils.S3ControlEndpointSetter(None, "eu-west-1", {})
    details = {"region": "fips-eu", "partition": "aws", "original": ARN}
    setter._validate_endpoint_from_arn_details_supported(types.SimpleNamespace(context={"arn_details": details}))


@raised("botocore.exceptions.UnsupportedS3ArnError", ARGUMENTS)
def arn_of_no_access_point(w):
    botocore.utils.S3ArnParamHandler()._add_resource_type_and_name(ARN, {"resource": f"nonsense/{SECRET}"})


@raised("botocore.exceptions.UnsupportedOutpostResourceError", ARGUMENTS)
def arn_of_no_outpost(w):
    botocore.utils.S3ArnParamHandler()._store_outpost({}, {}, {"resource_name": SECRET})


@raised("botocore.exceptions.InvalidHostLabelError", ARGUMENTS)
def label_that_is_none(w):
    botocore.utils.S3ControlEndpointSetter(None, "eu-west-1", {})._validate_host_labels(f"{SECRET} x")


@raised("botocore.exceptions.InvalidDNSNameError", ARGUMENTS)
def name_that_is_none(w):
    request = types.SimpleNamespace(
        url=f"https://s3.amazonaws.com/{SECRET}_X/k", auth_path=None, headers={}, method="GET"
    )
    botocore.utils.switch_to_virtual_host_style(request, "s3v4", "eu-west-1")


@raised("botocore.utils.InvalidArnException", ARGUMENTS)
def arn_that_is_none(w):
    botocore.utils.ArnParser().parse_arn(SECRET)


@raised("botocore.exceptions.DataNotFoundError", PANICKED)
def no_such_service(w):
    w.client(SECRET)


@raised("botocore.exceptions.AwsChunkedWrapperError", PANICKED)
def seeks_in_chunks(w):
    botocore.httpchecksum.AwsChunkedWrapper(io.BytesIO()).seek(5)


@raised("botocore.exceptions.InvalidExpressionError", PANICKED)
def expression_that_is_none(w):
    botocore.utils.set_value_from_jmespath({}, "a[0]", 1)


@raised("botocore.exceptions.OperationNotPageableError", PANICKED)
def no_pages(w):
    w.client("s3").get_paginator("put_object")


@raised("botocore.exceptions.UndefinedModelAttributeError", PANICKED)
def model_without_an_id(w):
    botocore.model.ServiceModel({"metadata": {}}, "x").service_id  # noqa: B018 -- the property raises


@raised("botocore.exceptions.UnsupportedServiceProtocolsError", PANICKED)
def no_such_protocol(w):
    botocore.model.ServiceModel({"metadata": {"protocols": ["x"]}}, "x").resolved_protocol  # noqa: B018 -- as above


@raised("botocore.exceptions.UnknownClientMethodError", PANICKED)
def no_such_method_to_sign(w):
    w.client("s3").generate_presigned_url("nonsense")


@raised("botocore.exceptions.UnknownSignatureVersionError", PANICKED)
def no_such_signature(w):
    w.client("s3")._request_signer.get_auth_instance("s3", "eu-west-1", "nonsense")


@raised("botocore.exceptions.UnsupportedSignatureVersionError", PANICKED)
def signature_for_no_url(w):
    w.client("s3", config=Config(signature_version="nonsense")).generate_presigned_url("list_buckets")


@raised("botocore.exceptions.UnseekableStreamError", PANICKED)
def body_read_twice(w):
    request = botocore.awsrequest.AWSPreparedRequest("PUT", w.base, {}, types.SimpleNamespace(), False)
    request.reset_stream()


@raised("botocore.exceptions.WaiterConfigError", PANICKED)
def no_such_version(w):
    botocore.waiter.WaiterModel({"version": 1, "waiters": {}})


@raised("botocore.exceptions.CapacityNotAvailableError", QUOTA)
def client_holds_back(w):
    clock = types.SimpleNamespace(current_time=lambda: 0)
    botocore.retries.bucket.TokenBucket(1, clock).acquire(100, block=False)


@raised("botocore.exceptions.ChecksumError", OUTAGE)
def damaged(w):
    answer = types.SimpleNamespace(headers={"x-amz-crc32": "1"}, content=SECRET.encode(), status_code=200)
    botocore.retryhandler.CRC32Checker("x-amz-crc32")(1, (answer, {}), None)


@raised("botocore.exceptions.FlexibleChecksumError", INTERNAL)
def another_checksum(w):
    body = botocore.httpchecksum.StreamingChecksumBody(
        io.BytesIO(b"x"), 1, botocore.httpchecksum.Crc32Checksum(), "AAAA"
    )
    body.read()


@raised("botocore.exceptions.PaginationError", INTERNAL)
def same_page_twice(w):
    client, stubber = w.stub("iam")
    for _ in range(2):
        stubber.add_response("list_users", {"Users": [], "IsTruncated": True, "Marker": SECRET})
    list(client.get_paginator("list_users").paginate())


@raised("botocore.exceptions.StubResponseError", PANICKED)
def nothing_stubbed(w):
    w.stub("s3")[0].list_buckets()


@raised("botocore.exceptions.StubResponseError", PANICKED)
def other_parameters_stubbed(w):
    client, stubber = w.stub("s3")
    stubber.add_response("get_bucket_acl", {}, {"Bucket": "other"})
    client.get_bucket_acl(Bucket=SECRET)


@raised("botocore.discovery.EndpointDiscoveryRequired", INTERNAL)
def discovery_off(w):
    model = types.SimpleNamespace(endpoint_discovery={"required": True})
    botocore.discovery.block_endpoint_discovery_required_operations(model)


@raised("botocore.discovery.EndpointDiscoveryRefreshFailed", OUTAGE)
def discovery_failed(w):
    client = w.client("timestream-query", port=w.port(refused()))
    botocore.discovery.EndpointDiscoveryManager(client).describe_endpoint(Operation="Query")


@raised("botocore.eventstream.ParserError", OUTAGE)
def damaged_event(w):
    buffer = botocore.eventstream.EventStreamBuffer()
    buffer.add_data(bytes(64))
    list(buffer)


@raised("botocore.model.InvalidShapeError", PANICKED)
def shape_without_a_kind(w):
    botocore.model.ShapeResolver({"x": {}}).get_shape_by_name("x")


@raised("botocore.model.InvalidShapeReferenceError", PANICKED)
def reference_to_nothing(w):
    botocore.model.ShapeResolver({}).resolve_shape_ref({"a": 1, "b": 2})


@raised("botocore.model.NoShapeFoundError", PANICKED)
def no_such_shape(w):
    botocore.model.ShapeResolver({}).get_shape_by_name("Nothing")


@raised("botocore.model.OperationNotFoundError", PANICKED)
def no_such_operation(w):
    w.client("s3").meta.service_model.operation_model("Nothing")


@raised("botocore.parsers.ResponseParserError", OUTAGE)
def nonsense(w):
    w.put("/", 200, b"<html>NOTREAL", Content_Type="text/html")
    w.client("iam", endpoint=w.base).list_users()


@raised("botocore.exceptions.InvalidEndpointDiscoveryConfigurationError", INTERNAL)
def wrong_discovery(w):
    w.client("timestream-query", config=Config(endpoint_discovery_enabled=SECRET))


@raised("botocore.exceptions.MissingDependencyException", INTERNAL)
def no_crt(w):
    w.client("s3").get_object(Bucket=f"arn:aws:s3::{ACCOUNT}:accesspoint/{SECRET.lower()}.mrap", Key="x")


@raised("botocore.exceptions.LoginError", LOGIN)
def no_login_session(w):
    loader = types.SimpleNamespace(load_token=lambda name: None)
    botocore.credentials.LoginCredentialFetcher(SECRET, loader, None).load_cached_credentials()


@raised("botocore.exceptions.BotoCoreError", INTERNAL)
def nothing_told_by_botocore(w):
    strange = type("Strange", (botocore.exceptions.BotoCoreError,), {"__module__": "vendor.client", "fmt": "{x}"})
    raising(strange(x=SECRET))


#: Rows that nothing here raises, and why.
NOT_RAISED = {
    "botocore.exceptions.ApiVersionNotFoundError": "nothing in botocore raises it any more",
    "botocore.exceptions.ConnectionError": "a base class; only classes below it are raised, which have rows",
    "botocore.exceptions.MissingParametersError": "nothing in botocore raises it any more",
    "botocore.exceptions.ServiceNotInRegionError": "nothing in botocore raises it any more",
    "botocore.exceptions.UnknownServiceStyle": "nothing in botocore raises it any more",
}
