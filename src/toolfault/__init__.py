"""
Made later.
"""
