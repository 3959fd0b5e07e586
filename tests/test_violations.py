"""
The violations of validation errors, however many an error lists.
"""

from typing import Annotated, Any, Literal

import pytest
from pydantic import AfterValidator, TypeAdapter, ValidationError

from toolfault import Guard, McpErrorCode
from toolfault._meanings.violations import MAX_VIOLATIONS, violations
from toolfault.hosting import Call


def refused(kind: Any, value: Any) -> ValidationError:
    with pytest.raises(ValidationError) as caught:
        TypeAdapter(kind).validate_python(value)
    return caught.value


def refuse(value: int) -> int:
    raise ValueError(f"{value} is not for sale")


@pytest.mark.parametrize(
    ("kind", "item"),
    [
        (list[int], "x"),
        (list[Literal["a", "b"]], "c"),
        (list[dict[str, int]], {"\N{LATIN SMALL LETTER A WITH DIAERESIS}]": "x"}),
        (list[dict[str, int]], {"a\ud800": "x"}),
        (list[Annotated[int, AfterValidator(refuse)]], 7),
    ],
)
def test_of_very_many_violations_the_first_read_as_those_of_few(kind: Any, item: Any) -> None:
    few, many = violations(refused(kind, [item] * 200)), violations(refused(kind, [item] * 2000))

    assert len(few) == len(many) == MAX_VIOLATIONS
    for key in ("field", "rule", "message"):
        assert [violation[key] for violation in few] == [violation[key] for violation in many]


def test_very_many_violations_are_not_listed() -> None:
    class Many(Exception):
        def error_count(self) -> int:
            return 1_000_000

        def json(self, **_options: bool) -> str:
            return '[{"type":"int_type","loc":["numbers",0],"msg":"Input should be a valid integer"}]'

        def errors(self, **_options: bool) -> list[Any]:
            raise AssertionError("each of them was made into a dict")

    Many.__module__, Many.__qualname__ = "pydantic_core._pydantic_core", "ValidationError"
    fault = Guard().judge(Many(), Call(tool="sum", arguments={"numbers": ["x"]}, phase="arguments"))

    assert fault.code is McpErrorCode.INVALID_ARGUMENTS
    assert "`numbers[0]` must be a valid integer" in fault.message


@pytest.mark.parametrize("place", [0, 99, 100, 150])
def test_a_validator_that_crashes_is_found_among_other_violations(place: int) -> None:
    def validate(value: int) -> int:
        if value == place:
            return int("x")
        raise ValueError("not for sale")

    exc = refused(list[Annotated[int, AfterValidator(validate)]], list(range(200)))
    fault = Guard().judge(exc, Call(tool="sell", phase="arguments", function=validate))

    assert fault.code is not McpErrorCode.INVALID_ARGUMENTS
