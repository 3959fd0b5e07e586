"""
How tools fail with Redis.
"""

import threading
from contextlib import ExitStack, contextmanager, suppress
from urllib.parse import urlsplit

import db_servers
import redis
from db_postgres import INTERNAL, LATE, LOGIN, NAMED, OUTAGE, PANICKED, SECRET
from redis.backoff import NoBackoff
from redis.retry import Retry


USED_UP = ("quota_exceeded", "permanent", False)


class Redis:
    """
    A server, and ways to reach it.
    """

    def __init__(self, url):
        parts = urlsplit(url)
        self.parts = {
            "host": parts.hostname,
            "port": parts.port,
            "username": parts.username,
            "password": parts.password,
        }
        self.secrets = [text for text in (parts.password, parts.hostname, str(parts.port), SECRET) if text]
        self.stack = ExitStack()
        self.admin = self.client()
        self.admin.flushall()
        self.admin.set("text", SECRET)

    def close(self):
        self.admin.flushall()
        self.stack.close()

    def client(self, **other):
        """
        A client that does not try again.
        """
        made = redis.Redis(**{**self.parts, "retry": Retry(NoBackoff(), 0), **other})
        self.stack.callback(made.close)
        return made

    @contextmanager
    def config(self, name, value):
        (before,) = self.admin.config_get(name).values()
        self.admin.config_set(name, value)
        try:
            yield
        finally:
            self.admin.config_set(name, before)


def no_login(server):
    with server.config("requirepass", f"{SECRET}-password"):
        server.client(username=None, password=None).get("text")


def wrong_password(server):
    server.client(password=f"{SECRET}-password").get("text")


def wrong_user(server):
    server.client(username=f"{SECRET}-user", password=f"{SECRET}-password").get("text")


def limited(server):
    server.admin.acl_setuser(
        "limited",
        enabled=True,
        reset=True,
        passwords=[f"+{SECRET}"],
        commands=["+get", "+hello", "+client"],
        keys=["text"],
    )
    return server.client(username="limited", password=SECRET)


def no_right_to_a_command(server):
    limited(server).set("text", SECRET)


def no_right_to_a_key(server):
    limited(server).get(SECRET)


def another_kind(server):
    server.admin.lpush("text", SECRET)


def another_kind_in_a_pipeline(server):
    server.admin.pipeline(transaction=False).set("other", SECRET).lpush("text", SECRET).execute()


def no_number(server):
    server.admin.incr("text")


def no_command(server):
    server.admin.execute_command("NOSUCH", SECRET)


def a_value_of_no_kind(server):
    server.admin.set("text", {SECRET: SECRET})


def no_memory(server):
    with server.config("maxmemory", "1"):
        server.admin.set("other", SECRET)


@contextmanager
def replica(server):
    with db_servers.refused() as port:
        server.admin.replicaof("127.0.0.1", port)
        try:
            yield
        finally:
            server.admin.replicaof("NO", "ONE")


def a_replica(server):
    with replica(server):
        server.admin.set("text", SECRET)


def a_replica_without_primary(server):
    with server.config("replica-serve-stale-data", "no"), replica(server):
        server.admin.get("text")


def too_few_replicas(server):
    with server.config("min-replicas-to-write", "1"):
        server.admin.set("text", SECRET)


def nobody_listens(server):
    with db_servers.refused() as port:
        server.client(port=port).get("text")


def no_such_host(server):
    server.client(host=f"{SECRET}.invalid").get("text")


def no_answer(server):
    with db_servers.mute() as port:
        server.client(port=port, socket_timeout=0.01).get("text")


def no_valid_certificate(server):
    with tls() as port:
        server.client(port=port, host="localhost", ssl=True).get("text")


@contextmanager
def tls():
    """
    A server that shows a certificate which nobody trusts.
    """
    import socket
    import ssl
    from pathlib import Path

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(Path(__file__).parent.parent / "rules" / "self_signed.pem")
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve():
            connection, _ = listener.accept()
            with connection, suppress(OSError), context.wrap_socket(connection, server_side=True):
                pass

        thread = threading.Thread(target=serve)
        thread.start()
        yield listener.getsockname()[1]
        thread.join()


def no_redis(server):
    import socket

    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve():
            connection, _ = listener.accept()
            with connection:
                connection.recv(1)
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            server.client(port=listener.getsockname()[1]).get("text")
        finally:
            thread.join()


def cut_off(server):
    def cut():
        while not server.admin.info("clients")["blocked_clients"]:
            pass
        relay.cut()

    with db_servers.relay(server.parts["host"], server.parts["port"]) as relay:
        cutting = threading.Thread(target=cut)
        cutting.start()
        try:
            server.client(port=relay.port, socket_timeout=None).blpop("nothing")
        finally:
            cutting.join()


def no_connection_left(server):
    client = server.client(max_connections=1)
    held = client.connection_pool.get_connection()
    try:
        client.get("text")
    finally:
        client.connection_pool.release(held)


def too_many_clients(server):
    with server.config("maxclients", "1"):
        server.client().get("text")


def a_key_that_changed(server):
    with server.admin.pipeline() as pipeline:
        pipeline.watch("watched")
        server.client().set("watched", SECRET)
        pipeline.multi()
        pipeline.set("watched", SECRET)
        pipeline.execute()


