"""
The gateway: it stands in front of an MCP server and gives the server's failures the envelope.
"""
