"""
The site's blocks that import FastAPI run, and print what they say; tests/test_docs.py leaves them to this.
"""

import contextlib
import io
import re

import pytest

from framework_blocks import blocks_for


BLOCKS = blocks_for("services")


def test_there_is_one():
    assert BLOCKS


@pytest.mark.parametrize(("name", "block"), BLOCKS, ids=[name for name, _ in BLOCKS])
def test_the_block_prints_what_it_says(name, block):
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(block, name, "exec"), {"__name__": "page"})

    assert printed.getvalue().splitlines() == re.findall(r"^ *#> (.*)$", block, re.MULTILINE)
