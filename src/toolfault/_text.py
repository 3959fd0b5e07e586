"""
Making text safe to show and to serialize.
"""


def safe_str(value: object) -> str:
    return str(value)


def encodable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()
