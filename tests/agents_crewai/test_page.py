"""
The README's blocks for these frameworks run; they need no network until a model is asked.
"""

import pytest

from framework_blocks import blocks_for


BLOCKS = blocks_for("agents_crewai")


def test_each_framework_has_a_block():
    assert len(BLOCKS) == len({name for name, _ in BLOCKS}) == 2


@pytest.mark.parametrize(("name", "block"), BLOCKS, ids=[name for name, _ in BLOCKS])
def test_the_block_of_the_page_runs(name, block):
    exec(compile(block, f"README.md, {name}", "exec"), {"__name__": "page"})
