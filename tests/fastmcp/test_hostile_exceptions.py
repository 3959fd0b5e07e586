"""
Hostile exceptions against FastMCP 4 over stdio: each is answered with an envelope, and the server lives.
"""

import pytest

from attack_exceptions import Peer, attack_host
from hostile_exceptions import ATTACKS, EVERYWHERE, KINDS


#: asyncio throws a GeneratorExit out of a sync tool's thread into the outermost coroutine, past FastMCP's middleware.
SYNC = [("sync", name) for name in KINDS if "generator_exit" not in name or name.startswith("group")]
SOME = [*EVERYWHERE, *ATTACKS[len(EVERYWHERE) :: 17], *SYNC]


def test_each_is_answered_with_an_envelope():
    counts, missed = attack_host("fastmcp_4", SOME)

    assert missed == []
    assert counts == {"enveloped": len(SOME)}


@pytest.mark.parametrize("plain", [(), ("plain",)], ids=["guarded", "plain"])
@pytest.mark.parametrize("name", sorted(set(KINDS) - {name for _, name in SYNC}))
def test_a_generator_exit_out_of_a_thread_ends_the_server_with_and_without_us(name, plain):
    peer = Peer("fastmcp_4", *plain)
    try:
        assert peer.outcome("sync", name) == "dead"
    finally:
        peer.close()
