"""The socket against clients of every kind: broken, slow, newer, foreign, many."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys

import pytest
from daemon_support import PATIENCE, Daemon, small_host, until
from hypothesis import given
from hypothesis import strategies as st

from neuronwatch.daemon import protocol, status
from neuronwatch.daemon.client import Client, NoDaemon
from neuronwatch.daemon.protocol import ApiError
from neuronwatch.model.diagnosis import Finding
from neuronwatch.model.records import Origin


@pytest.fixture(scope="module")
def daemon(tmp_path_factory):
    place = tmp_path_factory.mktemp("d")
    with Daemon(small_host(place / "host"), place / "s") as running:
        yield running


def raw(daemon) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(PATIENCE)
    connection.connect(str(daemon.socket))
    return connection


def line_of(connection: socket.socket) -> dict:
    data = b""
    while not data.endswith(b"\n"):
        piece = connection.recv(1)
        assert piece, data
        data += piece
    return json.loads(data)


def test_every_method_answers(daemon):
    with daemon.client() as client:
        until(lambda: "driver.version" in client.call("facts", prefix="driver.")["facts"], "facts of the driver")
        for method in (
            "hello",
            "status",
            "health",
            "sources",
            "snapshot",
            "metrics",
            "conditions",
            "incidents",
            "logs",
            "jobs",
            "processes",
            "rules",
        ):
            assert client.call(method), method
        assert client.call("facts", prefix="driver.")["facts"]["driver.version"]
        assert client.call("series", metric="core.utilization")["times"] == []
        assert client.call("history", metric="core.utilization")["columns"] == {}
        assert client.call("why", rule="hw.uncorrectable-memory")["rule"]
        assert client.call("health")["own"]["process_cpu_seconds_total"] > 0


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"{}\n", "bad-request"), (b"[]\n", "bad-request"), (b"x\n", "bad-request"), (b'{"method": 3}\n', "bad-request"),
        (b'{"id": [], "method": "status"}\n', "bad-request"), (b'{"method": "status", "params": []}\n', "bad-request"),
        (b'{"id": 1, "method": "nothing"}\n', "unknown-method"), (b"[" * 50_000 + b"\n", "bad-request"),
        (b'{"method": "hello", "params": {"schema": "neuronwatch.api/2"}}\n', "version"),
        (b'{"method": "incident", "params": {"id": "none"}}\n', "not-found"),
        (b'{"method": "incident"}\n', "bad-request"), (b'{"method": "series", "params": {"metric": "x", "since": "a"}}\n', "bad-request"),
        (b'{"method": "subscribe", "params": {"topics": ["x"]}}\n', "bad-request"),
        (b'{"method": "history", "params": {"metric": "x", "points": 1e400}}\n', "bad-request"),
        (b"\xff\xfe\n", "bad-request"),
    ],
)  # fmt: skip
def test_a_bad_request_gets_an_error_and_the_connection_goes_on(daemon, line, code):
    with raw(daemon) as connection:
        line_of(connection)
        connection.sendall(line)
        assert line_of(connection)["error"]["code"] == code
        connection.sendall(b'{"id": "after", "method": "hello"}\n')
        assert line_of(connection)["id"] == "after"


def test_a_request_may_come_in_pieces_and_several_at_once(daemon):
    with raw(daemon) as connection:
        line_of(connection)
        for byte in b'{"id": 1, "method": "hello"}':
            connection.sendall(bytes([byte]))
        connection.sendall(b'\n\n{"id": 2, "method": "hello"}\n{"id": 3, "method": "hello"}\n')
        assert [line_of(connection)["id"] for _ in range(3)] == [1, 2, 3]


def test_a_request_without_end_is_refused(daemon):
    with raw(daemon) as connection:
        line_of(connection)
        with contextlib.suppress(OSError):
            connection.sendall(b"x" * (4 * protocol.MAX_REQUEST))
        with contextlib.suppress(ConnectionResetError):  # it closed with our bytes unread
            assert line_of(connection)["error"]["code"] == "too-large"
    assert daemon.answers()


def test_a_half_written_request_disturbs_nobody(daemon):
    with raw(daemon) as connection:
        connection.sendall(b'{"id": 1, "meth')
        assert daemon.answers()
    assert daemon.answers()


def test_who_never_reads_neither_blocks_nor_bloats(daemon):
    with raw(daemon) as connection, daemon.client() as other:
        connection.setblocking(False)
        request, sent = b'{"id": 1, "method": "rules"}\n' * 200, 0
        with contextlib.suppress(BlockingIOError):
            while sent < 4_000_000:
                sent += connection.send(request)
        before = other.call("health")["own"]["process_resident_memory_bytes"]
        for _ in range(20):
            other.call("status")
        assert other.call("health")["own"]["process_resident_memory_bytes"] < before + 8_000_000


def test_many_clients_and_then_no_more(daemon):
    clients = []
    try:
        with pytest.raises((NoDaemon, ApiError)):
            for _ in range(200):
                client = daemon.client()
                clients.append(client)
                client.call("hello")
        assert len(clients) > 30
    finally:
        for client in clients:
            client.close()
    until(daemon.answers, "room for a client again")


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_another_user_is_refused_even_where_the_file_lets_him(daemon, tmp_path):
    daemon.state.chmod(0o755)
    daemon.socket.chmod(0o666)
    for parent in (daemon.state.parent, *daemon.state.parent.parents):
        if str(parent) in ("/", "/tmp"):
            break
        parent.chmod(0o755)
    program = (
        "import os,socket,sys; os.setuid(65534); s=socket.socket(socket.AF_UNIX); s.settimeout(20); s.connect(sys.argv[1])\n"
        'try: s.sendall(b\'{"method": "status"}\\n\')\n'
        "except OSError: pass\n"
        "print(s.recv(4096).decode())"
    )
    done = subprocess.run([sys.executable, "-c", program, str(daemon.socket)], capture_output=True, text=True, timeout=60)
    daemon.socket.chmod(0o600)
    daemon.state.chmod(0o700)
    assert "refused" in done.stdout and "verdict" not in done.stdout, done.stderr


def test_the_client_says_what_is_wrong(tmp_path):
    with pytest.raises(NoDaemon, match="neuronwatch daemon"):
        Client(tmp_path / "none.sock")
    with pytest.raises(NoDaemon, match="107"):
        Client("/" + "x" * 120)
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(tmp_path / "dead.sock"))
    with pytest.raises(NoDaemon, match="nobody listens"):
        Client(tmp_path / "dead.sock")


def answering(tmp_path, text: bytes):
    """A server that says one thing."""
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(tmp_path / "x.sock"))
    server.listen()

    import threading

    def serve():
        connection, _ = server.accept()
        with connection:
            connection.sendall(text)
        server.close()

    threading.Thread(target=serve, daemon=True).start()
    return tmp_path / "x.sock"


@pytest.mark.parametrize(
    "text",
    [b"", b"garbage\n", b'{"event": "hello", "data": {"schema": "neuronwatch.api/2"}}\n', b'{"event": "hello", "data": {}}\n'],
)
def test_the_client_is_not_fooled(tmp_path, text):
    with pytest.raises((NoDaemon, ApiError)):
        Client(answering(tmp_path, text), timeout=PATIENCE)


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3), max_leaves=8,
)  # fmt: skip


@given(st.dictionaries(st.text(), values, max_size=4))
def test_whatever_is_encoded_is_one_line_that_is_decoded(message):
    line = protocol.encode(message)
    assert line.endswith(b"\n") and line.count(b"\n") == 1
    assert set(protocol.decode(line)) == set(message)


@given(st.binary(max_size=300))
def test_any_bytes_are_a_request_or_an_error(line):
    try:
        protocol.request_of(line)
    except ApiError as error:
        assert error.code == "bad-request"


def test_a_finding_with_an_action_is_plain_and_without_secrets():
    origin = Origin("host:/x", -1, "token=hf_abcdefghijklmnopqrstuvwxyzABCDEFGH failed")
    item = Finding("r", "f", "cause", "error", 0.9, "t", "c", evidence=(origin,), action={"kind": "restart", "safe": False})
    told = status.finding(item)
    assert told["action"] == {"kind": "restart", "safe": False} and status.finding(item) is told
    assert told["evidence"][0]["line"] is None and "hf_abc" not in json.dumps(told)
