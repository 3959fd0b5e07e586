"""
The README's code blocks that need a framework: those that import one of them run where it is installed.
"""

import re
from pathlib import Path


#: What such a block imports, and the folder of the tests that run it.
FRAMEWORKS = {
    "fastmcp": "fastmcp",
    "langchain_mcp_adapters": "agents_mcp1",
    "strands": "agents_mcp1",
    "pydantic_ai": "agents",
    "agents": "agents",
    "google.adk": "agents",
    "llama_index": "agents_mcp2",
    "agent_framework": "agents_mcp2",
    "crewai": "agents_crewai",
    "mcp_use": "agents_crewai",
}


def framework_of(block):
    """
    The framework that a block imports. None: it needs none.
    """
    for name in FRAMEWORKS:
        if re.search(rf"^from {re.escape(name)}[. ]", block, re.MULTILINE):
            return name
    return None


def blocks_for(folder):
    """
    The blocks that the tests of a folder run, by framework.
    """
    page = Path(__file__).parents[2] / "README.md"
    blocks = re.findall(r"^```python\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)
    return [(name, block) for block in blocks if (name := framework_of(block)) and FRAMEWORKS[name] == folder]