def a_transaction_that_was_discarded(server):
    connection = server.admin.connection_pool.get_connection()
    try:
        connection.send_command("MULTI")
        connection.read_response()
        connection.send_command("NOSUCH", SECRET)
        with suppress(redis.ResponseError):
            connection.read_response()
        connection.send_command("EXEC")
        connection.read_response()
    finally:
        server.admin.connection_pool.release(connection)


def no_script(server):
    server.admin.evalsha("0" * 40, 0)


def a_script_that_runs(server):
    def run():
        with suppress(redis.ResponseError):
            server.client().eval("while true do end", 0)

    with server.config("busy-reply-threshold", "1"):
        busy = threading.Thread(target=run)
        busy.start()
        try:
            client = server.client()
            while True:
                client.get("text")
        finally:
            server.client().script_kill()
            busy.join()


def data_that_loads(server):
    def run():
        with suppress(redis.RedisError):
            server.client().execute_command("DEBUG", "RELOAD")

    server.admin.mset({f"key{number}": SECRET for number in range(1000)})
    with server.config("loading-process-events-interval-bytes", "1024"), server.config("key-load-delay", "500"):
        loading = threading.Thread(target=run)
        loading.start()
        try:
            client = server.client()
            while loading.is_alive():
                client.get("text")
        finally:
            loading.join()


def a_lock_of_somebody_else(server):
    with server.admin.lock(SECRET), server.client().lock(SECRET, blocking_timeout=0.001):
        pass


def a_lock_that_is_not_held(server):
    server.admin.lock(SECRET).release()


def a_lock_that_was_lost(server):
    lock = server.admin.lock(SECRET)
    lock.acquire()
    server.admin.delete(SECRET)
    lock.release()


def no_cluster(server):
    redis.RedisCluster(**server.parts)


def a_cluster_that_is_not_there(server):
    with db_servers.refused() as port:
        redis.RedisCluster(**{**server.parts, "port": port})


def no_primary(server):
    with db_servers.refused() as port:
        sentinel = redis.sentinel.Sentinel([("127.0.0.1", port)], sentinel_kwargs={"retry": Retry(NoBackoff(), 0)})
        try:
            sentinel.discover_master(SECRET)
        finally:
            sentinel.sentinels[0].close()


FAILURES = [
    (no_login, "AuthenticationError", LOGIN),
    (wrong_password, "AuthenticationError", LOGIN),
    (wrong_user, "AuthenticationError", LOGIN),
    (no_right_to_a_command, "NoPermissionError", LOGIN),
    (no_right_to_a_key, "NoPermissionError", LOGIN),
    (another_kind, "ResponseError", PANICKED),
    (another_kind_in_a_pipeline, "ResponseError", PANICKED),
    (no_number, "ResponseError", PANICKED),
    (no_command, "ResponseError", PANICKED),
    (a_value_of_no_kind, "DataError", PANICKED),
    (no_memory, "OutOfMemoryError", USED_UP),
    (a_replica, "ReadOnlyError", OUTAGE),
    (a_replica_without_primary, "MasterDownError", OUTAGE),
    (too_few_replicas, "ResponseError", OUTAGE),
    (nobody_listens, "ConnectionError", OUTAGE),
    (no_such_host, "ConnectionError", OUTAGE),
    (no_answer, "TimeoutError", LATE),
    (no_valid_certificate, "ConnectionError", INTERNAL),
    (no_redis, "InvalidResponse", OUTAGE),
    (cut_off, "ConnectionError", OUTAGE),
    (no_connection_left, "MaxConnectionsError", OUTAGE),
    (too_many_clients, "ConnectionError", OUTAGE),
    (a_key_that_changed, "WatchError", OUTAGE),
    (a_transaction_that_was_discarded, "ExecAbortError", PANICKED),
    (no_script, "NoScriptError", PANICKED),
    (a_script_that_runs, "ResponseError", OUTAGE),
    (data_that_loads, "BusyLoadingError", OUTAGE),
    (a_lock_of_somebody_else, "LockError", OUTAGE),
    (a_lock_that_is_not_held, "LockError", PANICKED),
    (a_lock_that_was_lost, "LockNotOwnedError", OUTAGE),
    (no_cluster, "RedisClusterException", OUTAGE),
    (a_cluster_that_is_not_there, "RedisClusterException", OUTAGE),
    (no_primary, "MasterNotFoundError", OUTAGE),
]

#: Replies that only a cluster, or a server in trouble, gives by itself: a script has them given.
ON_REQUEST = [
    (f"ASK 1 {SECRET}:6379", "AskError", INTERNAL),
    ("BUSY x", "ResponseError", OUTAGE),
    ("CLUSTERDOWN x", "ClusterDownError", OUTAGE),
    ("CROSSSLOT x", "ClusterCrossSlotError", PANICKED),
    ("DENIED x", "ResponseError", LOGIN),
    ("ERR problem with LDAP service", "ExternalAuthProviderError", OUTAGE),
    ("ERR wrong number of arguments for 'auth' command", "AuthenticationWrongNumberOfArgsError", LOGIN),
    ("ERR Error loading the extension. Please check the server logs.", "ModuleError", INTERNAL),
    (f"MISCONF {SECRET}", "ResponseError", INTERNAL),
    (f"MOVED 1 {SECRET}:6379", "MovedError", INTERNAL),
    ("TRYAGAIN x", "TryAgainError", OUTAGE),
    ("UNKILLABLE x", "ResponseError", OUTAGE),
    (f"{NAMED} x", "ResponseError", PANICKED),
    (NAMED, "ResponseError", PANICKED),
]
