"""
One connection: each call is answered once, whatever happens in whatever order.
"""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolfault import Retry
from toolfault.gateway._exchange import Exchange
from toolfault.gateway._lines import Line
from toolfault.gateway._options import Options
from toolfault.gateway._session import Session


class Gateway:
    """
    A session with the lines that left it.
    """

    def __init__(self, retry=False, timeout=10.0, max_timeout=None, **options):
        rules = Retry(clock=lambda: 0.0, random=lambda: 0.0) if retry else None
        core = Exchange(Options(**options), retry=rules, new_id=lambda: "f00")
        self.host, self.server, self.failures, self.notes = [], [], [], []
        self.session = Session(
            lambda: core,
            timeout=timeout,
            max_timeout=max_timeout,
            max_line=1000,
            report=lambda call, replaced: self.failures.append((call.id, replaced.fault.code)),
            note=self.notes.append,
            is_repeating=retry,
            prefix="again",
        )

    def from_host(self, message, now=0.0, sent=True):
        data = message if isinstance(message, bytes) else json.dumps(message).encode() + b"\n"
        seen = self.session.from_host(Line(data), now)
        assert seen.data == data or b"cancelled" in data
        self.host += seen.answers
        if sent and self.session.mark_sent(seen.opened):
            self.server.append(seen.data)
        return seen

    def from_server(self, message, now=0.0):
        data = message if isinstance(message, bytes) else json.dumps(message).encode() + b"\n"
        left = self.session.from_server(Line(data), now)
        if left is not None:
            self.host.append(left)
        return left

    def pass_time(self, now):
        due = self.session.due(now)
        self.host += due.answers
        self.server += due.cancellations + [line for _, line in due.repeats]
        return due

    def answers(self):
        messages = [json.loads(line) for line in self.host]
        flat = [one for each in messages for one in (each if isinstance(each, list) else [each])]
        return [one for one in flat if "method" not in one]


def call(request_id=1, **params):
    params = {"name": "search", "arguments": {}, **params}
    return {"jsonrpc": "2.0", "id": request_id, "method": "tools/call", "params": params}


def success(request_id=1):
    return {"jsonrpc": "2.0", "id": request_id, "result": {"content": []}}


def failure(request_id=1, words="HTTP 503 Service Unavailable"):
    content = [{"type": "text", "text": words}]
    return {"jsonrpc": "2.0", "id": request_id, "result": {"content": content, "isError": True}}


def test_a_late_answer_is_dropped():
    gateway = Gateway()
    gateway.from_host(call())
    due = gateway.pass_time(10.0)

    assert json.loads(due.cancellations[0])["params"]["requestId"] == 1
    assert gateway.from_server(success(), 11.0) is None
    assert gateway.failures == [(1, "tool_timeout")]


@pytest.mark.parametrize("others", [1.0, "1", "other", True])
def test_ids_of_another_type_answer_nothing(others):
    gateway = Gateway()
    gateway.from_host(call())

    assert gateway.from_server(success(others)) is None
    assert gateway.from_server(success(1)) is not None


def test_an_error_without_an_id_passes_and_ends_no_call():
    gateway = Gateway()
    gateway.from_host(call())
    lost = {"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "x"}}

    assert json.loads(gateway.from_server(lost)) == lost
    assert gateway.session.next_due() == 10.0


def test_a_batch_keeps_its_bytes_or_changes_member_by_member():
    gateway = Gateway()
    gateway.from_host([call(1), call(2), call(3)])
    unchanged = b'[ {"jsonrpc":"2.0","id":1,"result":{"content":[]}} ]\n'

    assert gateway.from_server(unchanged) == unchanged
    left = json.loads(gateway.from_server([success(1), failure(2), success(3)]))
    assert [one["id"] for one in left] == [2, 3]
    assert "structuredContent" in left[0]["result"]
    assert left[1] == success(3)


@pytest.mark.parametrize(
    ("events", "due"),
    [
        ([], 10.0),
        ([("ask", 4.0), ("reply", 9.0)], 15.0),
        ([("ask", 4.0), ("withdraw", 6.0)], 12.0),
        ([("ask", 4.0)], None),
        ([("ping", 4.0)], 10.0),
    ],
)
def test_the_deadline_pauses_while_the_host_is_asked(events, due):
    gateway = Gateway()
    gateway.from_host(call())
    asked = {"jsonrpc": "2.0", "id": "q", "method": "elicitation/create", "params": {}}
    withdrawn = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "q"}}
    for event, now in events:
        if event == "ask":
            gateway.from_server(asked, now)
        elif event == "ping":
            gateway.from_server({**asked, "method": "ping"}, now)
        elif event == "reply":
            gateway.from_host({"jsonrpc": "2.0", "id": "q", "result": {}}, now)
        else:
            gateway.from_server(withdrawn, now)

    assert gateway.session.next_due() == due
    assert not gateway.pass_time((due or 1000.0) - 0.5).answers


