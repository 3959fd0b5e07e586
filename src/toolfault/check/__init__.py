"""
The checker: provoke a server's failures, and tell how much a program and a model learn from them.
"""
