"""
Judgement as a whole: what an exception out of an author's tool becomes.
"""

import asyncio
import gc
import logging
import subprocess
from concurrent.futures import BrokenExecutor

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp.server.mcpserver.exceptions import ToolError

import author
from author import over, raises
from toolfault import Disclosure, Guard, Guidance, McpErrorCode, McpExecuteError, ToolFault
from toolfault._judge.log import PLACES, Reporter
from toolfault.hosting import Call


def judged(function, *args, guard=None, **call):
    try:
        function(*args)
    except BaseException as exc:
        raised = exc
    return (guard or Guard()).judge(raised, Call(tool="tool", function=author.over, **call))


def http(status, **headers):
    request = httpx.Request("GET", "https://api.example.com/v1?api_key=KEY-NOTREAL")
    httpx.Response(status, request=request, headers=headers).raise_for_status()


#: situation, function, arguments, code, category, retryable, a part of the message
SITUATIONS = [
    ("an author's ValueError", author.on_purpose, (), "invalid_arguments", "validation", False, "no such city"),
    ("an accident", author.convert, (), "tool_panicked", "permanent", False, "ValueError"),
    ("a key", author.missing_key, (), "tool_panicked", "permanent", False, "the key 'city' is missing"),
    ("a key on purpose", author.bare_key, ("Ys",), "tool_panicked", "permanent", False, "'Ys'"),
    (
        "a sentence in a KeyError",
        author.bare_key,
        ("no city Ys",),
        "invalid_arguments",
        "validation",
        False,
        "no city Ys",
    ),
    ("configuration", author.needs_environment, (), "internal", "permanent", False, "WEATHER_API_KEY"),
    ("an unset variable", author.reads_environment, (), "internal", "permanent", False, "TOOLFAULT_TEST_NOT_SET"),
    ("a TypeError on purpose", author.bad_shape, (), "internal", "permanent", False, "bad shape"),
    (
        "a RuntimeError on purpose",
        raises,
        (RuntimeError("the ledger is closed"),),
        "internal",
        "permanent",
        False,
        "ledger",
    ),
    ("not written", author.not_written, (), "tool_panicked", "permanent", False, "NotImplementedError"),
    ("not here", author.not_here, (), "internal", "permanent", False, "not on this platform"),
    ("an assert", author.asserts, (), "tool_panicked", "permanent", False, "AssertionError"),
    ("nothing to read", author.decode, (), "internal", "permanent", False, "JSON"),
    ("an upstream reset", author.upstream, (), "internal", "transient", True, "reset"),
    (
        "own class, rate limit",
        raises,
        (author.RateLimitError("slow down"),),
        "quota_exceeded",
        "transient",
        True,
        "slow down",
    ),
    (
        "own class, not found",
        raises,
        (author.NotFoundError("no shelf 9"),),
        "invalid_arguments",
        "validation",
        False,
        "no shelf 9",
    ),
    ("own class, Author is no Auth", raises, (author.AuthorError("no pen"),), "internal", "permanent", False, "no pen"),
    (
        "own class over a timeout",
        raises,
        (author.OverTimeout("too slow"),),
        "tool_timeout",
        "transient",
        True,
        "too slow",
    ),
    ("own class by its base", raises, (author.Refused("no"),), "invalid_arguments", "validation", False, "no"),
    (
        "general over a purpose",
        over,
        (Exception, "failed: {e}", author.on_purpose),
        "invalid_arguments",
        "validation",
        False,
        "failed: no such city",
    ),
    (
        "general over upstream",
        over,
        (ValueError, "cannot load", author.upstream),
        "internal",
        "transient",
        True,
        "cannot load",
    ),
    (
        "hidden upstream",
        over,
        (RuntimeError, "cannot load", author.upstream),
        "internal",
        "transient",
        True,
        "cannot load",
    ),
    (
        "ValueError over a conversion",
        over,
        (ValueError, "days must be a number", author.convert),
        "invalid_arguments",
        "validation",
        False,
        "days must be",
    ),
    (
        "RuntimeError that repeats a conversion",
        over,
        (RuntimeError, "failed: {e}", author.convert),
        "tool_panicked",
        "permanent",
        False,
        "failed",
    ),
    (
        "RuntimeError over a conversion",
        over,
        (RuntimeError, "cannot compute", author.convert),
        "internal",
        "permanent",
        False,
        "cannot compute",
    ),
    (
        "ToolError over nothing telling",
        over,
        (ToolError, "cannot compute", author.missing_key),
        "internal",
        "permanent",
        False,
        "cannot compute",
    ),
    (
        "ToolError by its prose",
        raises,
        (ToolError("Rate limit reached"),),
        "quota_exceeded",
        "transient",
        True,
        "Rate limit",
    ),
    (
        "own class over HTTP",
        over,
        (author.AuthorError, "no luck", lambda: http(429, **{"Retry-After": "9"})),
        "quota_exceeded",
        "transient",
        True,
        "no luck",
    ),
    ("HTTP 401", http, (401,), "permission_denied", "auth", False, "401"),
    ("HTTP 500", http, (500,), "internal", "transient", True, "500"),
    ("a command", author.runs_a_command, (), "internal", "permanent", False, "exit"),
    (
        "a group: the permanent one decides",
        author.grouped,
        (ConnectionResetError(104, "reset"), author.NotFoundError("no shelf")),
        "invalid_arguments",
        "validation",
        False,
        "no shelf",
    ),
    (
        "a group: a fault decides",
        author.grouped,
        (author.NotFoundError("x y"), ToolFault("quota_exceeded", "later")),
        "quota_exceeded",
        "transient",
        True,
        "later",
    ),
    (
        "a group of cancelled",
        lambda: raises(BaseExceptionGroup("g", [asyncio.CancelledError()])),
        (),
        "tool_panicked",
        "permanent",
        False,
        "cancelled",
    ),
    (
        "ValueError over a refused statement",
        over,
        (ValueError, "no such table", author.bad_query),
        "invalid_arguments",
        "validation",
        False,
        "no such table",
    ),
    (
        "RuntimeError over a refused statement",
        over,
        (RuntimeError, "cannot report", author.bad_query),
        "internal",
        "permanent",
        False,
        "cannot report",
    ),
    (
        "a third-party class on purpose",
        raises,
        (BrokenExecutor("all workers are gone"),),
        None,
        None,
        None,
        "all workers are gone",
    ),
]


