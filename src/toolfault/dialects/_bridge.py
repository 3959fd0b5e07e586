"""
One hop of a failure into a foreign vocabulary, or out of it; what the dialects share.

Rule 1: the number comes from the tables alone. All else that is known travels in a record, where
the carrier has room.
Rule 2: a record is used only if its code maps, by the tables, to the code that arrived with it;
else the table speaks.
Rule 3: what a peer sent is shown only through `toolfault._sanitize`, whether it came in a record
or beside it.
Rule 4: an original body is never read for a text to show.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from toolfault._bridge_record import (
    MAX_RECORD,
    RECORD_FACT,
    Record,
    RecordStore,
    System,
    read_record,
)
from toolfault._envelope import InvalidEnvelope, McpExecuteError
from toolfault._json import as_mapping
from toolfault._names import META_KEY
from toolfault._sanitize import build_envelope, decode_envelope, read_facts
from toolfault._text import encodable
from toolfault._tracebacks import log_exception
from toolfault._verdict import Outcome
from toolfault._wire import to_result
from toolfault.dialects._tables import Code, Vocabulary, meaning, reason_in, translate
from toolfault.errors import FoundIn, ToolFault


#: The profile of A2A whose numbers have meanings of their own.
DROID: Final = "protocol-droid"

_MEMBERS: Final = frozenset(McpExecuteError.model_fields)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outbound:
    """
    What a dialect writes of a fault.

    Attributes:
        code:
            The code to send.

        message:
            The message, as text that UTF-8 can hold.

        record:
            The text for the carrier's record. None: it does not even fit without the original.

        body:
            The original body, if the failure came from this very vocabulary and its body is known.

        version:
            The protocol's version with which it came.
    """

    code: Code
    message: str
    record: str | None
    body: Mapping[str, Any] | None
    version: str


def outbound(
    fault: ToolFault,
    vocabulary: Vocabulary,
    *,
    store: RecordStore | None = None,
    limit: int = MAX_RECORD,
) -> Outbound:
    """
    Return the parts of a fault that a vocabulary's writer needs.

    Args:
        fault: What went wrong.
        vocabulary: In whose words it is wanted.
        store: Where the record stays; what travels is its handle. None: the record itself travels.
        limit: The room for the record, in bytes of UTF-8.
    """
    record = original(fault, store)
    own = _vocabulary_of(record) == vocabulary
    return Outbound(
        code=image(record, vocabulary),
        message=encodable(fault.envelope.message),
        record=_deposit(record, store, limit),
        body=record.body if own else None,
        version=record.version if own else "",
    )


def inbound(
    vocabulary: Vocabulary,
    code: Code,
    message: object,
    *,
    record: object = None,
    among: Iterable[Code] = (),
    body: Mapping[str, Any] | None = None,
    profile: str = "",
    version: str = "",
    reason: str | None = None,
    hint: object = None,
    retry_after_seconds: int | None = None,
    outcome: Outcome | None = None,
    found_in: FoundIn = "jsonrpc_error",
    received: object = None,
    store: RecordStore | None = None,
) -> ToolFault:
    """
    Return the fault of a foreign error: restored from a fitting record, else by the tables.

    Args:
        vocabulary: Whose code it is.
        code: The code that arrived.
        message: The message that arrived.
        record: What stands in the carrier's place for a record; any value.
        among: Further codes that the carrier does not tell from this one.
        body: The original, for the way back.
        profile: The profile of the original.
        version: The version of its protocol.
        reason: What tells the code's meanings apart: ``details.reason`` in A2C-SMCP, the status in
            A2A.
        hint: What the original's own members advise.
        retry_after_seconds: The wait that the carrier's own header asks for.
        outcome: What the original's own members say of whether the call happened.
        found_in: Where the error stood.
        received: The answer as it came, if that is more than *body*.
        store: Where records stay; what the fault carries on is a handle.

    Returns:
        The fault. Hint, wait and outcome count only where no record is restored. Never raises on a
        peer's values.
    """
    as_came = body if received is None else received
    kept = _resolve(read_record(record), store)
    if kept is not None and fits(kept, vocabulary, (code, *among)):
        return _restore(kept, message, found_in, as_came, store)
    known, category, retryable = meaning(code, vocabulary, reason)
    envelope = build_envelope(
        known,
        message if isinstance(message, str) else "",
        category=category,
        retryable=retryable,
        retry_after_seconds=retry_after_seconds,
        hint=hint,
    )
    system: System = "a2a" if vocabulary == DROID else vocabulary
    profile = DROID if vocabulary == DROID else profile
    facts = _record_facts(
        Record(system=system, code=code, profile=profile, version=version, body=body), store
    )
    return ToolFault.of(envelope, outcome=outcome, facts=facts, received=as_came, found_in=found_in)


def original(fault: ToolFault, store: RecordStore | None = None) -> Record:
    """
    Return a fault's record: the foreign one it carries if that still fits its code, else its own.
    """
    ours = _own_form(fault)
    record = _resolve(read_record(fault.facts.get(RECORD_FACT)), store)
    if record is not None and fits(record, "mcp", (fault.envelope.code.value,)):
        return replace(record, fault=ours)
    envelope: dict[str, Any] = ours["error"]
    code, body = _as_received(fault, envelope)
    return Record(system="mcp", code=code, body=body, fault=ours)


def fits(record: Record, vocabulary: Vocabulary, arrived: Iterable[Code]) -> bool:
    """
    Tell whether a record maps to a code that arrived, and restores to its own code.
    """
    if image(record, vocabulary) not in set(arrived):
        return False
    restored = _envelope_in(record)
    return restored is None or restored.code == image(record, "mcp")


def _vocabulary_of(record: Record) -> Vocabulary:
    return "protocol-droid" if record.system == "a2a" and record.profile == DROID else record.system


def image(record: Record, vocabulary: Vocabulary) -> Code:
    source = _vocabulary_of(record)
    return translate(record.code, source, vocabulary, reason_in(record.body, source))


def _own_form(fault: ToolFault) -> dict[str, Any]:
    # What the writer of results puts into `_meta`; there is one form of a failure, wherever it
    # stands.
    ours: dict[str, Any] = to_result(fault, structured=False)["_meta"][META_KEY]
    ours.pop(RECORD_FACT, None)
    return ours


def _as_received(fault: ToolFault, envelope: dict[str, Any]) -> tuple[str, dict[str, Any] | None]:
    """
    Return the code as it came, and the envelope with what only the peer's body has, if any.
    """
    raw = fault.received
    try:
        folded = McpExecuteError.from_wire(raw, revision="0.48")
    except InvalidEnvelope:
        folded = None
    if folded is None or (folded.code, folded.category) != (
        fault.envelope.code,
        fault.envelope.category,
    ):
        return envelope["code"], None
    strange = {str(name): value for name, value in raw.items() if name not in _MEMBERS}
    body = {**envelope, "code": raw["code"], "category": raw["category"], **strange}
    return raw["code"], None if body == envelope else body


def _envelope_in(record: Record) -> McpExecuteError | None:
    return decode_envelope(as_mapping(record.fault).get("error"))


def _restore(
    record: Record, message: object, found_in: FoundIn, received: object, store: RecordStore | None
) -> ToolFault:
    envelope = _envelope_in(record)
    if envelope is None:
        # The failure's own form did not fit; its code did.
        source = _vocabulary_of(record)
        code, category, retryable = meaning(record.code, source, reason_in(record.body, source))
        text = message if isinstance(message, str) else ""
        envelope = build_envelope(code, text, category=category, retryable=retryable)
    outcome, facts = read_facts(as_mapping(record.fault))
    # There is one record of a failure; what stands in another is nobody's claim.
    facts.pop(RECORD_FACT, None)
    if record.system != "mcp" or record.body is not None:
        facts |= _record_facts(replace(record, fault=None), store)
    if record.system == "mcp" and record.body is not None:
        received = record.body
    return ToolFault.of(
        envelope, outcome=outcome, facts=facts, received=received, found_in=found_in
    )


# ---- records on their way


def _record_facts(record: Record, store: RecordStore | None) -> dict[str, Any]:
    text = _deposit(record, store, MAX_RECORD)
    return {} if text is None else {RECORD_FACT: text}


def _deposit(record: Record, store: RecordStore | None, limit: int) -> str | None:
    """
    Return the text that travels for a record: all that fits, or a handle to what a store keeps.
    """
    text = record.to_text(MAX_RECORD if store is not None else limit)
    if store is None or text is None:
        return text
    try:
        handle = store.put(text)
    except Exception:  # noqa: BLE001 -- a store out of order must not hide the failure that is reported
        log_exception("a record could not be stored; its failure travels without it")
        handle = ""
    return replace(record, body=None, fault=None, handle=handle).to_text(limit)


def _resolve(record: Record | None, store: RecordStore | None) -> Record | None:
    """
    Return the whole record behind a handle; the record itself if the store knows no more.
    """
    if record is None or store is None or not record.handle:
        return record
    try:
        whole = read_record(store.get(record.handle))
    except Exception:  # noqa: BLE001 -- as in _deposited
        log_exception("a record could not be fetched; its failure is read without it")
        return record
    same = whole is not None and (whole.system, whole.code) == (record.system, record.code)
    return whole if same else record
