"""
Foreign error vocabularies, one room each; `_tables` and `_bridge` are what they share.
"""
