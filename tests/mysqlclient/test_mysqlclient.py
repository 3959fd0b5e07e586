"""
mysqlclient, which needs a C library to build: MySQL's numbers, as the other drivers report them.
"""

import json
import os
import sys
from pathlib import Path

import MySQLdb
import pytest

from toolfault import Guard
from toolfault._names import qualified_name
from toolfault.hosting import Call
from toolfault.rules import mysql


sys.path.insert(0, str(Path(__file__).parents[1] / "services" / "support"))

from mysql_numbers import MYSQL, OUTAGE
from peers import mysql_error
from stub import refusing_url


def failure_of(port):
    with pytest.raises(MySQLdb.Error) as raised:
        MySQLdb.connect(host="127.0.0.1", port=port, user="u", password="NOTREAL", connect_timeout=5)
    return raised.value


def judge(exc):
    guard = Guard()
    fault = guard.judge(exc, Call(tool="t", function=os.getcwd))
    wire = json.dumps(guard.to_result(fault))
    for hidden in ("NOTREAL", "127.0.0.1", "10.0.0.7"):
        assert hidden not in wire, wire
    envelope = fault.envelope
    return envelope.code, envelope.category, envelope.retryable, envelope.retry_after_seconds


@pytest.mark.parametrize(("number", "state", "text", "expected"), MYSQL, ids=[str(row[0]) for row in MYSQL])
def test_a_number(number, state, text, expected):
    with mysql_error(number, state, text) as port:
        assert expected == judge(failure_of(port))


def test_a_refused_connection_is_an_outage():
    assert judge(failure_of(int(refusing_url().rpartition(":")[2]))) == OUTAGE


@pytest.mark.parametrize("name", sorted(name for name in mysql.RULES if name.startswith("MySQLdb.")))
def test_every_name_is_that_of_a_class(name):
    assert qualified_name(getattr(MySQLdb, name.rpartition(".")[2])) == name