@pytest.mark.parametrize(
    ("_situation", "function", "args", "code", "category", "retryable", "part"),
    SITUATIONS,
    ids=[row[0] for row in SITUATIONS],
)
def test_situations(_situation, function, args, code, category, retryable, part):
    envelope = judged(function, *args).envelope

    assert part in envelope.message
    assert "NOTREAL" not in str(envelope)
    assert "hunter2" not in str(envelope)
    if code is not None:
        assert (envelope.code, envelope.category, envelope.retryable) == (code, category, retryable)


@pytest.mark.parametrize(
    ("given", "path", "code"),
    [
        ("data/none.csv", "/nowhere/data/none.csv", "invalid_arguments"),
        ("none.csv", "/nowhere/data/none.csv", "invalid_arguments"),
        ("/data/none.csv", "/nowhere/data/none.csv", "invalid_arguments"),
        ("/nowhere", "/nowhere/data/none.csv", "invalid_arguments"),
        ("one.csv", "/nowhere/data/none.csv", "internal"),
        ("data", "/nowhere/data/none.csv", "internal"),
        ("", "/nowhere/data/none.csv", "internal"),
        ("..", "/nowhere/data/none.csv", "internal"),
        (".", "/nowhere/data/none.csv", "internal"),
        (".", "/", "invalid_arguments"),
        (".", "/.", "invalid_arguments"),
        ("../", "/../", "invalid_arguments"),
        ("../../etc/none", "/nowhere/../../etc/none", "invalid_arguments"),
        ("../../../../etc/none", "/etc/none", "invalid_arguments"),
        ("~/none.txt", "/root/none.txt", "invalid_arguments"),
    ],
)
def test_whose_file(given, path, code):
    assert judged(author.opens, path, arguments={"file": {"name": [given]}}).code == code


def test_delays_of_several_members_the_longest():
    waits = [ToolFault("quota_exceeded", "a", retry_after_seconds=3)]
    group = ExceptionGroup("g", [httpx_error("5"), httpx_error("90")])

    assert judged(raises, group).envelope.retry_after_seconds == 90
    assert judged(raises, ExceptionGroup("g", [*waits, httpx_error("90")])).envelope.retry_after_seconds == 3


def httpx_error(wait):
    try:
        http(429, **{"Retry-After": wait})
    except httpx.HTTPStatusError as exc:
        return exc


def test_chains_are_oldest_first_and_hide_what_was_suppressed():
    def deep(hidden):
        try:
            over(KeyError, "middle of it", author.upstream, hidden=hidden)
        except KeyError as exc:
            raise ToolFault("internal", "outer") from exc

    assert (
        judged(deep, False).envelope.cause_chain
        == (
            "ConnectionResetError: The connection to the upstream was reset. Try again.",
            "KeyError: middle of it",
        )
        or len(judged(deep, False).envelope.cause_chain) == 2
    )
    assert judged(deep, True).envelope.cause_chain == ("KeyError: middle of it",)


