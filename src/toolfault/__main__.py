"""
Run the command line: ``python -m toolfault``.
"""

import sys

from toolfault.cli import main


if __name__ == "__main__":
    sys.exit(main())