def test_a_call_that_came_during_a_question_waits_as_long_as_others():
    gateway = Gateway()
    gateway.from_server({"jsonrpc": "2.0", "id": "q", "method": "roots/list"}, 1.0)
    gateway.from_host(call(), 5.0)
    gateway.from_host({"jsonrpc": "2.0", "id": "q", "result": {}}, 8.0)

    assert gateway.session.next_due() == 18.0


@pytest.mark.parametrize(
    "message",
    [call(task={"ttl": 1}), {"jsonrpc": "2.0", "id": 1, "method": "tasks/result", "params": {"taskId": "t"}}],
)
def test_tasks_and_other_requests_have_no_deadline(message):
    gateway = Gateway()
    gateway.from_host(message)

    assert gateway.session.next_due() is None


def test_a_cancelled_call_needs_no_answer_and_gets_what_comes():
    gateway = Gateway()
    cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
    gateway.from_host(call())
    gateway.from_host(cancelled)
    line = json.dumps(failure()).encode() + b"\n"

    assert gateway.session.next_due() is None
    assert gateway.from_server(line) == line


def test_a_cancelled_call_is_not_answered_when_the_server_dies():
    gateway = Gateway()
    gateway.from_host(call())
    gateway.from_host({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})

    assert gateway.session.lose("It is gone.", 1.0, can_retry=False) == []


def test_requests_that_were_not_sent_are_left_to_who_sends_them():
    gateway = Gateway()
    seen = gateway.from_host(call(), sent=False)

    assert gateway.session.lose("It is gone.", 1.0, can_retry=False) == []
    (line,) = gateway.session.refuse(seen.opened, "It is gone.", 0.0, can_retry=False)
    assert json.loads(line)["result"]["_meta"]["io.github.toolfault/error"]["outcome"] == "not_executed"
    assert gateway.session.refuse(seen.opened, "It is gone.", 0.0, can_retry=False) == []


def test_a_request_that_was_answered_is_not_sent():
    gateway = Gateway()
    seen = gateway.from_host(call(), sent=False)
    gateway.pass_time(10.0)

    assert gateway.session.mark_sent(seen.opened) is False


# ---- lines that can't be read


DEEP = b"[" * 100_000 + b"]" * 100_000


def test_an_answer_that_is_nested_too_deeply_leaves_as_it_came():
    gateway = Gateway()
    gateway.from_host(call())
    line = b'{"jsonrpc":"2.0","id":1,"result":{"x":' + DEEP + b"}}\n"

    assert gateway.from_server(line) == line
    assert gateway.session.next_due() is None
    assert gateway.from_server(line) is None


def test_a_request_that_is_nested_too_deeply_is_answered():
    gateway = Gateway()
    gateway.from_host(b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":' + DEEP + b"}\n")

    assert gateway.from_server(success()) is not None
    assert gateway.from_server(success()) is None


def test_an_answer_that_is_too_long_is_a_failure():
    gateway = Gateway()
    gateway.from_host(call())

    left = gateway.session.from_server(Line(b'{"jsonrpc":"2.0","id":1,"result":{"con', is_whole=False), 1.0)

    assert "longer than 1000 bytes" in json.loads(left)["result"]["content"][0]["text"]


def test_a_request_that_is_too_long_is_refused():
    seen = Gateway().session.from_host(Line(b'{"jsonrpc":"2.0","id":4,"method":"x"', is_whole=False), 0.0)

    assert seen.data == b""
    assert json.loads(seen.answers[0])["id"] == 4


# ---- retries


def test_a_repeated_call_has_an_id_of_its_own_and_the_answer_the_hosts():
    gateway = Gateway(retry=True, idempotent=frozenset({"search"}))
    gateway.from_host(call(5, _meta={"progressToken": "p", "x": 1}))
    assert gateway.from_server(failure(5)) is None
    assert gateway.from_server(success(5)) is None

    repeats = [json.loads(line) for _, line in gateway.pass_time(1.0).repeats]

    assert [(one["id"], one["params"]["_meta"]) for one in repeats] == [("again-1", {"x": 1})]
    assert json.loads(gateway.from_server(success("again-1"))) == success(5)
    assert gateway.session.next_due() is None


@pytest.mark.parametrize(
    ("max_timeout", "token", "times", "due"),
    [
        (None, "p", [4.0, 8.0], 10.0),
        (25.0, "p", [], 10.0),
        (25.0, "p", [4.0], 14.0),
        (25.0, "p", [4.0, 8.0, 17.0], 25.0),
        (25.0, "other", [4.0], 10.0),
        # It never shortens the deadline.
        (5.0, "p", [4.0], 10.0),
    ],
)
def test_progress_extends_the_deadline_up_to_a_limit(max_timeout, token, times, due):
    gateway = Gateway(max_timeout=max_timeout)
    gateway.from_host(call(5, _meta={"progressToken": "p"}))
    for now in times:
        params = {"progressToken": token, "progress": now}
        gateway.from_server({"jsonrpc": "2.0", "method": "notifications/progress", "params": params}, now)

    assert gateway.session.next_due() == due


