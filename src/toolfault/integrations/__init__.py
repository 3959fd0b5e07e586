"""
Code that imports a framework, one module for each; they use only the public modules.
"""
