"""
The page of libraries is what their failures become.
"""

import subprocess
import sys
from pathlib import Path


HERE = Path(__file__).parent


def test_the_page_is_current():
    path = f"{HERE}:{HERE / 'support'}"
    done = subprocess.run(
        [sys.executable, str(HERE / "write_libraries.py"), "--check"],
        env={"PYTHONPATH": path, "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=300,
    )

    assert done.returncode == 0, done.stderr[-2000:]
