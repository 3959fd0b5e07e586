"""
A server that gives the recorded answers of real servers: ``python -S corpus_server.py CORPUS SERVER``.

A call names its record in ``_meta``; records of a server that hung or died do so again.
"""

import json
import os
import sys
from pathlib import Path

from checked_server import Server


KEY = "replay"


class Replayer(Server):
    name = "replayer"

    def __init__(self, records):
        self.records = {one["id"]: one for one in records}

    def handle(self, message):
        record = self.records.get(((message.get("params") or {}).get("_meta") or {}).get(KEY))
        if record is None:
            super().handle(message)
        elif record["outcome"] == "died":
            os._exit(1)
        elif record["response"] is not None:
            self.send({"jsonrpc": "2.0", "id": message["id"], **record["response"]})


if __name__ == "__main__":
    corpus = json.loads(Path(sys.argv[1]).read_text())
    Replayer([one for one in corpus if one["server"] == sys.argv[2]]).serve()