def test_a_call_that_showed_progress_is_not_repeated():
    gateway = Gateway(retry=True, idempotent=frozenset({"search"}))
    gateway.from_host(call(5, _meta={"progressToken": "p"}))
    gateway.from_server({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": "p"}})

    assert json.loads(gateway.from_server(failure(5)))["id"] == 5


def test_a_cancellation_reaches_a_repeated_call():
    gateway = Gateway(retry=True, idempotent=frozenset({"search"}))
    gateway.from_host(call(5))
    gateway.from_server(failure(5))
    gateway.pass_time(1.0)

    seen = gateway.from_host({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 5}})

    assert json.loads(seen.data)["params"]["requestId"] == "again-1"


# ---- restarts


def test_a_restarted_server_sees_the_hosts_own_handshake():
    gateway = Gateway()
    lines = [
        b'{"jsonrpc":"2.0", "id":0,"method":"initialize","params":{"x":1}}\n',
        b'{"jsonrpc":"2.0", "method":"notifications/initialized"}\n',
        b'{"jsonrpc":"2.0","id":2, "method":"logging/setLevel","params":{"level":"info"}}\n',
        b'{"jsonrpc":"2.0","id":3, "method":"resources/subscribe","params":{"uri":"a"}}\n',
        b'{"jsonrpc":"2.0","id":4, "method":"resources/subscribe","params":{"uri":"b"}}\n',
        b'{"jsonrpc":"2.0","id":5, "method":"resources/unsubscribe","params":{"uri":"a"}}\n',
    ]
    for line in lines:
        gateway.from_host(line)
    gateway.session.lose("It is gone.", 1.0, can_retry=True)

    assert gateway.session.replay() == [lines[0]]
    assert gateway.session.handshake_done is False
    assert gateway.from_server({"jsonrpc": "2.0", "id": 0, "result": {}}) is None
    assert gateway.session.handshake_done is True
    assert gateway.session.replay_rest() == [lines[1], lines[2], lines[4]]


@pytest.mark.parametrize(
    ("before", "after", "is_told"), [(True, True, True), (False, True, False), (True, False, False)]
)
def test_the_host_hears_that_a_restarted_server_may_list_other_tools(before, after, is_told):
    gateway = Gateway()
    for number, capability in enumerate((before, after)):
        if number:
            gateway.session.replay()
        else:
            gateway.from_host({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {}})
        left = gateway.from_server(
            {"jsonrpc": "2.0", "id": 0, "result": {"capabilities": {"tools": {"listChanged": capability}}}}
        )

    assert (left is not None and b"tools/list_changed" in left) is is_told


@pytest.mark.parametrize("strange", [None, [1], {"a": 1}])
def test_messages_with_ids_that_are_none_pass(strange):
    gateway = Gateway()
    line = json.dumps({"jsonrpc": "2.0", "id": strange, "result": {}}).encode() + b"\n"

    assert gateway.from_server(line) == line
    assert gateway.from_host(call(strange)).opened == []


def test_without_a_handshake_nothing_is_replayed():
    gateway = Gateway()

    assert gateway.session.replay() == []
    assert gateway.session.handshake_done is True


# ---- whatever happens

IDS = st.sampled_from([1, 2, "1", 1.0])
MESSAGES = st.one_of(
    st.builds(success, IDS),
    st.builds(failure, IDS),
    st.just({"jsonrpc": "2.0", "id": None, "error": {"code": 1, "message": "x"}}),
    st.just([success(1), failure("1")]),
    st.just(b"noise\n"),
)
EVENTS = st.one_of(
    st.tuples(st.just("host"), st.builds(call, IDS)),
    st.tuples(st.just("server"), MESSAGES),
    st.tuples(st.just("time"), st.floats(0.0, 8.0)),
    st.tuples(st.just("death"), st.none()),
)


@given(st.lists(EVENTS, max_size=30), st.booleans())
def test_each_call_is_answered_exactly_once_by_its_own_id(events, retry):
    gateway = Gateway(retry=retry, idempotent=frozenset({"search"}))
    now, sent = 0.0, []
    for kind, value in events:
        if kind == "host":
            gateway.from_host(value, now)
            sent.append(value["id"])
        elif kind == "server":
            gateway.from_server(value, now)
        elif kind == "time":
            now += value
            gateway.pass_time(now)
        else:
            gateway.host += gateway.session.lose("It is gone.", now, can_retry=False)
    gateway.pass_time(now + 1000.0)

    def spelled(ids):
        return sorted(json.dumps(one) for one in ids)

    assert spelled(one["id"] for one in gateway.answers() if one["id"] is not None) == spelled(sent)
    assert gateway.session.next_due() is None


@given(st.lists(st.binary(max_size=60) | st.sampled_from([b"{", b'{"id":1}', b"[{}]", b'{"method":5}']), max_size=10))
def test_no_bytes_of_either_side_raise(lines):
    gateway = Gateway()
    for line in lines:
        for side in (gateway.session.from_host, gateway.session.from_server):
            side(Line(line + b"\n"), 0.0)
