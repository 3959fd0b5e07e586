"""
One connection over stdio: which requests are open, and what each line becomes.

Rule 1: each call gets exactly one answer; an answer that comes after ours is dropped.
Rule 2: no I/O and no clock; times come in as seconds of any monotonic clock.
Rule 3: the judgement is loaded when the first answer needs it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from operator import is_
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from toolfault.gateway._calls import (
    Call,
    as_object,
    is_answer,
    is_object,
    key_of,
    must_judge,
    read_call,
)
from toolfault.gateway._lines import Line, Parsed, find_id, parse_line, write_line


if TYPE_CHECKING:
    from toolfault._retry.state import RetryState
    from toolfault.errors import ToolFault
    from toolfault.gateway._exchange import Decision, Exchange, Replace


#: How many requests that the host cancelled are remembered, for answers that come all the same.
_MAX_CANCELLED: Final = 1000

#: How many questions of the server to the host are waited for.
_MAX_ASKED: Final = 1000

#: How many subscriptions of the host are kept for a restarted server.
_MAX_SUBSCRIPTIONS: Final = 1000

_TOO_LONG: Final = "The MCP server's answer is longer than {} bytes, the limit of the gateway."

#: JSON-RPC's number for a message that is not a valid request.
_INVALID_REQUEST: Final = -32600

#: The method of a request that is nested too deeply to be read.
_UNKNOWN_METHOD: Final = "?"


@dataclass(slots=True, eq=False)
class Open:
    """
    One request that is not answered yet.

    Attributes:
        call: The request.
        key: The key of the id under which the server knows it.
        deadline: When the gateway answers it. None: never.
        began: When it came.
        is_sent: Whether it may have reached the server.
        is_cancelled: Whether the host cancelled it, and so waits for no answer.
        state: Its retry state. None: it is not repeated.
        resend_at: When it is sent again. None: it waits for an answer.
    """

    call: Call
    key: str
    began: float
    deadline: float | None = None
    is_sent: bool = False
    is_cancelled: bool = False
    state: RetryState | None = None
    resend_at: float | None = None


Observer: TypeAlias = "Callable[[Call, float, ToolFault | None], object]"
"""
What is called with each call that has ended, the seconds that it took, and how it failed.
"""


@dataclass(slots=True)
class Seen:
    """
    What a line from the host becomes.

    Attributes:
        data: The bytes for the server; empty if the line does not leave.
        messages: The messages in it; none if it can't be read.
        opened: The requests in it.
        cancelled: The requests that it cancels.
        answers: Lines for the host.
    """

    data: bytes
    opened: list[Open] = field(default_factory=list[Open])
    cancelled: list[Open] = field(default_factory=list[Open])
    answers: list[bytes] = field(default_factory=list[bytes])
    messages: list[Any] = field(default_factory=list[Any])


@dataclass(slots=True)
class Due:
    """
    The lines whose time has come.

    Attributes:
        answers: Lines for the host.
        cancellations: Lines for the server, on calls that it was too slow for.
        repeats: Calls that are repeated, with the lines for the server.
    """

    answers: list[bytes] = field(default_factory=list[bytes])
    cancellations: list[bytes] = field(default_factory=list[bytes])
    repeats: list[tuple[Open, bytes]] = field(default_factory=list[tuple[Open, bytes]])


class Session:
    """
    The state of one connection. Not safe for several threads at once.

    Args:
        exchange: Returns the judgement; called when it is needed first.
        timeout: Seconds that a call may take. None: no limit.
        max_timeout: Seconds that a call may take if it shows progress. None: no longer than others.
        max_line: The longest line, in bytes; for messages only.
        report: Called with the call and the answer of each failure.
        note: Called with a sentence for the log of the host.
        is_repeating: Whether calls may be repeated.
        is_flagging: Whether successes are judged, too.
        prefix: The beginning of the ids of repeated calls.
        observe: Called with each call of a tool that has ended.
    """

    def __init__(
        self,
        exchange: Callable[[], Exchange],
        *,
        timeout: float | None,
        max_timeout: float | None = None,
        max_line: int,
        report: Callable[[Call, Replace], object],
        note: Callable[[str], object],
        is_repeating: bool = False,
        is_flagging: bool = False,
        prefix: str | None = None,
        observe: Observer | None = None,
    ) -> None:
        """
        Start without any request.
        """
        self._exchange = exchange
        self._timeout = timeout
        self._max_timeout = max_timeout
        self._max_line = max_line
        self._report = report
        self._note = note
        self._is_repeating = is_repeating
        self._is_flagging = is_flagging
        self._observe = observe
        self._prefix = prefix or f"toolfault-{os.urandom(4).hex()}"
        self._repeats = 0
        self._open: dict[str, list[Open]] = {}
        self._asked: set[str] = set()
        self._paused_at = 0.0
        self._handshake: str | None = None
        self._replay: dict[str, bytes] = {}
        self._hears_changes = False
        self.unreadable = 0
        self.handshake_done = False
        self.has_planned = False

    # ---- from the host

    def from_host(self, line: Line, now: float) -> Seen:
        """
        Return what a line from the host becomes; the bytes are always those that came.
        """
        if not line.is_whole:
            return self._refuse_long(line)
        seen = Seen(line.data)
        try:
            parsed = parse_line(line.data)
        except RecursionError:
            return self._see_deep(line, now)
        if parsed is None:
            return seen
        seen.messages = parsed.messages
        for message in parsed.messages:
            if is_object(message):
                self._see(message, seen, now, is_alone=not parsed.is_batch)
        return seen

    def _see(self, message: dict[str, Any], seen: Seen, now: float, *, is_alone: bool) -> None:
        call = read_call(message)
        if call is not None:
            seen.opened.append(self._add(call, now, is_alone=is_alone))
            self._remember(call.method, message, seen.data)
        elif is_answer(message):
            self._resume(key_of(message["id"]), now)
        elif message.get("method") == "notifications/cancelled":
            self._cancel(message, seen)
        elif message.get("method") == "notifications/initialized":
            self._replay["notifications/initialized"] = seen.data

    def _refuse_long(self, line: Line) -> Seen:
        self._note("dropped a line of the host that is too long")
        text = f"The request is longer than {self._max_line} bytes, the limit of the gateway."
        error = {"code": _INVALID_REQUEST, "message": text}
        answer = {"jsonrpc": "2.0", "id": find_id(line.data), "error": error}
        return Seen(b"", answers=[write_line(answer)])

    def _see_deep(self, line: Line, now: float) -> Seen:
        """
        Return what becomes of a line that is nested too deeply to be read.
        """
        request_id = find_id(line.data)
        if b'"method"' not in line.data or request_id is None:
            return Seen(line.data)
        call = Call(request_id, _UNKNOWN_METHOD, {}, is_modern=False)
        return Seen(line.data, [self._add(call, now, is_alone=False)])

    def _add(self, call: Call, now: float, *, is_alone: bool) -> Open:
        opened = Open(call, key_of(call.id), now)
        if call.is_limited and self._timeout is not None:
            opened.deadline = now + self._timeout
        if self._is_repeating and is_alone:
            opened.state = self._exchange().begin(call)
        self._open.setdefault(opened.key, []).append(opened)
        return opened

    def _remember(self, method: str, message: dict[str, Any], data: bytes) -> None:
        """
        Keep what a restarted server must see again.
        """
        key = f"resources/subscribe {as_object(message.get('params')).get('uri')}"
        if method == "initialize":
            self._replay = {method: data}
        elif method == "logging/setLevel":
            self._replay[method] = data
        elif method == "resources/unsubscribe":
            self._replay.pop(key, None)
        elif method == "resources/subscribe" and len(self._replay) < _MAX_SUBSCRIPTIONS:
            self._replay[key] = data

    def _cancel(self, message: dict[str, Any], seen: Seen) -> None:
        params = as_object(message.get("params"))
        key = key_of(params.get("requestId"))
        for opened in list(self.iter_open()):
            if key_of(opened.call.id) != key:
                continue
            opened.is_cancelled, opened.deadline, opened.state = True, None, None
            seen.cancelled.append(opened)
            if opened.key != key:
                renamed = {**params, "requestId": json.loads(opened.key)}
                seen.data = write_line({**message, "params": renamed})
            if opened.resend_at is not None:
                self._close(opened)
        self._forget_cancelled()

    def _forget_cancelled(self) -> None:
        cancelled = [opened for opened in self.iter_open() if opened.is_cancelled]
        for opened in cancelled[:-_MAX_CANCELLED]:
            self._close(opened)

    # ---- from the server

    def from_server(self, line: Line, now: float) -> bytes | None:
        """
        Return what a line from the server becomes; None if nothing of it leaves.
        """
        if not line.is_whole:
            return self._answer_unread(line, _TOO_LONG.format(self._max_line), now)
        try:
            parsed = parse_line(line.data)
        except RecursionError:
            return self._pass_unread(line)
        if parsed is None:
            self._drop_noise(line)
            return None
        return self._from_parsed(parsed, line.data, now)

    def _from_parsed(self, parsed: Parsed, data: bytes, now: float) -> bytes | None:
        messages = parsed.messages
        kept = [answer for one in messages if (answer := self._pass(one, now)) is not None]
        if not parsed.is_repaired and _are_same(kept, messages):
            return data
        if not kept:
            return None
        return write_line(kept if parsed.is_batch else kept[0])

    def _pass(self, message: Any, now: float) -> Any:
        """
        Return a message of the server as it leaves; None if it does not.
        """
        if not is_object(message):
            return message
        if not is_answer(message):
            self._watch(message, now)
            return message
        key = key_of(message["id"])
        if key == self._handshake:
            return self._end_handshake(message)
        opened = next((one for one in self._open.get(key, ()) if one.resend_at is None), None)
        if opened is None:
            self._note(f"dropped an answer to {key[:100]}, which waits for none")
            return None
        return self._settle(opened, message, now)

    def _end_handshake(self, message: dict[str, Any]) -> Any:
        """
        Return what the host gets of a restarted server's handshake: that its tools may be others.
        """
        self._handshake = None
        self.handshake_done = True
        if self._hears_changes and _lists_changes(message):
            return {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}
        return None

    def _settle(self, opened: Open, message: dict[str, Any], now: float) -> Any:
        call = opened.call
        if call.method == "initialize":
            self._hears_changes = _lists_changes(message)
        if not self._is_judged(opened, message):
            self._close(opened)
            self._note_end(opened, now)
            return message
        decision = self._exchange().answer(call, message, opened.state)
        delay = getattr(decision, "delay", None)
        if delay is not None:
            opened.resend_at = now + delay
            self.has_planned = True
            return None
        self._close(opened)
        self._note_end(opened, now, decision, message)
        return self._leave(call, decision, message, is_renamed=key_of(call.id) != opened.key)

    def _note_end(
        self,
        opened: Open,
        now: float,
        decision: Decision | None = None,
        message: dict[str, Any] | None = None,
    ) -> None:
        if self._observe is None or opened.call.tool is None or opened.is_cancelled:
            return
        fault: ToolFault | None = getattr(decision, "fault", None)
        if fault is None and message is not None:
            # It leaves as it came, also where it has an envelope.
            fault = self._exchange().read(opened.call, message)
        self._observe(opened.call, now - opened.began, fault)

    def _is_judged(self, opened: Open, message: dict[str, Any]) -> bool:
        if opened.state is not None or opened.key != key_of(opened.call.id):
            return True
        if opened.is_cancelled:
            return False
        is_flagged = self._is_flagging and opened.call.tool is not None
        return is_flagged or must_judge(opened.call, message)

    def _leave(
        self, call: Call, decision: Decision, message: dict[str, Any], *, is_renamed: bool
    ) -> dict[str, Any]:
        replaced: Any = getattr(decision, "message", None)
        if replaced is None:
            return {**message, "id": call.id} if is_renamed else message
        self._tell(call, decision)
        return {**replaced, "id": call.id}

    def _watch(self, message: dict[str, Any], now: float) -> None:
        """
        Pause the deadlines while the server asks the host something.
        """
        method, params = message.get("method"), as_object(message.get("params"))
        asked = read_call(message)
        if asked is not None:
            self._pause(asked, now)
        elif method == "notifications/cancelled":
            self._resume(key_of(params.get("requestId")), now)
        elif method == "notifications/progress":
            self._note_progress(params.get("progressToken"), now)

    def _pause(self, asked: Call, now: float) -> None:
        if asked.method == "ping" or len(self._asked) >= _MAX_ASKED:
            return
        if not self._asked:
            self._paused_at = now
        self._asked.add(key_of(asked.id))

    def _note_progress(self, token: object, now: float) -> None:
        for opened in self.iter_open():
            meta = as_object(opened.call.params.get("_meta"))
            if "progressToken" in meta and meta["progressToken"] == token:
                # What the host has seen the beginning of is not repeated.
                opened.state = None
                self._extend(opened, now)

    def _extend(self, opened: Open, now: float) -> None:
        if opened.deadline is None or self._max_timeout is None or self._timeout is None:
            return
        longest = opened.began + self._max_timeout
        opened.deadline = max(opened.deadline, min(now + self._timeout, longest))

    def _resume(self, key: str, now: float) -> None:
        if key not in self._asked:
            return
        self._asked.remove(key)
        if not self._asked:
            self._end_pause(now)

    def _end_pause(self, now: float) -> None:
        for opened in self.iter_open():
            if opened.deadline is not None:
                opened.deadline += now - max(self._paused_at, opened.began)

    # ---- lines that can't be read

    def _drop_noise(self, line: Line) -> None:
        shown = line.data[:200].decode(errors="replace").strip()
        if shown:
            self.unreadable += 1
            self._note(f"dropped a line of the server's stdout that is not JSON: {shown!r}")

    def _pass_unread(self, line: Line) -> bytes | None:
        opened = self._find(line)
        if opened is None:
            self.unreadable += 1
            self._note("dropped a line of the server that is nested too deeply")
            return None
        self._close(opened)
        return line.data

    def _answer_unread(self, line: Line, reason: str, now: float) -> bytes | None:
        opened = self._find(line)
        self.unreadable += 1
        self._note("dropped a line of the server that is too long")
        return None if opened is None else self._end(opened, self._broken(opened, reason), now)

    def _broken(self, opened: Open, reason: str) -> Replace:
        return self._exchange().broken(opened.call, reason)

    def _find(self, line: Line) -> Open | None:
        found = find_id(line.data)
        return None if found is None else next(iter(self._open.get(key_of(found), ())), None)

    # ---- time

    def next_due(self) -> float | None:
        """
        Return when `due` has something to do next; None if nothing is planned.
        """
        times = [one.resend_at for one in self.iter_open() if one.resend_at is not None]
        if not self._asked:
            times += [one.deadline for one in self.iter_open() if one.deadline is not None]
        return min(times, default=None)

    def due(self, now: float) -> Due:
        """
        Return the lines whose time has come.
        """
        due = Due()
        for opened in list(self.iter_open()):
            if self._is_late(opened, now):
                due.answers.append(self._end(opened, self._late(opened), now))
                due.cancellations.append(_cancellation(opened))
            elif opened.resend_at is not None and opened.resend_at <= now:
                due.repeats.append((opened, self._resend(opened)))
        return due

    def _is_late(self, opened: Open, now: float) -> bool:
        return not self._asked and opened.deadline is not None and opened.deadline <= now

    def _late(self, opened: Open) -> Replace:
        note = ""
        if self.unreadable:
            lines = "line was" if self.unreadable == 1 else "lines were"
            note = f"{self.unreadable} {lines} not readable in what it sent."
        return self._exchange().deadline(opened.call, self._timeout or 0.0, note)

    def _resend(self, opened: Open) -> bytes:
        self._repeats += 1
        new_id = f"{self._prefix}-{self._repeats}"
        self._close(opened)
        opened.key, opened.resend_at = key_of(new_id), None
        self._open.setdefault(opened.key, []).append(opened)
        params = dict(opened.call.params)
        if "_meta" in params:
            params["_meta"] = {**as_object(params["_meta"])}
            params["_meta"].pop("progressToken", None)
        return write_line(
            {"jsonrpc": "2.0", "id": new_id, "method": opened.call.method, "params": params}
        )

    # ---- the server's death

    def lose(self, reason: str, now: float, *, can_retry: bool, hint: str = "") -> list[bytes]:
        """
        Return the answers to all requests that were sent, after the server died.

        Args:
            reason: What happened, as a sentence.
            now: The time.
            can_retry: Whether the server may answer if a request is sent again.
            hint: What the reader could do.
        """
        if self._asked:
            self._asked.clear()
            self._end_pause(now)
        self._handshake = None
        sent = [opened for opened in self.iter_open() if opened.is_sent]
        for opened in sent:
            if opened.is_cancelled:
                self._close(opened)
        return self.refuse(sent, reason, now, can_retry=can_retry, hint=hint)

    def refuse(
        self, requests: Iterable[Open], reason: str, now: float, *, can_retry: bool, hint: str = ""
    ) -> list[bytes]:
        """
        Return the answers to requests that the server will not answer; those still open only.
        """
        return [
            self._end(
                opened, self._answer_lost(opened, reason, can_retry=can_retry, hint=hint), now
            )
            for opened in requests
            if self.is_open(opened)
        ]

    def judge(self, opened: Open, decide: Callable[[Exchange], Replace], now: float) -> list[bytes]:
        """
        Return the answer to a request that gets none of the server's; none if it is repeated.

        Args:
            opened: The request.
            decide: Returns the answer.
            now: The time.
        """
        if not self.is_open(opened) or opened.resend_at is not None:
            return []
        replaced = decide(self._exchange())
        decision = self._exchange().repeat(opened.call, replaced, opened.state)
        delay = getattr(decision, "delay", None)
        if delay is None:
            return [self._end(opened, replaced, now)]
        opened.resend_at = now + delay
        self.has_planned = True
        return []

    def forget(self, opened: Open) -> None:
        """
        End a request without an answer: the host has cancelled it.
        """
        self._close(opened)

    def mark_sent(self, requests: Iterable[Open]) -> bool:
        """
        Note that requests are being sent; False if one was answered meanwhile, so none may be.
        """
        listed = list(requests)
        if not all(map(self.is_open, listed)):
            return False
        for opened in listed:
            opened.is_sent = True
        return True

    def is_open(self, opened: Open) -> bool:
        """
        Tell whether a request still waits for its answer.
        """
        return opened in self._open.get(opened.key, ())

    def _answer_lost(self, opened: Open, reason: str, *, can_retry: bool, hint: str) -> Replace:
        return self._exchange().answer_lost(
            opened.call, reason, is_sent=opened.is_sent, can_retry=can_retry, hint=hint
        )

    # ---- restarts

    def replay(self) -> list[bytes]:
        """
        Return the lines that a restarted server must see first: the host's own handshake.

        The answer to the first of them is swallowed; `handshake_done` tells when it came.
        """
        first = self._replay.get("initialize")
        self.handshake_done = first is None
        if first is None:
            return []
        parsed = parse_line(first)
        if parsed is not None:
            self._handshake = key_of(as_object(parsed.messages[0]).get("id"))
        return [first]

    def replay_rest(self) -> list[bytes]:
        """
        Return what a restarted server must see after it has answered the handshake.
        """
        return [data for name, data in self._replay.items() if name != "initialize"]

    # ---- bookkeeping

    def iter_open(self) -> Iterator[Open]:
        """
        Yield the requests that are not answered yet.
        """
        for requests in self._open.values():
            yield from requests

    def _end(self, opened: Open, replaced: Replace, now: float) -> bytes:
        self._close(opened)
        self._note_end(opened, now, replaced)
        self._tell(opened.call, replaced)
        return write_line(replaced.message)

    def _tell(self, call: Call, decision: Any) -> None:
        if decision.fault is not None:
            self._report(call, decision)

    def _close(self, opened: Open) -> None:
        requests = self._open.get(opened.key, [])
        if opened in requests:
            requests.remove(opened)
        if not requests:
            self._open.pop(opened.key, None)


def _lists_changes(message: dict[str, Any]) -> bool:
    """
    Tell whether the answer to a handshake announces notifications of changed tools.
    """
    capabilities = as_object(as_object(message.get("result")).get("capabilities"))
    return as_object(capabilities.get("tools")).get("listChanged") is True


def _are_same(kept: list[Any], messages: list[Any]) -> bool:
    return len(kept) == len(messages) and all(map(is_, kept, messages))


def _cancellation(opened: Open) -> bytes:
    params = {"requestId": json.loads(opened.key), "reason": "The gateway's deadline has passed."}
    return write_line({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})
