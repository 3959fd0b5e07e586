"""
The blocks of the pages that import FastMCP run, and print what they say; tests/test_docs.py leaves them to this.
"""

from pathlib import Path

import pytest
from pytest_examples import CodeExample, EvalExample, find_examples


ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "docs" / "guides" / "fastmcp.md"]
BLOCKS = [example for page in PAGES for example in find_examples(page) if "from fastmcp import" in example.source]


def test_there_is_one():
    assert BLOCKS


@pytest.mark.parametrize("example", BLOCKS, ids=str)
def test_python_blocks_run_and_print_what_they_say(example: CodeExample, eval_example: EvalExample):
    eval_example.set_config(line_length=120, ruff_ignore=["I001"])
    if eval_example.update_examples:
        eval_example.run_print_update(example)
    else:
        eval_example.run_print_check(example)