def test_an_author_s_causes_stay():
    assert judged(raises, ToolFault("internal", "m", causes=["a", "b"])).envelope.cause_chain == ("a", "b")


def test_a_cycle_ends():
    first, second = ValueError("first"), ValueError("second")
    first.__cause__, second.__cause__ = second, first

    assert len(judged(raises, first).envelope.cause_chain) == 1


@pytest.mark.parametrize(
    ("options", "status", "code", "category"),
    [
        ({}, 401, "permission_denied", "auth"),
        ({"credentials": "server"}, 401, "internal", "auth"),
        ({"credentials": "server"}, 404, "invalid_arguments", "validation"),
        ({"arguments_forwarded": False}, 404, "internal", "permanent"),
        ({"arguments_forwarded": False}, 401, "permission_denied", "auth"),
        ({"egress_allow": ["other.example.com"]}, 403, "network_blocked", "permanent"),
        ({"egress_allow": ["api.example.com"]}, 403, "permission_denied", "auth"),
        ({"egress_allow": ["https://API.example.com/v1"]}, 403, "permission_denied", "auth"),
        ({"egress_allow": ["*.example.com"]}, 403, "permission_denied", "auth"),
        ({"egress_allow": ["api.example.com:443"]}, 403, "permission_denied", "auth"),
        ({"egress_allow": ["*.other.com"]}, 403, "network_blocked", "permanent"),
    ],
)
def test_declarations_change_only_what_they_say(options, status, code, category):
    envelope = judged(http, status, guard=Guard(**options)).envelope

    assert (envelope.code, envelope.category) == (code, category)


def test_disclosure():
    def leaks():
        raise RuntimeError("connect failed: password=hunter2secret at host db")

    def crash():
        return {}["tea"]

    redacted = judged(leaks).envelope
    assert "connect failed" in redacted.message
    assert "hunter2secret" not in redacted.message
    full = judged(leaks, guard=Guard(disclosure="full", secrets=["db-secret-value"])).envelope
    assert "hunter2secret" in full.message
    withheld = judged(crash, guard=Guard(disclosure=Disclosure.WITHHELD))
    assert "tea" not in withheld.envelope.message
    assert "KeyError" in withheld.envelope.message
    assert withheld.facts["id"] in withheld.envelope.message
    shown = judged(author.on_purpose, guard=Guard(disclosure=Disclosure.WITHHELD)).envelope
    assert shown.message == "no such city"
    chained = judged(over, ValueError, "outer", author.upstream, guard=Guard(disclosure=Disclosure.WITHHELD)).envelope
    assert chained.cause_chain == ()


def test_registered_secrets_and_another_engine():
    guard = Guard(secrets=["acme-internal-name"], redactor=lambda text: text.replace("Smith", "[name]"))
    envelope = judged(raises, ValueError("acme-internal-name refuses Smith"), guard=guard).envelope

    assert "acme-internal-name" not in envelope.message
    assert "[name]" in envelope.message


@pytest.mark.parametrize(
    "rule",
    [lambda exc: 1 / 0, lambda exc: "no such code", lambda exc: 3],
)
def test_a_rule_that_fails_is_passed_over_and_logged(rule, caplog):
    assert judged(author.on_purpose, guard=Guard(expect={ValueError: rule})).code == "invalid_arguments"
    assert "passed over" in caplog.text


def test_the_server_half_never_says_unknown():
    fault = judged(raises, ToolFault("unknown", "m", category="unknown"))

    assert (fault.code, fault.envelope.category) == ("internal", "permanent")


@pytest.mark.parametrize(
    ("options", "cure"),
    [
        ({"timeout": 0}, "positive"),
        ({"timeout": True}, "positive"),
        ({"timeout": "3"}, "positive"),
        ({"timeout": float("nan")}, "positive"),
        ({"credentials": "mine"}, "caller"),
        ({"disclosure": "all"}, "redacted"),
        ({"guidance": "loud"}, "block"),
        ({"output_schema": "drop"}, "widen"),
        ({"secrets": "s3cr3t"}, "is a list"),
        ({"secrets": ["abc"]}, "secret"),
        ({"also": "acme"}, "is a list"),
        ({"also": ["acme-lib"]}, "that is imported"),
        ({"also": [None]}, "that is imported"),
        ({"arguments_forwarded": "no"}, "True or False"),
        ({"upstream_text": "yes"}, "True or False"),
        ({"egress_allow": [1]}, "lists hosts"),
        ({"egress_allow": "api.example.com"}, "is a list"),
        ({"registry": None}, "must be a Registry"),
        ({"on_failure": print}, "is a list"),
        ({"secrets": None}, "is a list"),
        ({"on_failure": [3]}, "plain functions"),
        ({"redactor": 3}, "function"),
    ],
)
def test_wrong_options_are_refused_with_the_cure(options, cure):
    with pytest.raises(ValueError, match=cure):
        Guard(**options)


