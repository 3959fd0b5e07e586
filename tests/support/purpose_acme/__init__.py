"""
An author's package: tools that fail in every way that was thought of.
"""
