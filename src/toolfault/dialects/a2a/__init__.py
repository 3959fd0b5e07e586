"""
The errors of A2A: the official table in three versions, and protocol-droid's own table.
"""

from toolfault.dialects.a2a import protocol_droid
from toolfault.dialects.a2a._codec import Binding, Profile, decode, encode, profile_of, recognise
from toolfault.dialects.a2a._official import (
    BAD_REQUEST,
    DOMAIN,
    ERROR_INFO,
    A2AError,
    FieldViolation,
)
from toolfault.dialects.a2a._table import CURRENT, ERRORS, ErrorType, Status, Version, error_type


__all__ = [
    "BAD_REQUEST",
    "CURRENT",
    "DOMAIN",
    "ERRORS",
    "ERROR_INFO",
    "A2AError",
    "Binding",
    "ErrorType",
    "FieldViolation",
    "Profile",
    "Status",
    "Version",
    "decode",
    "encode",
    "error_type",
    "profile_of",
    "protocol_droid",
    "recognise",
]
