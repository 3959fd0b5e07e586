"""
`parse` and the vocabularies: what is a failure in one of them, and what is only data that looks like one.
"""

import pytest

from toolfault import ToolFault, parse
from toolfault.dialects import a2a, a2c_smcp
from toolfault.dialects.a2c_smcp import ErrorPayload


QUOTA = ToolFault("quota_exceeded", "Used up", hint="Ask tomorrow.")
ACK = {"code": 4014, "message": "no such server"}


@pytest.mark.parametrize("version", ["0.3", "1.0.0", "1.0.1"])
def test_an_http_answer_is_read_whole_and_by_its_body_alone(version):
    answer = a2a.encode(QUOTA, binding="http", version=version)

    assert parse(answer).envelope == parse(answer["body"]).envelope == QUOTA.envelope


@pytest.mark.parametrize("code", [404, 4001, 4008, 4014, 99])
def test_a_payload_as_a_value_is_read_as_its_dialect_reads_it(code):
    payload = ErrorPayload.new(code, "m").with_detail("k", "v")

    assert parse(payload) == a2c_smcp.decode(payload)


def test_the_reason_in_a_payload_as_a_value_counts():
    assert parse(ErrorPayload.new(4017, "m").with_detail("reason", "forbidden")).code == "permission_denied"


def test_a_computer_that_is_not_there_is_no_refused_argument():
    assert parse(ErrorPayload.computer_not_found("c").to_wire()).code == "tool_not_found"


@pytest.mark.parametrize(
    "success",
    [
        {"content": [], "structuredContent": ACK},
        {"jsonrpc": "2.0", "id": 1, "result": {"content": [], "structuredContent": ACK}},
        {"jsonrpc": "2.0", "id": 1, "result": ACK},
        {"jsonrpc": "2.0", "id": 1, "result": a2a.encode(QUOTA)},
        {"status": 503, "body": "busy"},
        {"status": 404, "type": "https://example.com/errors/task-not-found"},
    ],
)
def test_what_stands_in_a_success_is_data(success):
    assert parse(success) is None
