"""
Foreign error vocabularies, one module each, and stores for records behind untrusted hops.

`a2a`, `a2c_smcp` and `tool_failure` have ``encode`` and ``decode``; a hop from one to another is a
decode and an encode. `jsonrpc` only writes, since `toolfault.parse` is the reader of JSON-RPC
errors. The first two take ``store=``: then what the other vocabulary can't say stays in the store,
and only a handle travels. `MemoryStore` serves one process, `RedisStore` and `AsyncRedisStore`
several.
"""

from toolfault._bridge_record import MemoryStore, RecordStore
from toolfault.dialects._redis import AsyncRedisStore, RedisStore


__all__ = ["AsyncRedisStore", "MemoryStore", "RecordStore", "RedisStore"]
