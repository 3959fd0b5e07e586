"""
Hostile exceptions against FastMCP 4 over stdio: each is answered with an envelope, and the server lives.
"""

from attack_exceptions import attack_host
from hostile_exceptions import ATTACKS, EVERYWHERE, KINDS


#: asyncio throws a GeneratorExit out of a sync tool's thread into the outermost coroutine, past FastMCP's middleware.
SYNC = [("sync", name) for name in KINDS if "generator_exit" not in name or name.startswith("group")]
SOME = [*EVERYWHERE, *ATTACKS[len(EVERYWHERE) :: 17], *SYNC]


def test_each_is_answered_with_an_envelope():
    counts, missed = attack_host("fastmcp_4", SOME)

    assert missed == []
    assert counts == {"enveloped": len(SOME)}
