"""
How often the prose classifiers are right about what real servers answered.

Run it as ``TOOLFAULT_WIRE=path python tests/wire_confusion.py``, with the path of the labelled records. The servers
are split into two halves by a hash of their names: rules were written with the *open* half in view, the *set-aside*
half only measures them. Its texts are never printed.
"""

# ruff: noqa: T201 -- a program that prints

import hashlib
import json
import os
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from toolfault._codes import DEFAULTS, McpErrorCode
from toolfault._prose import careful, exact, looks_failed


VARIABLE = "TOOLFAULT_WIRE"

#: What the label's reader was sure enough of to score a classifier by it.
SCORED = {"sure", "likely"}

CODES = [code.value for code in McpErrorCode]


class Unusable(Exception):
    """
    The file is not there, or is something else; the text names the cure.
    """


# ---- records


def read(path):
    """
    The records of a file, checked for the members that are used here.
    """
    cure = f"{VARIABLE} must name a file of labelled records: a JSON list whose members have server, shape, call, response, label"
    if not path:
        raise Unusable(f"{VARIABLE} is not set. {cure}.")
    try:
        records = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as exc:
        raise Unusable(f"{path} can't be read ({exc.strerror}). {cure}.") from None
    except ValueError as exc:
        raise Unusable(f"{path} is no JSON ({exc}). {cure}.") from None
    if not isinstance(records, list) or not records:
        raise Unusable(f"{path} holds no list of records. {cure}.")
    for number, record in enumerate(records):
        try:
            record["shape"], is_open(record["server"]), text_of(record), called(record)
            if record["label"]["is_failure"]:
                record["label"]["code"], record["label"]["retryable"], record["label"]["confidence"]
        except (KeyError, TypeError, AttributeError) as exc:
            raise Unusable(
                f"record {number} of {path} has another form ({type(exc).__name__}: {exc}). {cure}."
            ) from None
    return records


def is_open(server):
    """
    Whether a server ("package version") belongs to the half that may be looked at.
    """
    package = server.split(" ")[0]
    return hashlib.sha256(package.encode()).digest()[0] % 2 == 0


def text_of(record):
    """
    The best text of a record: all text blocks, or the JSON-RPC error's message.
    """
    response = record["response"] or {}
    if "error" in response:
        return response["error"]["message"]
    blocks = response.get("result", {}).get("content", [])
    return "\n".join(block["text"] for block in blocks if block["type"] == "text")


def called(record):
    """
    The tool, its arguments and the JSON-RPC code of a record.
    """
    call = record["call"] or {}
    arguments = call.get("arguments")
    return {
        "tool": call.get("tool"),
        "arguments": arguments if isinstance(arguments, dict) else None,
        "rpc_code": ((record["response"] or {}).get("error") or {}).get("code"),
    }


# ---- scores


@dataclass
class Scores:
    records: int = 0
    right: int = 0
    exactly: int = 0
    decidable: int = 0
    retryable_wrong: int = 0
    table: Counter = field(default_factory=Counter)
    failures: int = 0
    suspected: int = 0
    successes: int = 0
    false_alarms: int = 0

    @property
    def code_share(self):
        return share(self.right, self.records)

    @property
    def exact_share(self):
        return share(self.exactly, self.records)

    @property
    def retryable_wrong_share(self):
        return share(self.retryable_wrong, self.decidable)

    @property
    def suspected_share(self):
        return share(self.suspected, self.failures)


def share(part, whole):
    return part / whole if whole else 0.0


def score(records):
    """
    How both classifiers and the suspicion do on these records.
    """
    scores = Scores()
    for record in records:
        label = record["label"]
        if record["shape"] == "result":
            count_suspicion(scores, text_of(record), failed=label["is_failure"])
        if label["is_failure"] and record["shape"] != "none" and label["confidence"] in SCORED:
            count_reading(scores, record, label)
    return scores


def count_suspicion(scores, text, *, failed):
    suspected = looks_failed(text)
    if failed:
        scores.failures += 1
        scores.suspected += suspected
    else:
        scores.successes += 1
        scores.false_alarms += suspected


def count_reading(scores, record, label):
    text = text_of(record)
    verdict = careful(text, **called(record))
    # Who knows nothing says "internal", permanent: so do the callers of careful().
    said = McpErrorCode.INTERNAL if verdict is None else verdict.code
    retryable = DEFAULTS[said][1] if verdict is None or verdict.retryable is None else verdict.retryable
    honest = {label["code"], *(label.get("also_ok") or ())}
    scores.records += 1
    scores.right += said.value in honest
    scores.exactly += exact(text).value in honest
    scores.table[label["code"], label["code"] if said.value in honest else said.value] += 1
    if not label.get("retryable_either"):
        scores.decidable += 1
        scores.retryable_wrong += retryable != label["retryable"]


# ---- print


def report(name, scores):
    print(f"{name}: {scores.records} failures")
    print(f"  code right       {scores.code_share:6.1%}   (the exact classifier: {scores.exact_share:.1%})")
    print(f"  retryable wrong  {scores.retryable_wrong_share:6.1%}   ({scores.retryable_wrong} of {scores.decidable})")
    print(
        f"  suspicion        {scores.suspected_share:6.1%}   ({scores.suspected} of {scores.failures} success-shaped failures)"
    )
    print(f"  false alarms     {scores.false_alarms:6}   (on {scores.successes} good results)")
    said = [code for code in CODES if any(key[1] == code for key in scores.table)]
    if said:
        print(f"\n  {'label, and what was said':24}" + "".join(f"{short(code):>13}" for code in said))
    for label in CODES:
        row = [scores.table[label, code] for code in said]
        if any(row):
            print(f"  {label:24}" + "".join(f"{number or '.':>13}" for number in row))
    print()


def short(code):
    return code.replace("mcp_server_", "").replace("invalid_", "")[:12]


def halves(records):
    """
    The open half and the set-aside half.
    """
    return (
        [record for record in records if is_open(record["server"])],
        [record for record in records if not is_open(record["server"])],
    )


def main():
    try:
        records = read(os.environ.get(VARIABLE))
    except Unusable as exc:
        sys.exit(str(exc))
    for name, half in zip(("open half", "set-aside half"), halves(records), strict=True):
        report(name, score(half))


if __name__ == "__main__":
    main()
