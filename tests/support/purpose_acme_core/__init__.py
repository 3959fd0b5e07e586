"""
The author's other distribution.
"""


def check(n):
    if n < 1:
        raise ValueError("n must be positive")


def crash(text):
    return int(text)


class CoreError(Exception):
    pass


def anything_is_mine(function):
    """
    Turn every accident into a deliberate error; and hide the function.
    """

    def wrapper():
        try:
            return function()
        except Exception as e:
            raise RuntimeError(f"tool failed: {e}") from e

    wrapper.__wrapped__ = function
    return wrapper
