"""
Hostile exceptions against real servers over stdio: each is answered with an envelope, and the server lives.
"""

import random

import pytest

from attack_exceptions import HOSTS, attack_host
from hostile_exceptions import ATTACKS, EVERYWHERE, KINDS


#: All kinds in all places, and as many of the overridden attributes as are quick.
SOME = [*EVERYWHERE, *random.Random(3).sample(ATTACKS[len(EVERYWHERE) :], 40)]


@pytest.mark.parametrize("kind", HOSTS)
def test_each_is_answered_with_an_envelope(kind):
    counts, missed = attack_host(kind, SOME)

    assert missed == []
    assert counts == {"enveloped": len(SOME)}


def test_a_sync_tool_may_raise_anything_in_its_thread():
    attacks = [("sync", name) for name in KINDS]

    assert attack_host("mcp_server", attacks) == ({"enveloped": len(attacks)}, [])
