"""
Objects that answer badly. Not in the test's own module, where pytest would ask them.
"""


class HidesTraceback(ValueError):
    @property
    def __traceback__(self):
        raise RuntimeError("no traceback for you")


class HidesClass(ValueError):
    @property
    def __class__(self):
        raise RuntimeError("no class for you")


class HidesModule(ValueError):
    @property
    def __module__(self):
        raise RuntimeError("no module for you")


class Secretive(type):
    @property
    def __module__(cls):
        raise RuntimeError("no module for you")

    def __instancecheck__(cls, instance):
        raise RuntimeError("no check for you")

    def __getattribute__(cls, name):
        raise RuntimeError(f"no {name} for you")


class HidesAll(ValueError, metaclass=Secretive):
    def __getattribute__(self, name):
        raise RuntimeError(f"no {name} for you")

    def __str__(self):
        raise RuntimeError("no text for you")


class OtherModule(ValueError):
    __module__ = 3


class Evil(str):
    __slots__ = ()

    def __eq__(self, other):
        raise RuntimeError("no comparison")

    def __hash__(self):
        raise RuntimeError("no hash")


class Hostile:
    def __getattribute__(self, name):
        raise RuntimeError(f"no {name}")


class Endless:
    def __getattr__(self, name):
        return Endless()
