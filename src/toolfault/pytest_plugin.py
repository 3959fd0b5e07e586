"""
Fixtures for pytest: write ``pytest_plugins = ["toolfault.pytest_plugin"]`` into ``conftest.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from toolfault.testing import Report, assert_level, check


__all__ = ["check_server"]


@pytest.fixture
def check_server() -> Callable[..., Report]:
    """
    Return a function that checks a server as `testing.check`, and fails the test with the findings.
    """

    def check_and_assert(server: object, **options: Any) -> Report:
        __tracebackhide__ = True
        report = check(server, **options)
        assert_level(report)
        return report

    return check_and_assert
