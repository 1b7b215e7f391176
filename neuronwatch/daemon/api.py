"""The socket: who may connect, what is read and written, and who gets which events. What the methods do is in methods.py.

A client can neither block nor bloat the daemon: requests, answers and queues are bounded, and events that a subscriber
does not fetch are dropped and counted.
"""

from __future__ import annotations

import contextlib
import os
import socket
import stat
from collections import deque
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from neuronwatch.daemon.loop import READ, WRITE, Loop
from neuronwatch.daemon.protocol import MAX_MESSAGE, MAX_REQUEST, MAX_SOCKET_PATH, ApiError, Request, encode, request_of
from neuronwatch.store.peer import uid_of

MAX_CLIENTS = 64
MAX_EVENTS = 256
"""Events that wait for a subscriber; further ones are dropped, the oldest first."""
MAX_EVENT_BYTES = 1024 * 1024
SOME = 1 << 16
Method = Callable[["Peer", dict[str, Any]], Any]
TOPICS = ("samples", "health", "conditions", "incidents", "logs")


class SocketInUse(Exception):
    """The socket cannot be made; the text says why, and the mend."""


class Peer:
    """One connection: its input until the end of a line, its output, its subscriptions."""

    def __init__(self, connection: socket.socket, uid: int) -> None:
        self.connection = connection
        self.uid = uid
        self.topics: frozenset[str] = frozenset()
        self.input = bytearray()
        self.output = bytearray()
        """The answer that is being written, and the event after it."""
        self.events: deque[tuple[str, bytes]] = deque()
        self.waiting = 0
        self.dropped: dict[str, int] = {}
        self.closing = False
        self.gone: Callable[[], None] | None = None
        """Called when the connection ends."""

    def put(self, topic: str, line: bytes) -> None:
        """Queues an event (a line that ends in `}\\n`), dropping the oldest where there are too many."""
        self.events.append((topic, line))
        self.waiting += len(line)
        while len(self.events) > MAX_EVENTS or (self.waiting > MAX_EVENT_BYTES and len(self.events) > 1):
            lost, gone = self.events.popleft()
            self.waiting -= len(gone)
            self.dropped[lost] = self.dropped.get(lost, 0) + 1

    def next_output(self) -> bool:
        """Moves the next event into `output`; says whether there is something to write."""
        if not self.output and self.events:
            topic, line = self.events.popleft()
            self.waiting -= len(line)
            dropped = self.dropped.pop(topic, 0)
            self.output += line[:-2] + b',"dropped":%d}\n' % dropped
        return bool(self.output)


