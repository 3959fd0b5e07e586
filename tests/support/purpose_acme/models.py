"""
What pydantic makes of raises and accidents.
"""

import pydantic

from purpose_acme.table import situation


class Order(pydantic.BaseModel):
    amount: int
    code: str = ""

    @pydantic.field_validator("amount")
    @classmethod
    def positive(cls, amount):
        if amount < 1:
            raise ValueError("amount must be positive")
        return amount

    @pydantic.field_validator("code")
    @classmethod
    def numbered(cls, code):
        return str(int(code))


class Lookup(pydantic.BaseModel):
    name: str

    @pydantic.field_validator("name")
    @classmethod
    def known(cls, name):
        raise KeyError(name)


class Crashing(pydantic.BaseModel):
    name: str

    @pydantic.field_validator("name")
    @classmethod
    def known(cls, name):
        return {}[name]


@pydantic.validate_call
def validated(n: int):
    raise ValueError(f"no {n}")


@pydantic.validate_call
def validated_crash(n: int):
    return int(f"x{n}")


@situation("pydantic refuses what a tool builds", "A")
def refused():
    Order(amount="x")


@situation("pydantic reports what a validator refused", "A", because="look inside")
def validator():
    Order(amount=0)


def _original(**values):
    try:
        Order(**values)
    except pydantic.ValidationError as e:
        return e.errors()[0]["ctx"]["error"]


@situation("what a validator refused, inside pydantic's error", "P")
def validator_original():
    return _original(amount=0)


@situation("a crash in a validator, inside pydantic's error", "A")
def validator_crash():
    return _original(amount=1, code="zz")


@situation("a validator raises KeyError", "P", because="pydantic lets it through")
def validator_key_error():
    Lookup(name="x")


@situation("a KeyError happens to a validator", "A", because="pydantic lets it through")
def validator_key_crash():
    Crashing(name="x")


@situation("the body of validate_call raises", "P")
def validate_call():
    validated(3)


@situation("the body of validate_call has an accident", "A")
def validate_call_crash():
    validated_crash(3)


@situation("validate_call refuses", "A")
def validate_call_refuses():
    validated("x")
