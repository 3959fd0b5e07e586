"""
For authors of integrations: what a host needs to put a guard around its calls, and a client to retry them.

A host makes a `Call`, catches what its handler raises, asks ``guard.passes(exc)`` whether it must leave unanswered,
and otherwise sends ``guard.to_result(guard.judge(exc, call))``.
"""

from __future__ import annotations

from toolfault._case import Call, Phase
from toolfault._guard import Guard, GuardOptions, being_cancelled
from toolfault._names import META_KEY
from toolfault._schema import widen_schema
from toolfault._text import encodable
from toolfault._verdict import Verdict
from toolfault._wire import json_safe, last_resort, to_result


__all__ = [
    "META_KEY",
    "Call",
    "Guard",
    "GuardOptions",
    "Phase",
    "Verdict",
    "being_cancelled",
    "encodable",
    "json_safe",
    "last_resort",
    "to_result",
    "widen_schema",
]
