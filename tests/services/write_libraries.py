"""
Writes ``specs/libraries.md``: what the usual failures of libraries become, each really raised.

Run it in the environment of these tests, ``python tests/services/write_libraries.py``; ``--check``
tells whether the page is what it would write.
"""

# ruff: noqa: T201 -- a program that prints

import logging
import sys
import warnings
from pathlib import Path

import test_http_sdks
import test_local
from peers import mongodb_error, mysql_error


PAGE = Path(__file__).parents[2] / "specs" / "libraries.md"

TOP = """\
# What the failures of libraries become

Each row was raised for real: by the package itself, or against a service that the test runs.
This page is written by a program, `python tests/services/write_libraries.py`; a test compares the two.

*Message* is what a model reads first.
Which class has which rule stands in [the rule tables](../docs/tables.md).
A library that no table names is judged by the HTTP status that its exception or its answer carries, then by what the exception was raised from, then by the words of its class.
"""

#: SDKs whose failures differ only in the words for the service.
ALIKE = "kubernetes"


def row(name, found, message):
    code, category, retryable, wait = found
    again = "yes" if retryable else "no"
    if wait is not None:
        again = f"yes, after {wait} s"
    text = " ".join(message.split()).replace("|", "\\|")
    return f"| {name} | `{code}` | {category} | {again} | {text} |"


def head(first):
    return [f"| {first} | code | category | retry | message |", "| --- | --- | --- | --- | --- |"]


def http_rows():
    sdk = test_http_sdks.SDKS[ALIKE]
    for status, headers in test_http_sdks.ANSWERS:
        with test_http_sdks.service(test_http_sdks.answer_of(sdk, status, headers)) as url:
            found, fault = test_http_sdks.judge(sdk.call, test_http_sdks.failure_of(sdk.call, url))
        yield row(f"HTTP {status}", found, fault.envelope.message)
    found, fault = test_http_sdks.judge(sdk.call, test_http_sdks.failure_of(sdk.call, test_http_sdks.refusing_url()))
    yield row("refused", found, fault.envelope.message)
    with test_http_sdks.service(None) as url:
        found, fault = test_http_sdks.judge(sdk.call, test_http_sdks.failure_of(sdk.call, url))
    yield row("no answer in time", found, fault.envelope.message)


def local_rows():
    for name, (fail, _expected, _words) in test_local.LOCAL.items():
        yield row(name, *test_local.judge(test_local.failure_of(fail)))


def mysql_rows():
    for number, state, text, _expected in test_local.MYSQL:
        with mysql_error(number, state, text) as port:
            failure = test_local.failure_of(lambda port=port: test_local.by_pymysql(port))
        yield row(number, *test_local.judge(failure))


def mongodb_rows():
    for number, text, _expected in test_local.MONGODB:
        with mongodb_error(number, text) as port:
            failure = test_local.failure_of(lambda port=port: test_local.by_pymongo(port))
        yield row(number, *test_local.judge(failure))


def page():
    """
    Return the page as the failures are judged now.
    """
    logging.disable(logging.CRITICAL)
    sdks = ", ".join(sorted(test_http_sdks.SDKS, key=str.lower))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        parts = [
            TOP,
            "## SDKs over HTTP\n",
            f"{sdks}: the same status means the same in all of them.",
            "clickhouse-connect, opensearch-py and python-gitlab drop the answer's headers, and a wait with them.\n",
            *head("answer"),
            *http_rows(),
            "\n## Databases, brokers, machines, tokens, frameworks, documents\n",
            *head("failure"),
            *local_rows(),
            "\n## MySQL and MariaDB, by number\n",
            "The same with PyMySQL, aiomysql and mysql-connector, and behind SQLAlchemy.\n",
            *head("number"),
            *mysql_rows(),
            "\n## MongoDB, by number\n",
            *head("number"),
            *mongodb_rows(),
        ]
    logging.disable(logging.NOTSET)
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    text = page()
    if "--check" in sys.argv:
        sys.exit(0 if text == PAGE.read_text() else "specs/libraries.md is out of date")
    PAGE.write_text(text)
    print(f"wrote {PAGE.name}")
