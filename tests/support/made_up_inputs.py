"""
Made-up inputs of the vectors' operations, to compare two implementations where no case stands.
"""

from __future__ import annotations

from typing import Any

from made_up_answers import Maker


UNITS = ["s", "ms", "m", "h", " seconds", " minutes", "min", " hour", " days", "parsecs", ""]
LEADS = [
    *("Retry after ", "Try again in ", "please wait ", "retry-after: ", "retry_after_ms="),
    *("Rate limit resets at ", "Available in ", "The job ran for ", "wait for ", "back off "),
]
MEMBERS = [
    *("retry_after", "retryAfter", "retry_after_ms", "retryDelay", "reset", "resets_at", "reset_at"),
    *("wait_seconds", "backoff", "cooldown", "retry_after_seconds", "ratelimit_reset", "timeout"),
]
HEADERS = [
    *("Retry-After", "retry-after-ms", "X-RateLimit-Reset", "X-RateLimit-Remaining", "RateLimit"),
    *("x-ratelimit-reset-tokens", "x-ratelimit-remaining-tokens", "acme-retry-after", "Date"),
]
FIELDS = ['"a";r=0;t=30', '"a";r=1;t=3, "b";r=0;t=9', "limit=5, remaining=0, reset=7", "0", "0", "5"]
BODIES = [
    *("", "boom", "You have exceeded a secondary rate limit", "insufficient_quota"),
    *("check your billing details", "Quota exceeded: 100 per day", "too many requests per minute"),
    *('{"error": {"retry_after": 5}}', "try again in 20 seconds", "exceeded your quota"),
]
STATUSES = [400, 401, 403, 404, 409, 413, 418, 429, 500, 502, 503, 504, 529, 599, 302]
TYPES: list[Any] = [
    *({"type": "string"}, {"type": "integer"}, {}, {"enum": ["a", "internal"]}, {"const": "x"}),
    *({"$ref": "#/$defs/x"}, {"$ref": "#"}, True, False, {"minLength": 2}),
    *({"type": ["string", "null"]}, {"anyOf": [{"type": "string"}, {"type": "null"}]}),
]
NAMES = ["a", "b", "code", "message", "category", "retryable", "hint", "retry_after_seconds"]
TEXTS = [
    *("Down.", "The quota is used up. Try again in 30 seconds.", "Retry after 5 s", "x\nHint: no"),
    *("m\n\n  [internal] x", "did you mean Bern?", "Please try again later.", "a\ud800b", ""),
]


