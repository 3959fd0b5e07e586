"""
From an exception to a fault: find out what it means, then compose what leaves, then log it.
"""
