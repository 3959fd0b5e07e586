"""
Hostile exceptions against servers of mcp 1.x over stdio: each is answered with an envelope, and the server lives.
"""

import pytest

from attack_exceptions import attack_host
from hostile_exceptions import ATTACKS, EVERYWHERE, KINDS


SOME = [*EVERYWHERE, *ATTACKS[len(EVERYWHERE) :: 17]]


@pytest.mark.parametrize(
    ("kind", "attacks"), [("fastmcp_1", [*SOME, *(("sync", name) for name in KINDS)]), ("lowlevel_1", SOME)]
)
def test_each_is_answered_with_an_envelope(kind, attacks):
    counts, missed = attack_host(kind, attacks)

    assert missed == []
    assert counts == {"enveloped": len(attacks)}
