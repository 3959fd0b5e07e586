"""
The library's own tables, in the form of the specification's data (``specs/tables/*.json``).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from toolfault import _retry_after as waits
from toolfault import _sanitize, _text
from toolfault._bridge_record import MAX_RECORD
from toolfault._codes import DEFAULTS, McpErrorCode
from toolfault._json import MAX_JSON
from toolfault._meanings import grpc, http, jsonrpc, words
from toolfault._read import parse, result
from toolfault._redact.tokens import VENDORS
from toolfault._retry import state
from toolfault._retry.budget import Budget
from toolfault._retry.retry import Retry
from toolfault._verdict import Verdict
from toolfault.dialects import _tables as bridge
from toolfault.dialects.a2a import _table as a2a
from toolfault.dialects.a2c_smcp import _codes as a2c


FOLDER = Path(__file__).parents[2] / "specs" / "tables"

Table = dict[str, Any]


def meaning(verdict: Verdict) -> Table:
    """
    Code, category and retry flag of a row, defaults filled in.
    """
    category, retryable = DEFAULTS[verdict.code]
    return {
        "code": verdict.code.value,
        "category": (verdict.category or category).value,
        "retryable": retryable if verdict.retryable is None else verdict.retryable,
    }


def row_of_status(verdict: Verdict) -> Table:
    """
    A row of a status, with what a server's declarations can change.
    """
    row = meaning(verdict)
    if verdict.blames_values:
        row["blames"] = "values"
    if verdict.refuses_credentials:
        row["blames"] = "credentials"
    return row


# ---- statuses


def read_http() -> Table:
    others = {"4xx": 418, "5xx": 599, "3xx": 302, "any other": 200}
    return {
        "about": "What an upstream's HTTP status means by itself; headers and body may say more.",
        "statuses": [{"status": status, **row_of_status(row)} for status, row in http.STATUS.items()],
        "others": [{"status": name, **row_of_status(http.row_for(status))} for name, status in others.items()],
        "proxy_errors": [{"error": name, **meaning(row)} for name, row in http.PROXY_ERRORS.items()],
        "conflict_with_a_wait": meaning(http.CONTENDED),
        "quota_used_up": meaning(http.USED_UP),
    }


def read_grpc() -> Table:
    return {
        "about": "What an upstream's gRPC status means by itself; its details may say more.",
        "statuses": [
            {"number": number, "status": name, **row_of_status(row)}
            for number, (name, row) in enumerate(grpc.STATUS.items())
        ],
        "message_too_large": meaning(grpc.TOO_LARGE),
        "quota_used_up": meaning(grpc.USED_UP),
        "vague": sorted(grpc.VAGUE),
    }


# ---- JSON-RPC


def ecma(pattern: str) -> str:
    """
    A pattern as ECMA-262 writes it; the flags stand in the text of the table.
    """
    for flags in ("(?i)", "(?is)"):
        pattern = pattern.removeprefix(flags)
    return pattern.replace(r"\A", "^").replace(r"\Z", "$")


def row_with_words(row: jsonrpc.Meaning) -> Table:
    assert row.call is not None
    entry: Table = {"numbers": sorted(row.numbers)}
    if row.but:
        entry["but_not"] = sorted(row.but)
    if row.words:
        entry["pattern"] = ecma(row.words)
    entry |= meaning(row.call)
    if row.call.hint is not None:
        entry["hint"] = True
    if row.call.outcome is not None:
        entry["outcome"] = row.call.outcome
    return entry


def read_jsonrpc() -> Table:
    alone = (jsonrpc.INVALID_PARAMS, jsonrpc.METHOD_NOT_FOUND, 408)
    return {
        "about": "What the error of a tools/call means. The first row that fits decides."
        " Patterns are those of ECMA-262, without regard to case, and a dot is any character.",
        "assigned": [
            {
                "number": row.code,
                "name": row.name,
                "since": row.since,
                "until": row.until or None,
            }
            for row in jsonrpc.ERRORS.values()
        ],
        "with_words": [row_with_words(row) for row in jsonrpc._TABLE if row.call is not None],
        "alone": [
            {"number": number, **meaning(verdict)}
            for number in alone
            if (verdict := jsonrpc.meaning_alone(number)) is not None
        ],
        "band": {
            "from": jsonrpc.STANDARD.start,
            "to": jsonrpc.STANDARD.stop - 1,
            **meaning(jsonrpc.BROKEN),
        },
        "free": [{"number": number, "word": word} for number, word in jsonrpc.FREE_WORDS.items()],
    }


# ---- words, waits, limits


def read_words() -> Table:
    groups: dict[str, Table] = {}
    for word in sorted(words.list_words()):
        verdict = words.meaning_of(word)
        assert verdict is not None
        row = meaning(verdict)
        groups.setdefault(json.dumps(row), {**row, "words": []})["words"].append(word)
    order = [code.value for code in McpErrorCode]
    return {
        "about": "Words of other vocabularies, in snake_case."
        " A word is compared after humps and punctuation became underscores and capitals small"
        " letters, as it is and without err, error, e in front and err, error, exception,"
        " failure behind.",
        "groups": sorted(
            groups.values(),
            key=lambda row: (order.index(row["code"]), row["category"], row["retryable"]),
        ),
        "ends_in": [{"ending": "_not_found", **named("x_not_found")}],
        "statuses": sorted(set(grpc.STATUS) - grpc.VAGUE),
    }


def named(word: str) -> Table:
    verdict = words.meaning_of(word)
    assert verdict is not None
    return meaning(verdict)


def read_waits() -> Table:
    return {
        "about": "How a wait is spelled, and where it stands. Patterns are those of ECMA-262,"
        " for whole names in small letters; those of members also without punctuation.",
        "headers": [
            {"order": 1, "names": list(waits._MILLISECONDS), "unit": "milliseconds"},
            {"order": 2, "names": ["retry-after"], "unit": "seconds"},
            {"order": 3, "pattern": waits._RETRY_NAME, "unit": "seconds"},
            {"order": 4, "names": ["ratelimit"], "unit": "seconds"},
            {"order": 5, "pattern": waits._RESET_NAME, "unit": "seconds"},
        ],
        "member": {"pattern": waits._WAIT_NAME, "moments": list(waits._MOMENT_NAMES)},
        "units": [{"begins_with": start, "seconds": seconds} for start, seconds in waits._UNIT_SECONDS],
        "unit_names": waits._UNIT_NAMES,
        "number": waits._NUMBER,
        "point_in_time_from": {
            "seconds": waits._EPOCH_SECONDS,
            "milliseconds": waits._EPOCH_MILLISECONDS,
        },
        "longest_spelling": waits._MAX_SPELLING,
        "longest_wait": waits.MAX_DELAY_SECONDS,
        "depth_of_members": waits._MAX_DEPTH,
    }


def read_limits() -> Table:
    budget, rules = Budget(), Retry()
    return {
        "about": "The limits of a reader and of what a server writes, and the retry constants.",
        "text": {
            "window_characters": _text.WINDOW,
            "json_characters": MAX_JSON,
            "message_bytes": _text.MESSAGE_BYTES,
            "hint_bytes": _text.HINT_BYTES,
            "cause_bytes": _text.CAUSE_BYTES,
            "id_bytes": _sanitize.ID_BYTES,
        },
        "counts": {
            "causes": _sanitize.MAX_CAUSES,
            "violations": _sanitize._MAX_VIOLATIONS,
            "content_blocks": result._MAX_BLOCKS,
            "wrappers": parse._MAX_DEPTH,
        },
        "record_bytes": MAX_RECORD,
        "retry": {
            "attempts": rules.attempts,
            "deadline_seconds": rules.timeout,
            "longest_wait_seconds": rules.hint_max,
            "first_window_seconds": rules.wait_initial,
            "first_window_after_a_limit_seconds": state._QUOTA_INITIAL,
            "longest_window_seconds": rules.wait_max,
            "jitter": rules.wait_jitter,
            "budget_tokens": budget.left,
            "budget_refund": budget._refund,
            "cost": 1,
            "cost_after_a_limit": {"numerator": 5, "denominator": 14},
        },
    }


# ---- other vocabularies


def read_a2c() -> Table:
    return {
        "about": "The codes of A2C-SMCP, versions 0.2 to 0.5.",
        "codes": [
            {
                "code": int(code),
                "name": row.title,
                "meaning": row.meaning,
                "carrier": row.carrier,
                "since": a2c._SINCE.get(code, "0.2"),
                "failure_in_an_acknowledgement_since": row.closed_since,
                "members": list(row.fields),
                "reasons": list(row.reasons),
            }
            for code, row in a2c._TABLE.items()
        ],
        "server_member": {version: a2c.server_field(version) for version in a2c.PROTOCOLS},
        "websocket_close": a2c.WS_CLOSE_REFUSED,
    }


def status_of(status: a2a.Status | None) -> Table | None:
    return None if status is None else status._asdict()


def read_a2a() -> Table:
    return {
        "about": "The errors of A2A in its three versions, and what a status tells.",
        "errors": [
            {
                "name": row.name,
                "code": row.code,
                "reason": row.reason,
                "0.3": status_of(row.v03),
                "1.0.0": status_of(row.v100),
                "1.0.1": status_of(row.v101),
            }
            for row in a2a.ERRORS.values()
        ],
        "former_names": {a2a._RENAMED: a2a._FORMER},
        "canonical": [{"http": status, "grpc": name} for status, name in a2a.CANONICAL.items()],
        "plain": sorted(a2a.PLAIN),
        "statuses": [{"grpc": name, "http": row.http} for name, row in a2a.STATUS_MEANINGS.items()],
        "numbers_of_statuses": a2a.CODE_OF_STATUS,
    }


def read_bridge() -> Table:
    return {
        "about": "Which code of one vocabulary stands for which of another.",
        "tables": [
            {
                "from": source,
                "to": target,
                "rows": [{"code": code, "image": image} for code, image in table.rows.items()],
                "other": table.other,
                "by_reason": [
                    {"code": code, "images": dict(images), "other": table.other_reason}
                    for code, images in table.by_reason.items()
                ],
            }
            for (source, target), table in bridge._TABLES.items()
        ],
        "overrides": [
            {
                "vocabulary": source,
                "code": code,
                "category": category.value,
                "retryable": retryable,
            }
            for (source, code), (category, retryable) in bridge._OVERRIDES.items()
        ],
    }


def read_families() -> Table:
    return {
        "about": "Tokens that their own form tells. A form is a pattern of ECMA-262, and no token"
        " begins inside a word; one that is not exact must mix letters and digits.",
        "tokens": [
            {
                "vendor": vendor.name,
                "part": vendor.marker,
                "form": vendor.form,
                "exact": vendor.exact,
                "source": vendor.source,
            }
            for vendor in VENDORS
        ],
    }


#: Name of a file to what the library says of it.
LIBRARY: Mapping[str, Callable[[], Table]] = {
    "http": read_http,
    "grpc": read_grpc,
    "jsonrpc": read_jsonrpc,
    "words": read_words,
    "waits": read_waits,
    "limits": read_limits,
    "a2c-codes": read_a2c,
    "a2a-errors": read_a2a,
    "bridge": read_bridge,
    "redaction-families": read_families,
}


def load(name: str) -> Table:
    """
    Return one table of the specification.
    """
    return json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))


def library(name: str) -> Table:
    """
    Return what the library's own table says, as JSON reads it.
    """
    return json.loads(json.dumps(LIBRARY[name]()))
