"""
The fixtures that frameworks with mcp 2.x share.
"""

from agents_servers import *  # noqa: F403 -- fixtures are found by their names here