def test_a_coroutine_function_is_no_hook():
    async def hook(fault, exc, call):
        pass

    with pytest.raises(ValueError, match="plain functions"):
        Guard(on_failure=[hook])


def test_secrets_are_not_in_the_repr():
    assert "s3cr3t-value" not in repr(Guard(secrets=["s3cr3t-value"]))


def test_hooks_get_the_fault_the_exception_and_the_call(caplog):
    told = []

    def broken(fault, exc, call):
        raise RuntimeError("hook trouble")

    guard = Guard(on_failure=[broken, lambda *what: told.append(what)])
    fault = judged(author.on_purpose, guard=guard)

    assert fault.code == "invalid_arguments"
    assert [(repr(mine), mine.facts, type(exc), call.tool) for mine, exc, call in told] == [
        (repr(fault), fault.facts, ValueError, "tool")
    ]
    assert "hook trouble" in caplog.text


def test_the_log_repeats_the_id_and_the_reason(caplog):
    caplog.set_level(logging.INFO, logger="toolfault")
    anticipated = judged(author.on_purpose)
    crash = judged(author.convert)

    first, second = caplog.records
    assert (first.levelname, first.exc_info) == ("INFO", None)
    assert anticipated.facts["id"] in first.getMessage()
    assert "\n" not in first.getMessage()
    assert (second.levelname, second.exc_info[0]) == ("ERROR", ValueError)
    assert "Traceback (most recent call last)" in second.exc_text
    assert crash.facts["id"] in second.getMessage()
    assert (second.tool, second.code, second.id) == ("tool", "tool_panicked", crash.facts["id"])
    assert second.origin == "tool"


@pytest.mark.parametrize("tracebacks", ["full", "redacted"])
def test_templates_are_constant_and_only_full_tracebacks_hold_the_exception(tracebacks, caplog):
    caplog.set_level(logging.INFO, logger="toolfault")
    guard = Guard(log_tracebacks=tracebacks)
    for function in (author.on_purpose, author.convert, author.convert):
        judged(function, guard=guard)

    assert [record.msg for record in caplog.records] == [
        "Tool %r failed: %s",
        "Tool %r crashed: %s",
        "Tool %r crashed again: %s",
    ]
    assert [record.exc_info is not None for record in caplog.records] == [False, *[tracebacks == "full"] * 2]
    assert "Traceback (most recent call last)" in caplog.records[1].exc_text


def test_the_log_has_the_redacted_text_that_the_message_does_not_show(caplog):
    caplog.set_level(logging.INFO, logger="toolfault")
    judged(raises, subprocess.CalledProcessError(1, ["psql", "--password=hunter2secret", "-c", "select"]))

    (record,) = caplog.records
    assert "select" in record.original
    assert "select" in record.getMessage()
    assert "hunter2secret" not in f"{record.getMessage()}{record.original}{record.exc_text}"


def test_a_traceback_is_logged_once_per_class_place_and_minute(caplog):
    now = [0.0]
    guard = Guard()
    reporter = Reporter(clock=lambda: now[0])
    guard._freeze("_prepared", guard._prepared._replace(reporter=reporter))
    for later in (0, 1, 58, 2, 1):
        now[0] += later
        judged(author.convert, guard=guard)
    judged(author.missing_key, guard=guard)

    assert ["Traceback" in record.exc_text for record in caplog.records] == [True, False, False, True, False, True]
    assert len({record.getMessage() for record in caplog.records}) == 6


def test_what_was_not_logged_is_news_later(caplog):
    guard, log = Guard(), logging.getLogger("toolfault")
    for level in (logging.CRITICAL, logging.ERROR, logging.ERROR):
        caplog.set_level(level, logger=log.name)
        judged(author.convert, guard=guard)

    assert ["Traceback" in record.exc_text for record in caplog.records] == [True, False]


