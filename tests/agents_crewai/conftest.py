"""
The fixtures that frameworks with mcp 1.x share.
"""

from agents_sessions import *  # noqa: F403 -- fixtures are found by their names here
