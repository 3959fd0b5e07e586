"""
Check the Python blocks of the README and of the site with mypy in strict mode.

`make check` runs this.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path


ROOT = Path(__file__).parents[2]

#: Packages that need environments of their own, so that mypy cannot see them here.
ELSEWHERE = (
    "agent_framework",
    "agents",
    "crewai",
    "fastapi",
    "google",
    "langchain_mcp_adapters",
    "llama_index",
    "mcp_use",
    "pydantic_ai",
    "strands",
)


def blocks() -> dict[str, str]:
    """
    Return the blocks that can be checked here, by the page and line at which each begins.
    """
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    found: dict[str, str] = {}
    for path in pages:
        page = path.read_text(encoding="utf-8")
        name = re.sub(r"\W", "_", path.relative_to(ROOT).with_suffix("").as_posix())
        for match in re.finditer(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL):
            imported = re.findall(r"^(?:from|import) (\w+)", match[1], re.MULTILINE)
            if not set(imported) & set(ELSEWHERE):
                line = page.count("\n", 0, match.start()) + 2
                found[f"{name}_line_{line}"] = match[1]
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
    sys.stdout.write(said)
    sys.exit(code)