def test_the_memory_of_the_log_is_bounded():
    guard = Guard()
    reporter = guard._prepared.reporter
    for number in range(PLACES + 100):
        try:
            raise type(f"Crash{number}", (KeyError,), {})
        except KeyError as exc:
            guard.judge(exc, Call(tool="t"))

    assert len(reporter._shown) == PLACES


@pytest.mark.parametrize("guidance", Guidance)
def test_what_leaves_is_the_contract(guidance):
    guard = Guard(guidance=guidance)
    fault = judged(raises, ToolFault("quota_exceeded", "used up", retry_after_seconds=1, hint="wait"), guard=guard)
    result = guard.to_result(fault)
    texts = [block["text"] for block in result["content"]]

    assert result["structuredContent"]["message"] == "used up"
    assert (
        texts
        == {
            Guidance.NONE: ["used up"],
            Guidance.BLOCK: ["used up", "The same call may succeed if it is retried after 1 second.\nHint: wait"],
            Guidance.INLINE: ["used up\nThe same call may succeed if it is retried after 1 second.\nHint: wait"],
        }[guidance]
    )
    assert ("_meta" in result) is (guidance is not Guidance.NONE)
    assert "structuredContent" not in guard.to_result(fault, structured=False)
    assert (
        guard.to_result(fault, structured=False)["_meta"]["io.github.toolfault/error"]["error"]["code"]
        == "quota_exceeded"
    )


class Hostile(Exception):
    """
    Whose every attribute that may be asked for raises.
    """

    def __str__(self):
        raise BaseException("str")

    def __repr__(self):
        raise BaseException("repr")

    @property
    def args(self):
        raise RuntimeError("args")

    @property
    def __cause__(self):
        raise RuntimeError("cause")

    @property
    def __traceback__(self):
        raise RuntimeError("traceback")


class Huge(Exception):
    def __str__(self):
        return "x" * 20_000_000


class NoText(Exception):
    def __str__(self):
        return 3


class Endless(Exception):
    def __str__(self):
        return str(self)


@pytest.mark.parametrize("kind", [Hostile, Huge, NoText, Endless])
def test_hostile_exceptions_are_answered(kind):
    def tool():
        raise kind

    fault = judged(tool)

    assert fault.envelope.message
    assert len(fault.envelope.message.encode()) <= 2048


TEXTS = st.text(alphabet=st.characters(), max_size=80) | st.sampled_from(
    ["password=hunter2-planted", "\ud800", "x" * 9000]
)
LEAVES = st.one_of(
    st.builds(ValueError, TEXTS),
    st.builds(RuntimeError, TEXTS),
    st.builds(KeyError, TEXTS),
    st.builds(OSError, st.integers(0, 130), TEXTS, TEXTS.filter(lambda text: "\0" not in text)),
    st.builds(PermissionError, st.just(13), TEXTS),
    st.builds(TimeoutError, TEXTS),
    st.builds(ToolError, TEXTS),
    st.builds(UnicodeDecodeError, st.just("utf-8"), st.binary(), st.integers(-9, 9), st.integers(-9, 9), TEXTS),
    st.builds(ToolFault, st.sampled_from(McpErrorCode), TEXTS, hint=TEXTS, causes=st.lists(TEXTS, max_size=3)),
    st.builds(author.RateLimitError, TEXTS),
    st.builds(SystemExit, st.none() | st.integers() | TEXTS),
    st.builds(Exception, st.dictionaries(TEXTS, TEXTS, max_size=3)),
    st.builds(Hostile),
    st.builds(asyncio.CancelledError),
)


@st.composite
def chained(draw, inner):
    exc = draw(inner)
    # Past what hostile classes do to their attributes.
    for name, value in (
        ("__cause__", draw(st.none() | inner)),
        ("__context__", draw(st.none() | inner)),
        ("__suppress_context__", draw(st.booleans())),
    ):
        BaseException.__dict__[name].__set__(exc, value)
    return exc


TREES = st.recursive(
    LEAVES,
    lambda inner: chained(LEAVES) | st.lists(inner, min_size=1, max_size=4).map(lambda of: BaseExceptionGroup("g", of)),
    max_leaves=8,
)