class Server:
    """Listens on `path`, mode 0600. `methods` by name; `hello` is what every client is told first."""

    def __init__(self, loop: Loop, path: Path, methods: dict[str, Method], hello: Callable[[], dict[str, Any]]) -> None:
        self._loop = loop
        self.path = path
        self._methods = methods
        self._hello = hello
        self._peers: dict[int, Peer] = {}
        self.refused = 0
        """Connections of other users, and those above MAX_CLIENTS."""
        self._listener = _listen(path)
        self._identity = _identity(path)
        loop.watch(self._listener.fileno(), READ, self._accept)

    @property
    def clients(self) -> int:
        return len(self._peers)

    def wanted(self, topic: str) -> bool:
        """Whether anybody listens: what nobody hears need not be made."""
        return any(topic in peer.topics for peer in self._peers.values())

    def publish(self, topic: str, data: Any) -> None:
        """Gives an event to the subscribers of `topic`. Never waits."""
        hearing = [peer for peer in self._peers.values() if topic in peer.topics]
        if not hearing:
            return
        line = encode({"event": topic, "data": data})
        if len(line) > MAX_MESSAGE:
            line = encode({"event": topic, "data": None, "error": "larger than a message may be"})
        for peer in hearing:
            peer.put(topic, line)
            self._write(peer)

    def listens(self) -> bool:
        """Whether the socket is still where clients look for it. It may have been deleted or replaced."""
        return _identity(self.path) == self._identity

    def listen_again(self) -> None:
        """Makes the socket anew; who is connected stays. Raises SocketInUse."""
        fresh = _listen(self.path)
        self._loop.forget(self._listener.fileno())
        self._listener.close()
        self._listener, self._identity = fresh, _identity(self.path)
        self._loop.watch(fresh.fileno(), READ, self._accept)

    def close(self) -> None:
        """Closes all connections and removes the socket, when it is still ours."""
        for peer in list(self._peers.values()):
            self._drop(peer)
        self._loop.forget(self._listener.fileno())
        self._listener.close()
        if _identity(self.path) == self._identity:
            with contextlib.suppress(OSError):
                self.path.unlink()

    def _accept(self, _events: int) -> None:
        try:
            connection, _ = self._listener.accept()
        except OSError:  # gone already, or no descriptor left: the client sees it
            return
        uid = uid_of(connection)
        if uid not in (0, os.geteuid()) or len(self._peers) >= MAX_CLIENTS:
            self.refused += 1
            why = "too many clients" if uid in (0, os.geteuid()) else "only the daemon's user and root may connect"
            with contextlib.suppress(OSError):
                connection.setblocking(False)
                connection.send(encode({"id": None, "error": {"code": "refused", "message": why}}))
            connection.close()
            return
        connection.setblocking(False)
        peer = Peer(connection, uid)
        peer.output += encode({"event": "hello", "data": self._hello()})
        self._peers[connection.fileno()] = peer
        self._loop.watch(connection.fileno(), READ, lambda events: self._ready(peer, events))
        self._write(peer)

    def _ready(self, peer: Peer, events: int) -> None:
        if events & READ:
            self._read(peer)
        if events & WRITE and not peer.closing:
            self._write(peer)

    def _read(self, peer: Peer) -> None:
        try:
            data = peer.connection.recv(SOME)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            data = b""
        if not data:
            self._drop(peer)
            return
        peer.input += data
        self._answer_lines(peer)

    def _answer_lines(self, peer: Peer) -> None:
        """Answers whole requests, one after the other: the next one only when the answer before it is written."""
        while not peer.closing and len(peer.output) < SOME:
            stop = peer.input.find(b"\n")
            if stop < 0 and len(peer.input) <= MAX_REQUEST:
                break
            if stop < 0 or stop > MAX_REQUEST:
                self._send(
                    peer, {"id": None, "error": {"code": "too-large", "message": f"a request has at most {MAX_REQUEST} bytes"}}
                )
                self._drop(peer, politely=True)
                return
            line = bytes(peer.input[:stop])
            del peer.input[: stop + 1]
            if line.strip():
                self._send(peer, self._answer(peer, line))

    def _answer(self, peer: Peer, line: bytes) -> dict[str, Any]:
        request = Request(None, "", {})
        try:
            request = request_of(line)
            method = self._methods.get(request.method)
            if method is None:
                raise ApiError("unknown-method", f"no method {request.method[:80]!r}; there are {', '.join(sorted(self._methods))}")
            return {"id": request.id, "result": method(peer, request.params)}
        except ApiError as error:
            return {"id": request.id, "error": {"code": error.code, "message": str(error)}}
        except Exception as error:
            text = f"{type(error).__name__}: {error} (this is a defect of neuronwatch)"
            return {"id": request.id, "error": {"code": "internal", "message": text[:1000]}}

    def _send(self, peer: Peer, message: dict[str, Any]) -> None:
        line = encode(message)
        if len(line) > MAX_MESSAGE:
            text = f"the answer has {len(line):,} bytes, more than {MAX_MESSAGE:,}: ask for less"
            line = encode({"id": message.get("id"), "error": {"code": "too-large", "message": text}})
        peer.output += line
        self._write(peer)

    def _write(self, peer: Peer) -> None:
        while peer.next_output():
            try:
                sent = peer.connection.send(peer.output)
            except (BlockingIOError, InterruptedError):
                break
            except OSError:
                self._drop(peer)
                return
            del peer.output[:sent]
        if peer.connection.fileno() < 0:
            return
        if peer.output:
            # Who does not read his answers is not read from either.
            self._loop.watch(peer.connection.fileno(), WRITE if len(peer.output) >= SOME else READ | WRITE, self._watcher(peer))
        else:
            self._loop.watch(peer.connection.fileno(), READ, self._watcher(peer))

    def _watcher(self, peer: Peer) -> Callable[[int], None]:
        def ready(events: int) -> None:
            self._ready(peer, events)
            if peer.input and not peer.closing:
                self._answer_lines(peer)

        return ready

    def _drop(self, peer: Peer, politely: bool = False) -> None:
        """Ends a connection. `politely`: what is in `output` is offered once more."""
        number = peer.connection.fileno()
        if number < 0:
            return
        peer.closing = True
        if politely and peer.output:
            with contextlib.suppress(OSError):
                peer.connection.send(peer.output)
        self._loop.forget(number)
        self._peers.pop(number, None)
        peer.connection.close()
        if peer.gone is not None:
            peer.gone()


def _listen(path: Path) -> socket.socket:
    """The listening socket. One that nobody listens on is taken away. Raises SocketInUse."""
    if len(os.fsencode(path)) > MAX_SOCKET_PATH:
        raise SocketInUse(f"{path}: a socket's path has at most {MAX_SOCKET_PATH} bytes; use a shorter --state-dir or --socket")
    _remove_stale(path)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)
    try:
        listener.bind(str(path))
    except OSError as error:
        listener.close()
        raise SocketInUse(f"{path}: {(error.strerror or str(error)).lower()}") from error
    finally:
        os.umask(before)
    listener.setblocking(False)
    listener.listen(MAX_CLIENTS)
    return listener


def _remove_stale(path: Path) -> None:
    try:
        state = path.lstat()
    except FileNotFoundError:
        return
    except OSError as error:
        raise SocketInUse(f"{path}: {(error.strerror or str(error)).lower()}") from error
    if not stat.S_ISSOCK(state.st_mode):
        raise SocketInUse(f"{path}: there is something that is no socket; name another --socket")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(1.0)
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            with contextlib.suppress(FileNotFoundError):
                path.unlink()
            return
        except OSError as error:
            raise SocketInUse(f"{path}: {(error.strerror or str(error)).lower()}") from error
    raise SocketInUse(f"{path}: another program listens there")


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        state = path.lstat()
    except OSError:
        return None
    return state.st_dev, state.st_ino


def topics_of(names: Iterable[Any]) -> frozenset[str]:
    """Raises ApiError for a topic that does not exist."""
    found = frozenset(str(name) for name in names)
    for name in sorted(found):
        if name not in TOPICS:
            raise ApiError("bad-request", f"no topic {name[:80]!r}; there are {', '.join(TOPICS)}")
    return found
