"""
Check the Python blocks of the README with mypy in strict mode; `make check` runs this.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path


README = Path(__file__).parents[2] / "README.md"

#: Packages that need environments of their own, so that mypy cannot see them here.
ELSEWHERE = (
    "agent_framework",
    "agents",
    "crewai",
    "google",
    "langchain_mcp_adapters",
    "llama_index",
    "mcp_use",
    "pydantic_ai",
    "strands",
)


def blocks() -> dict[str, str]:
    """
    Return the blocks that can be checked here, by the line at which each begins.
    """
    page = README.read_text(encoding="utf-8")
    found: dict[str, str] = {}
    for match in re.finditer(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL):
        imported = re.findall(r"^(?:from|import) (\w+)", match[1], re.MULTILINE)
        if not set(imported) & set(ELSEWHERE):
            found[f"line_{page.count(chr(10), 0, match.start()) + 2}"] = match[1]
    return found


def check() -> tuple[int, str]:
    """
    Return mypy's exit code and what it says; 0 means that all blocks are right.
    """
    with tempfile.TemporaryDirectory() as folder:
        for name, source in blocks().items():
            Path(folder, f"{name}.py").write_text(source, encoding="utf-8")
        command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "."]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


if __name__ == "__main__":
    code, said = check()
    sys.stdout.write(said.replace("line_", "README.md, block at line "))
    sys.exit(code)