@settings(deadline=None)
@given(
    TREES,
    st.sampled_from(Disclosure),
    st.sampled_from(["lookup", "arguments", "resolver", "body", "output"]),
    st.booleans(),
)
def test_any_tree_of_exceptions_becomes_an_envelope_within_its_caps(tree, disclosure, phase, is_raised):
    guard = Guard(disclosure=disclosure)
    if is_raised:
        try:
            raises(tree)
        except BaseException as exc:
            tree = exc
    logging.getLogger("toolfault").setLevel(logging.CRITICAL)
    try:
        fault = guard.judge(tree, Call(tool="t\ud800", phase=phase, function=raises, available=("tool",)))
    finally:
        logging.getLogger("toolfault").setLevel(logging.NOTSET)
    result = guard.to_result(fault)

    import json

    text = json.dumps(result, ensure_ascii=False)
    assert len(text.encode()) < 16_000
    envelope = McpExecuteError.from_wire(result["structuredContent"])
    assert envelope.message
    assert envelope.code is not McpErrorCode.UNKNOWN
    assert envelope.category != "unknown"
    if disclosure is not Disclosure.FULL:
        assert "hunter2" not in text


def elsewhere(module, source="def refused():\n    raise PermissionError(13, 'Permission denied')\n"):
    """
    Return a function of somebody else's module that is refused something, without a file name.
    """
    space = {"__name__": module, "__file__": f"/elsewhere/{module}.py"}
    exec(compile(source, f"/elsewhere/{module}.py", "exec"), space)
    return space["refused"]


@pytest.mark.parametrize(
    ("module", "code"), [("socket", "network_blocked"), ("httpx", "network_blocked"), ("somelib", "internal")]
)
@pytest.mark.parametrize("above", [None, "asyncio", "anyio._backends._asyncio"])
def test_a_refusal_without_a_file_is_told_by_what_it_came_through(module, code, above):
    refused = elsewhere(module)

    def run():
        author.calls(refused)

    if above:
        # An event loop or a worker thread above the tool is on the traceback too.
        loop = elsewhere(above, "def refused(inner):\n    inner()\n")
        assert judged(loop, run).code == code
    else:
        assert judged(run).code == code


def test_a_refusal_that_was_never_raised_is_the_caller_s():
    assert Guard().judge(PermissionError(13, "Permission denied"), Call(tool="t")).code == "permission_denied"


def test_the_caller_s_own_spelling_of_a_path_is_shown():
    mine = judged(author.opens, "/nowhere/data/none.csv", arguments={"file": "data/none.csv"}).envelope
    ours = judged(author.opens, "/nowhere/data/none.csv", arguments={"file": "other.csv"}).envelope

    assert "'data/none.csv'" in mine.message
    assert "'none.csv'" in ours.message
    assert "nowhere" not in str(mine) + str(ours)


@pytest.mark.parametrize("name", ["REPORT", "Report", "repport", "report "])
def test_near_names_are_found_whatever_their_case(name):
    fault = Guard().judge(LookupError(), Call(tool=name, phase="lookup", available=("Report", "other")))

    assert "'Report'" in fault.envelope.hint


def answered(status, body):
    request = httpx.Request("GET", "https://api.example.com/v1")
    httpx.Response(status, request=request, text=body).raise_for_status()


def test_what_an_upstream_said_is_quoted_only_on_demand():
    body = 'No such\n<b>shelf</b> "9"; password=hunter2 \u202e ' + "x" * 100_000
    silent = judged(answered, 404, body).envelope
    quoted = judged(answered, 404, body, guard=Guard(upstream_text=True)).envelope

    assert "shelf" not in silent.message
    assert quoted.message.startswith(silent.message)
    said = quoted.message.removeprefix(silent.message)
    assert said.startswith(" The upstream said, in its own words: \"No such shelf '9'")
    assert said.endswith('"')
    assert said.count('"') == 2
    for never in ("<", "hunter2", "\n", "\u202e"):
        assert never not in said
    assert len(quoted.message.encode()) < 1000
    assert judged(answered, 404, "", guard=Guard(upstream_text=True)).envelope.message == silent.message


def test_what_a_library_said_to_itself_is_not_in_the_chain():
    library = elsewhere("somelib", "def refused():\n    raise ValueError('part of a url: pa/ss')\n")

    def wraps():
        try:
            library()
        except ValueError as exc:
            raise ToolFault("internal", "outer") from exc

    assert judged(wraps).envelope.cause_chain == ("ValueError",)


def blames_the_caller(message):
    return "Check the arguments" in message or "Other rights" in message


@pytest.mark.parametrize(
    ("options", "status"),
    [({"credentials": "server"}, 401), ({"arguments_forwarded": False}, 404), ({"egress_allow": ["other.com"]}, 403)],
)
def test_a_declaration_changes_the_words_with_the_code(options, status):
    plain, declared = judged(http, status).envelope, judged(http, status, guard=Guard(**options)).envelope

    assert not blames_the_caller(declared.message)
    assert str(status) in declared.message
    assert declared.message != plain.message


def leaks_a_url():
    http(404)


def leaks_a_command():
    author.runs_a_command()


