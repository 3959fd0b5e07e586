"""
Code that imports a framework, one room for each; every one uses only the doors of
`toolfault.hosting`.
"""
