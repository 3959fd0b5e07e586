"""
The pages' code blocks that need a framework: those that import one of them run where it is installed.
"""

import re
from pathlib import Path


_BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)

#: What such a block imports, and the folder of the tests that run it. FastMCP comes with some of the others.
FRAMEWORKS = {
    "langchain_mcp_adapters": "agents_mcp1",
    "strands": "agents_mcp1",
    "pydantic_ai": "agents",
    "agents": "agents",
    "google.adk": "agents",
    "llama_index": "agents_mcp2",
    "agent_framework": "agents_mcp2",
    "crewai": "agents_crewai",
    "mcp_use": "agents_crewai",
    "fastapi": "services",
    "fastmcp": "fastmcp",
}


def framework_of(block):
    """
    The framework that a block imports. None: it needs none.
    """
    for name in FRAMEWORKS:
        if re.search(rf"^from {re.escape(name)}[. ]", block, re.MULTILINE):
            return name
    return None


def pages():
    """
    The pages whose blocks run: the README, the example's and the site's.
    """
    root = Path(__file__).parents[2]
    return [root / "README.md", root / "example_server" / "README.md", *sorted((root / "docs").rglob("*.md"))]


def blocks_for(folder):
    """
    The blocks that the tests of a folder run, by framework; one that stands on two pages runs once.
    """
    blocks = [block for page in pages() for block in _BLOCK.findall(page.read_text())]
    return [
        (name, block) for block in dict.fromkeys(blocks) if (name := framework_of(block)) and FRAMEWORKS[name] == folder
    ]
