"""
The classes of installed packages, by their qualified names.
"""

import importlib
import warnings


def class_named(name):
    """
    Return the object of a qualified name, from the longest importable part on.
    """
    module, _, rest = name.rpartition(".")
    while module:
        try:
            found = importlib.import_module(module)
        except ModuleNotFoundError:
            module, _, head = module.rpartition(".")
            rest = f"{head}.{rest}"
            continue
        for part in rest.split("."):
            found = getattr(found, part)
        # dbm.error is the class before it becomes the tuple to catch.
        return found[0] if isinstance(found, tuple) else found
    raise ModuleNotFoundError(name)


def exceptions_of(module):
    """
    Return the exception classes that a module has, whether it lists them or not; lazy ones too.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = importlib.import_module(module)
        names = {*vars(found), *getattr(found, "__all__", ())}
        values = [getattr(found, name, None) for name in names if not name.startswith("__")]
    return {cls for cls in values if isinstance(cls, type) and issubclass(cls, BaseException)}
