"""
Made-up answers to a tool call: every place of a failure, every spelling, and much that makes no sense.

Their texts are such that the exact classifier of prose and a careful one agree on them.
"""

from __future__ import annotations

import random
from typing import Any


CODES = [
    *("quota_exceeded", "internal", "tool_timeout", "invalid_arguments", "unknown"),
    *("future_code", "INTERNAL", "RATE_LIMITED", "", 7, None, 429, "503", -32602, -32001),
]
MESSAGES = ["It did not work.", "Rate limit reached", "boom", "Unknown tool: x", "", None, 5]
WAITS = [0, 1, 30, 1.2, -5, "10", "1.5", "5 minutes", "soon", None, 4294967296, [3], {"seconds": 3}]

#: Members of an envelope or a weak form: the values that they take, and how often one is there.
MEMBERS: dict[str, tuple[list[Any], float]] = {
    "code": (CODES, 0.8),
    "message": (MESSAGES, 0.8),
    "category": (["transient", "permanent", "auth", "unknown", "cosmic", None, 5], 0.6),
    "retryable": ([True, False, "true", "FALSE", None, 1, "yes"], 0.6),
    "retry_after_seconds": (WAITS, 0.3),
    "hint": (["Try x.", "", 5, None], 0.2),
    "cause_chain": ([[], ["a"], ["a", 1], None, "x"], 0.2),
    "status": ([429, 503, "500", 200, "failed"], 0.1),
    "suggestion": (["Do y."], 0.1),
    "retryAfter": (WAITS, 0.1),
    "error_code": (["RATE_LIMITED", "E42"], 0.1),
    "detail": (["Ask the desk for it."], 0.1),
}


class Maker:
    """
    Makes answers, the same ones for the same seed.
    """

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def chance(self, share: float) -> bool:
        return self._random.random() < share

    def pick(self, *choices: Any) -> Any:
        return self._random.choice(choices)

    def envelope(self) -> dict[str, Any]:
        return {name: self.pick(*values) for name, (values, share) in MEMBERS.items() if self.chance(share)}

    def body(self, depth: int = 2) -> Any:
        if depth and self.chance(0.2):
            return {self.pick("error", "result", "error_verdict", "data"): self.body(depth - 1)}
        if self.chance(0.8):
            return self.envelope()
        return self.pick({"forecast": [1]}, None, 5, "x", [self.envelope()], True)

    def text(self) -> str:
        prose = self.pick("It did not work.", "Rate limit reached", "boom", "Unknown tool: x", "")
        again = "The same call may succeed if it is retried after 30 seconds."
        advised = f"Rate limit reached\n{again}\nHint: Ask for less."
        return self.pick(prose, prose, advised)

    def content(self) -> Any:
        texts = [{"type": "text", "text": self.text()} for _ in range(self.pick(0, 1, 1))]
        return self.pick(texts, texts, [{"type": "image"}], self.text())

    def meta(self) -> dict[str, Any]:
        facts = {
            "v": 1,
            "error": self.body(),
            "outcome": self.pick("not_executed", "perhaps", 5),
            "id": self.pick("a1", 5),
            "upstream_status": self.pick(429, "x", 200),
        }
        failure = {
            "class": self.pick("reliability", "governance", "capability", "x"),
            "code": self.pick(*CODES),
            "retryable": self.pick(True, False, "true"),
        }
        return {
            "io.github.toolfault/error": self.pick(facts, facts, {"v": 1}, "x", self.envelope()),
            "io.modelcontextprotocol/toolFailure": self.pick(None, None, failure, 5),
        }

    def result(self) -> dict[str, Any]:
        flag = self.pick(True, True, True, False, "true", " True ", "no", 1, None)
        result: dict[str, Any] = {"isError": flag, "content": self.content()}
        if self.chance(0.6):
            result["structuredContent"] = self.body()
        if self.chance(0.3):
            result["_meta"] = self.meta()
        if self.chance(0.05):
            result["resultType"] = "input_required"
        return result

    def error(self) -> Any:
        numbers = (-32602, -32601, -32603, -32000, -32001, -32042, -32099, 429, 5, "x")
        error: dict[str, Any] = {"code": self.pick(*numbers), "message": self.pick(*MESSAGES)}
        if self.chance(0.5):
            error["data"] = self.pick(self.body(), self.meta())
        return self.pick(error, error, error, error, "Rate limit reached", self.envelope())

    def task(self) -> dict[str, Any]:
        task: dict[str, Any] = {"taskId": "t", "status": self.pick("failed", "completed", "working")}
        if self.chance(0.5):
            task["statusMessage"] = self.pick("Rate limit reached", 5)
        if self.chance(0.3):
            task["result"] = self.result()
        return task

    def answer(self) -> dict[str, Any]:
        """
        Make one answer: a result, bare or in a response, an error likewise, or a task.
        """
        response = {"jsonrpc": "2.0", "id": 1}
        return self.pick(
            self.result(),
            self.result(),
            self.result(),
            {**response, "result": self.result()},
            {**response, "error": self.error()},
            self.task(),
            self.pick(self.error(), self.envelope(), {"code": 0, "message": "success"}),
        )
