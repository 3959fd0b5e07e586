"""
The README's blocks for these frameworks run; they need no network until a model is asked.
"""

import pytest

from framework_blocks import blocks_for


BLOCKS = blocks_for("agents")


def test_each_framework_has_a_block():
    assert {name for name, _ in BLOCKS} == {"agents", "google.adk", "pydantic_ai"}


@pytest.mark.parametrize(("name", "block"), BLOCKS, ids=[f"{name}-{number}" for number, (name, _) in enumerate(BLOCKS)])
def test_the_block_of_the_page_runs(name, block):
    exec(compile(block, f"README.md, {name}", "exec"), {"__name__": "page"})
