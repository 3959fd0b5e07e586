"""
The author's part of a namespace package: there is no __init__ above it.
"""

from purpose_ns.two import strangers

from purpose_ns.one import helper


def helped():
    helper.check(0)


def through_a_stranger():
    strangers.check(0)
