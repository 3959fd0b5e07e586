"""
How often failures are read rightly that real servers answered, or met with silence.

Run it as ``TOOLFAULT_WIRE=path python tests/wire_confusion.py``, with the path of the labelled records. The servers
are split into two halves by a hash of their names: rules were written with the *open* half in view, the *set-aside*
half only measures them. Its texts are never printed.

Each answer goes through `parse` whole, and where its server set no flag, through `suspect`. Calls that were never
answered are made again, over a real session behind `retrying`, to a server that keeps silent or goes away.
"""

# ruff: noqa: T201 -- a program that prints

import hashlib
import json
import os
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import trio.testing
from mcp import ClientSession
from mcp.shared.memory import create_client_server_memory_streams
from mcp.shared.message import SessionMessage
from mcp.types import JSONRPCResponse

from toolfault import McpErrorCode, parse, suspect
from toolfault._prose.careful import exact
from toolfault.integrations.mcp import retrying


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
    cure = f"{VARIABLE} must name a file of labelled records: a JSON list whose members have server, shape, call, response, outcome, label"
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
            record["shape"], is_open(record["server"]), text_of(record), called(record), record["outcome"]
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
    The tool and its arguments, as the reader gets them.
    """
    call = record["call"] or {}
    arguments = call.get("arguments")
    return {"tool": call.get("tool"), "arguments": arguments if isinstance(arguments, dict) else None}


# ---- calls without an answer


def unanswered(record):
    """
    The fault of a call that ends as a record tells: no answer in time, or a server that died.
    """
    clock = trio.testing.MockClock(autojump_threshold=0)
    return anyio.run(_call, record, backend="trio", backend_options={"clock": clock})


async def _call(record):
    call = called(record)
    async with create_client_server_memory_streams() as (client, server), anyio.create_task_group() as tasks:
        tasks.start_soon(_serve, server, record["outcome"] == "died")
        async with ClientSession(*client) as session:
            await session.initialize()
            try:
                await retrying(session).call_tool(
                    call["tool"] or "", call["arguments"], idempotent=False, read_timeout_seconds=15
                )
            except Exception as exc:
                fault = parse(exc, **call)
        tasks.cancel_scope.cancel()
    return fault


async def _serve(streams, dies):
    receive, send = streams
    answers = {
        "initialize": {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "serverInfo": {"name": "silent", "version": "0"},
        },
        "tools/list": {"tools": []},
    }
    async for message in receive:
        asked = message.message
        if asked.method == "tools/call" and dies:
            await receive.aclose()
            await send.aclose()
            return
        if (answer := answers.get(asked.method)) is not None:
            await send.send(SessionMessage(JSONRPCResponse(jsonrpc="2.0", id=asked.id, result=answer)))


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
    respelled: int = 0
    unanswered: int = 0
    unanswered_right: int = 0

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
    How the reader and the suspicion do on these records.
    """
    scores = Scores()
    for record in records:
        label, fault = record["label"], fault_of(record)
        if record["shape"] == "result" and is_respelled(record["response"]["result"]):
            scores.respelled += 1
        elif record["shape"] == "result":
            count_suspicion(scores, fault, failed=label["is_failure"])
        elif fault is None:
            raise AssertionError(f"{record['server']} flagged a failure, and it was read as a success")
        if not label["is_failure"] or label["confidence"] not in SCORED:
            continue
        if record["shape"] == "none":
            scores.unanswered += 1
            scores.unanswered_right += fault.code.value in honest(label)
        else:
            count_reading(scores, record, label, fault)
    return scores


def fault_of(record):
    """
    What is read out of a record; of one without a flag, what is suspected.
    """
    if record["shape"] == "none":
        return unanswered(record)
    answer = {"jsonrpc": "2.0", "id": 1, **record["response"]}
    fault = parse(answer, **called(record))
    if record["shape"] != "result":
        return fault
    if fault is not None and is_respelled(answer["result"]):
        return fault
    if fault is not None:
        raise AssertionError(f"{record['server']} flagged nothing, and it was read as a failure")
    return suspect(answer["result"], **called(record))


def is_respelled(result):
    """
    Whether a result has its flag in snake case, which counts as one though the protocol knows it not.
    """
    return result.get("is_error") in (True, "true")


def honest(label):
    return {label["code"], *(label.get("also_ok") or ())}


def count_suspicion(scores, fault, *, failed):
    if failed:
        scores.failures += 1
        scores.suspected += fault is not None
    else:
        scores.successes += 1
        scores.false_alarms += fault is not None


def count_reading(scores, record, label, fault):
    # Who suspects nothing says "unknown", which is no label.
    said = McpErrorCode.UNKNOWN if fault is None else fault.code
    right = said.value in honest(label)
    scores.records += 1
    scores.right += right
    scores.exactly += exact(text_of(record)).value in honest(label)
    scores.table[label["code"], label["code"] if right else said.value] += 1
    # A failure that nobody noticed says nothing on trying again.
    if fault is not None and not label.get("retryable_either"):
        scores.decidable += 1
        scores.retryable_wrong += fault.envelope.retryable != label["retryable"]


# ---- print


def report(name, scores):
    print(f"{name}: {scores.records} failures")
    print(f"  code right       {scores.code_share:6.1%}   (the exact classifier: {scores.exact_share:.1%})")
    print(f"  retryable wrong  {scores.retryable_wrong_share:6.1%}   ({scores.retryable_wrong} of {scores.decidable})")
    print(
        f"  suspicion        {scores.suspected_share:6.1%}   ({scores.suspected} of {scores.failures} success-shaped failures)"
    )
    print(f"  false alarms     {scores.false_alarms:6}   (on {scores.successes} good results)")
    print(f"  snake case       {scores.respelled:6}   (results that are flagged in that spelling)")
    print(f"  unanswered calls {scores.unanswered_right:6}   (right, of {scores.unanswered} over a session)")
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
