"""
Every code block of the README, the specs and the example's page runs, and prints what it says.
"""

import json
import re
from pathlib import Path

import pytest
from pytest_examples import CodeExample, EvalExample, find_examples


HERE = Path(__file__).parent.parent
PAGES = [
    HERE / "README.md",
    HERE / "CHANGELOG.md",
    *sorted((HERE / "specs").glob("*.md")),
    HERE / "example_server" / "README.md",
]
#: The program of the example's page needs its server; tests/test_example.py runs it and compares what it prints.
PYTHON = [example for page in PAGES if page.parent.name != "example_server" for example in find_examples(page)]
JSON = [
    pytest.param(block, id=f"{page.relative_to(HERE)}-{number}")
    for page in PAGES
    for number, block in enumerate(re.findall(r"^```json\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL), 1)
]


@pytest.mark.parametrize("example", PYTHON, ids=str)
def test_python_blocks_run_and_print_what_they_say(example: CodeExample, eval_example: EvalExample):
    eval_example.set_config(line_length=120, ruff_ignore=["I001"])
    if eval_example.update_examples:
        eval_example.run_print_update(example)
    else:
        eval_example.run_print_check(example)


@pytest.mark.parametrize("block", JSON)
def test_json_blocks_parse(block):
    assert json.loads(block) is not None


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(HERE)))
def test_links_to_files_lead_somewhere(page):
    for target in re.findall(r"\]\((?!https?://|#)([^)#]+)", page.read_text()):
        assert (page.parent / target).exists(), target


def test_the_first_page_of_the_readme_does_what_it_says():
    """
    Its server and its client, in one session; and the wire between them as it is shown.
    """
    import anyio
    from mcp import Client

    page = (HERE / "README.md").read_text()
    lines = page.splitlines()
    assert lines.index("`pip install toolfault`") < 40
    server, client = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)[:2]
    before, after = (
        json.loads(block) for block in re.findall(r"^```json\n(.*?)^```", page, re.MULTILINE | re.DOTALL)[:2]
    )
    space = {"__name__": "readme"}
    exec(server + client, space)

    async def run(made):
        async with Client(made) as session:
            return await space["ask"](session, "Oslo"), await session.call_tool("forecast", {"city": "Oslo"})

    said, result = anyio.run(run, space["mcp"])
    assert said == "come back in 3600 seconds"
    wire = result.model_dump(mode="json", by_alias=True, exclude_none=True)
    assert after["structuredContent"] == wire["structuredContent"]
    assert after["content"] == wire["content"][:1]

    space = {"__name__": "readme"}
    exec(server.replace('install(MCPServer("weather"))', 'MCPServer("weather")') + client, space)
    _, result = anyio.run(run, space["mcp"])
    wire = result.model_dump(mode="json", by_alias=True, exclude_none=True)
    assert (before["isError"], before["content"]) == (wire["isError"], wire["content"])