@pytest.mark.parametrize(("leak", "kind"), [(leaks_a_url, httpx.HTTPError), (leaks_a_command, Exception)])
def test_a_rule_that_is_a_code_alone_shows_the_table_s_words(leak, kind):
    envelope = judged(leak, guard=Guard(expect={kind: "internal"})).envelope

    assert envelope.code == "internal"
    for never in ("example.com", "hunter2", "--password"):
        assert never not in envelope.message


def test_a_key_that_is_declared_stands_in_a_sentence():
    envelope = judged(author.missing_key, guard=Guard(expect={KeyError: "invalid_arguments"})).envelope

    assert (envelope.code, envelope.message) == ("invalid_arguments", "The key 'city' is missing (KeyError).")


@pytest.mark.parametrize("kind", [ToolError, RuntimeError, Exception, author.AuthorError])
@pytest.mark.parametrize("text", ["Failed: {e}", "Failed: {e!r}", "{e}", "{e} (while loading)"])
@pytest.mark.parametrize("hidden", [False, True])
@pytest.mark.parametrize("leak", [leaks_a_url, leaks_a_command])
def test_a_catch_all_that_quotes_what_leaks_quotes_the_table(kind, text, hidden, leak):
    envelope = judged(lambda: over(kind, text, leak, hidden=hidden)).envelope

    for never in ("example.com", "hunter2", "--password"):
        assert never not in str(envelope), envelope
    assert envelope.message.startswith(text.partition("{")[0])


def test_each_judgement_reads_the_texts_anew():
    guard = Guard()
    cause, exc = OSError(111, "Connection refused"), RuntimeError("first: [Errno 111] Connection refused")
    exc.__cause__ = cause
    first = judged(raises, exc, guard=guard).envelope
    exc.args, cause.args = ("second: {'port': 'PORT-9'}",), ("unused",)
    cause.errno, cause.strerror = 104, "Connection reset by peer"
    second = judged(raises, exc, guard=guard).envelope

    assert "refused" in first.message
    assert second.message == "second: {'port': 'PORT-9'}"
    assert "closed by the other side" in second.cause_chain[0]


def test_one_exception_means_to_each_guard_what_that_guard_was_told():
    exc = OSError(111, "Connection refused")
    codes = ("quota_exceeded", "permission_denied")
    guards = [Guard(expect={ConnectionRefusedError: code}) for code in codes]

    found = [judged(raises, exc, guard=guard).code for guard in (*guards, Guard(), *guards)]

    assert found == [*codes, "internal", *codes]


def test_classes_of_one_name_keep_their_own_rules():
    def made(module):
        return type("Refused", (RuntimeError,), {"__module__": module})

    here, there = made("acme.net"), made("other.net")
    guard = Guard(expect={"acme.net.Refused": "quota_exceeded", "other.net.Refused": "permission_denied"})

    found = [judged(raises, kind("no"), guard=guard).code for kind in (here, there, made("acme.net"), made("x.net"))]

    assert found[:3] == ["quota_exceeded", "permission_denied", "quota_exceeded"]
    assert found[3] not in found[:3]


def test_a_rule_for_value_errors_is_not_asked_about_arguments():
    from pydantic import BaseModel

    class Pin(BaseModel):
        n: int

    guard = Guard(expect={ValueError: "permission_denied"})
    for phase, code in (("arguments", "invalid_arguments"), ("output", "internal")):
        fault = judged(Pin.model_validate, {"n": "my-secret-pin"}, guard=guard, phase=phase)
        assert fault.code == code
        assert "my-secret-pin" not in str(fault.envelope)


def test_an_author_s_facts_are_safe_and_keep_to_their_own_names():
    fault = ToolFault("internal", "m")
    fault.facts.update(
        {
            "v": 9,
            "error": {"code": "quota_exceeded"},
            "id": "mine",
            "note": "Authorization: Bearer abcdef1234567890",
            "n": 3,
        }
    )
    guard = Guard()
    judged_fault = judged(raises, fault, guard=guard)
    facts = guard.to_result(judged_fault)["_meta"]["io.github.toolfault/error"]

    assert facts["v"] == 1
    assert "error" not in facts
    assert facts["id"] == judged_fault.facts["id"] != "mine"
    assert facts["n"] == 3
    assert "abcdef1234567890" not in str(facts)


def test_a_hook_changes_nothing():
    def meddles(fault, exc, call):
        fault.facts["id"] = "mine"
        fault.outcome = "executed"

    fault = judged(author.on_purpose, guard=Guard(on_failure=[meddles]))
    assert fault.facts["id"] != "mine"
    assert fault.outcome == "unknown"


