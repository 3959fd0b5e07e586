"""
Servers as processes of their own, for agent frameworks that start them over stdio; and waits that are noted.
"""

import pytest

from agents_shop import Peer, Shop
from toolfault import Retry
from toolfault.testing import no_waits


@pytest.fixture(scope="session")
def new_shop(tmp_path_factory):
    """
    Make a `Shop` of which nothing is noted yet.
    """
    return lambda: Shop(tmp_path_factory.mktemp("shop") / "sent.jsonl")


@pytest.fixture
def shop(new_shop):
    return new_shop()


@pytest.fixture
def new_peer(tmp_path_factory):
    return lambda: Peer(tmp_path_factory.mktemp("peer") / "called")


@pytest.fixture
def waits():
    return []


@pytest.fixture
def retry(waits):
    """
    The usual rules; instead of waiting, the seconds are noted in *waits*.
    """
    return no_waits(Retry(), waits)
