"""
Faults from other error vocabularies, for the general reader.

Rule 1: a dialect says itself how it is recognised; nothing here names one.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from importlib import import_module
from typing import Any

from toolfault._json import is_mapping
from toolfault.dialects._clues import CLUES
from toolfault.dialects.tool_failure import failure_in
from toolfault.errors import FoundIn, ToolFault


def parse_dialect(obj: object) -> ToolFault | None:
    """
    Return the fault of an object that can only belong to one dialect, or None.
    """
    if not is_mapping(obj):
        return _parse_value(obj)
    for clue in CLUES:
        if not clue.may_be(obj):
            continue
        fault: ToolFault | None = import_module(clue.module).recognise(obj)
        if fault is not None:
            return fault
    return None


def _parse_value(obj: object) -> ToolFault | None:
    # An instance exists only where its dialect was loaded.
    for clue in CLUES:
        module = sys.modules.get(clue.module)
        if module is not None and issubclass(type(obj), getattr(module, "VALUES", ())):
            fault: ToolFault | None = module.recognise(obj)
            return fault
    return None


def parse_tool_failure(
    failure: object, texts: Iterable[str], *, found_in: FoundIn, received: Any
) -> ToolFault | None:
    """
    Return the fault of SEP-3313's object, or None if it is not one.

    Args:
        failure: The value under its key.
        texts: The texts beside it.
        found_in: The place of the answer in which it stood.
        received: The object to keep as received.
    """
    read = failure_in(failure, texts)
    if read is None:
        return None
    envelope, failure_id = read
    facts = {"id": failure_id} if failure_id else {}
    return ToolFault.of(envelope, found_in=found_in, received=received, facts=facts)