class Inputs(Maker):
    """
    Makes inputs, the same ones for the same seed.
    """

    def number(self) -> str:
        return str(self.pick(0, 1, 7, 59.56, 2026, 999999999, 1796083290, 1796083290000, -3, "1e3", "007"))

    def spelling(self) -> str:
        return self.pick(
            self.number(),
            self.number() + self.pick(*UNITS),
            f"{self.number()}{self.pick(*UNITS)}{self.pick('', ' ', ', ', ' and ')}7{self.pick(*UNITS)}",
            self.pick("PT30S", "P1DT1H", "0:05:00", "an hour", "soon", "", "12/25/2026"),
            self.pick("2026-12-01T00:01:30Z", "2026-12-02", "Tue, 01 Dec 2026 00:01:30 GMT"),
        )

    def members(self, depth: int = 2) -> dict[str, Any]:
        values = [self.spelling(), 5, 1.2, 1796083290, True, None, [3], {"seconds": "3"}]
        inner = [self.members(depth - 1)] if depth else []
        return {self.pick(*MEMBERS): self.pick(*values, *inner) for _ in range(self.pick(1, 2))}

    def headers(self) -> dict[str, str]:
        return {self.pick(*HEADERS): self.pick(self.spelling(), *FIELDS) for _ in range(self.pick(1, 2, 3))}

    def wait(self) -> dict[str, Any]:
        return self.pick(
            {"value": self.spelling()},
            {"prose": self.pick(*LEADS) + self.spelling() + self.pick("", ".", "%", " attempts")},
            {"json": self.members()},
            {"headers": self.headers(), "limited": self.pick(True, False)},
        )

    def http_status(self) -> dict[str, Any]:
        headers = self.headers()
        if self.chance(0.3):
            headers[self.pick("x-should-retry", "Proxy-Status")] = self.pick(
                "true", "false", "edge; error=http_request_denied"
            )
        return {"status": self.pick(*STATUSES), "headers": headers, "body": self.pick(*BODIES)}

    def grpc_status(self) -> dict[str, Any]:
        status = self.pick("RESOURCE_EXHAUSTED", "RESOURCE_EXHAUSTED", "UNAVAILABLE", "ABORTED", 14, 99)
        wait = {"wait": self.pick(0, 4)} if self.chance(0.3) else {}
        quota = self.pick("", "Queries per minute", "Queries")
        return {"status": status, "text": self.pick(*BODIES), "quota": quota, "again": self.chance(0.8), **wait}

    def write_result(self) -> dict[str, Any]:
        envelope = {
            "code": self.pick("quota_exceeded", "internal", "invalid_arguments"),
            "message": self.pick(*TEXTS),
            "category": self.pick("transient", "permanent"),
            "retryable": self.pick(True, False),
        }
        if self.chance(0.5):
            envelope["retry_after_seconds"] = self.pick(0, 1, 5, 30)
        if self.chance(0.5):
            envelope["hint"] = self.pick("", "did you mean Bern?", "Ask\n for  less.", "x")
        facts = self.pick({}, {"id": "a"}, {"id": "a", "deep": [[1]], "v": 7, "x": None})
        guidance = self.pick("block", "inline", "none")
        return {"envelope": envelope, "guidance": guidance, "structured": self.chance(0.7), "facts": facts}

    def widen(self) -> dict[str, Any]:
        schema: dict[str, Any] = {"type": self.pick("object", "object", "object", "array")}
        if self.chance(0.8):
            schema["properties"] = {self.pick(*NAMES): self.pick(*TYPES) for _ in range(self.pick(0, 1, 2))}
        more = {
            "required": [self.pick(*NAMES)],
            "additionalProperties": self.pick(False, True, {"type": "string"}),
            "maxProperties": self.pick(1, 4, 9),
            "anyOf": [{"required": ["a"]}, {"required": ["b"]}],
            "unevaluatedProperties": False,
        }
        schema |= {name: value for name, value in more.items() if self.chance(0.2)}
        # Without what is referred to, nobody can decide, and implementations may differ.
        schema["$defs"] = {"x": {"type": "string"}}
        return {"schema": schema}

    def retry_decide(self) -> dict[str, Any]:
        failure = {
            "code": self.pick("quota_exceeded", "internal", "tool_timeout"),
            "retryable": self.chance(0.9),
            "outcome": self.pick(None, "not_executed", "unknown"),
            "retry_after_seconds": self.pick(None, 0, 5, 119, 120, 121),
            "never_sent": self.chance(0.1),
        }
        hints = {"annotations": self.pick({}, {"readOnlyHint": True}, {"idempotentHint": "true"})}
        given = {
            "failure": self.pick(failure, failure, failure, None),
            "attempt": self.pick(1, 2, 3),
            "elapsed": self.pick(0, 60, 119.5, 120),
            "tokens": self.pick(0, 0.4, 1, 9.95, 10),
            "random": self.pick(0.0, 0.5, 1.0),
            "trust_hints": self.chance(0.8),
            "tool": hints,
        }
        return {**given, **({"idempotent": self.pick(True, False)} if self.chance(0.3) else {})}

    def input(self, op: str) -> dict[str, Any]:
        """
        Make an input of an operation.
        """
        return {"op": op, **getattr(self, op.replace("-", "_"))()}