def test_the_cancellation_below_a_timeout_is_no_cause():
    import anyio

    async def late():
        with anyio.fail_after(0.001):
            await anyio.sleep(30)

    assert judged(anyio.run, late).envelope.cause_chain == ()


@pytest.mark.parametrize("kind", [ValueError, RuntimeError, ToolError])
@pytest.mark.parametrize(
    "text", ["Failed: {e}", "{e}", "Error executing tool: {e}", "An unexpected error occurred: {e}"]
)
@pytest.mark.parametrize("inner", [author.missing_attribute, author.divides, author.missing_key, author.convert])
def test_a_catch_all_that_only_repeats_a_crash_is_a_crash(kind, text, inner):
    assert judged(over, kind, text, inner).code == "tool_panicked"


def test_groups_in_groups_are_judged_in_time():
    previous = None
    for level in range(8):
        members = []
        for number in range(10):
            try:
                author.raises_from(f"attempt {level}.{number}", previous)
            except ValueError as exc:
                members.append(exc)
        previous = ExceptionGroup("g", members)

    # Without a memory it would take 10 ** 8 judgements.
    assert judged(raises, previous).envelope.message.startswith("attempt 7")


def test_a_group_that_holds_itself_many_times_over_is_logged(caplog):
    exc = KeyError("leaf")
    for _ in range(8):
        exc = ExceptionGroup("g", [exc] * 15)

    assert judged(raises, exc).code == "tool_panicked"
    assert len(caplog.text) < 50_000


class Wicked(BaseException):
    """
    No Exception, and raised where nobody expects anything to be raised.
    """


def wicked(name):
    def fail(*_):
        raise Wicked(name)

    return type("E", (OSError,), {name: property(fail), "__module__": "strange.lib"})


@pytest.mark.parametrize(
    "name", ["errno", "strerror", "filename", "args", "__traceback__", "__cause__", "__class__", "__dict__"]
)
def test_attributes_that_raise_no_exceptions_are_survived(name):
    fault = judged(raises, wicked(name)())

    assert fault.envelope.message


@pytest.mark.parametrize("part", ["rule", "hook", "redactor"])
def test_what_a_user_hands_in_may_raise_anything(part):
    def fails(*_):
        raise Wicked(part)

    options = {
        "rule": {"expect": {ValueError: fails}},
        "hook": {"on_failure": [fails]},
        "redactor": {"redactor": fails},
    }

    assert judged(author.on_purpose, guard=Guard(**options[part])).code == "invalid_arguments"


def test_violations_are_as_safe_as_the_message():
    from pydantic import BaseModel, field_validator

    class Order(BaseModel, extra="forbid"):
        city: str = ""

        @field_validator("city")
        @classmethod
        def known(cls, value):
            raise ValueError("GET /cities?api_key=hunter2-registered says no")

    guard = Guard(secrets=["hunter2-registered"])
    for sent in ({"city": "Ys"}, {"ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8": 1, "x\ny\x1b[31m": 2}):
        facts = judged(Order.model_validate, sent, guard=guard, phase="arguments").facts
        assert facts["violations"]
        for never in ("hunter2-registered", "a1B2c3D4", "\x1b"):
            assert never not in str(facts)


def test_a_class_name_is_no_way_out():
    name = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    for cls in (type(name, (Exception,), {}), type("N\x1b[31m" + "x" * 100_000, (Exception,), {})):
        envelope = judged(raises, cls()).envelope
        assert "a1B2c3D4" not in envelope.message
        assert "\x1b" not in envelope.message
        assert len(envelope.message) < 500


def test_a_log_record_can_t_be_forged(caplog):
    def forges():
        raise AttributeError("boom\n2026-01-01 CRITICAL root admin logged in\x1b[2J")

    judged(forges)
    assert "\x1b" not in caplog.text
    assert not [line for line in caplog.text.splitlines() if line.startswith("2026-01-01")]


@pytest.mark.parametrize("text", ["no article 7", "cannot read /tmp/report/7.txt", "a\nb"])
def test_a_judged_failure_leaves_nothing_to_the_garbage_collector(text: str) -> None:
    guard, call = Guard(), Call(tool="stock", arguments={"article": 7, "path": "/tmp/report"})  # noqa: S108 -- a name only
    guard.judge(ValueError(text), call)
    gc.collect()
    gc.disable()
    try:
        for _ in range(10):
            guard.to_result(guard.judge(ValueError(text), call))
        found = gc.collect()
    finally:
        gc.enable()

    assert found == 0
