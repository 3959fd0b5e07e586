"""
Peers on the loopback interface that speak the protocols of databases and of SSH as far as they fail.
"""

import socketserver
import struct
import threading
from contextlib import contextmanager


@contextmanager
def peer(handle):
    """
    Run a server that calls *handle* with each connection; yield its port.
    """

    class Handler(socketserver.BaseRequestHandler):
        def handle(self):
            handle(self.request)

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True
        allow_reuse_address = True

    server = Server(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()


def mysql_error(number, state, message):
    """
    A MySQL server that answers every connection with an error, as one with no connection left does.
    """
    body = b"\xff" + struct.pack("<H", number) + b"#" + state.encode() + message.encode()
    packet = struct.pack("<I", len(body))[:3] + b"\x00" + body
    return peer(lambda connection: connection.sendall(packet))


def read_exactly(connection, count):
    data = b""
    while len(data) < count:
        more = connection.recv(count - len(data))
        if not more:
            raise EOFError
        data += more
    return data


def mongodb_error(number, message):
    """
    A MongoDB server that greets, and refuses every operation with an error of its own.
    """
    import bson

    hello = {
        "ok": 1.0,
        "isWritablePrimary": True,
        "maxBsonObjectSize": 16777216,
        "maxMessageSizeBytes": 48000000,
        "maxWriteBatchSize": 100000,
        "minWireVersion": 0,
        "maxWireVersion": 25,
    }

    def handle(connection):
        try:
            while True:
                length, request, _, opcode = struct.unpack("<iiii", read_exactly(connection, 16))
                payload = read_exactly(connection, length - 16)
                if opcode == 2013:
                    size = struct.unpack("<i", payload[5:9])[0]
                    command = next(iter(bson.decode(payload[5 : 5 + size])))
                else:
                    command = "hello"
                answer = hello
                if command.lower() not in {"hello", "ismaster"}:
                    answer = {"ok": 0.0, "code": number, "codeName": "Some", "errmsg": message}
                document = bson.encode(answer)
                if opcode == 2013:
                    body = struct.pack("<I", 0) + b"\x00" + document
                    connection.sendall(struct.pack("<iiii", 16 + len(body), 1, request, 2013) + body)
                else:
                    body = struct.pack("<iqii", 8, 0, 0, 1) + document
                    connection.sendall(struct.pack("<iiii", 16 + len(body), 1, request, 1) + body)
        except (EOFError, OSError):
            return

    return peer(handle)


def ssh_server():
    """
    An SSH server that refuses every login.
    """
    import paramiko

    class Refuses(paramiko.ServerInterface):
        def check_auth_password(self, username, password):
            return paramiko.AUTH_FAILED

        def get_allowed_auths(self, username):
            return "password"

    key = paramiko.RSAKey.generate(2048)

    def handle(connection):
        transport = paramiko.Transport(connection)
        transport.add_server_key(key)
        transport.start_server(server=Refuses())
        transport.join(5)
        transport.close()

    return peer(handle)
