"""The smallest HTTP server that a scraper needs, in the daemon's loop: GET, one answer per connection, everything bounded."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable

from neuronwatch.daemon.loop import READ, WRITE, Loop, Timer

MAX_HEAD = 8192
MAX_CONNECTIONS = 16
PATIENCE = 10.0
"""Seconds for one request and its answer."""
Page = Callable[[], tuple[str, bytes]]
"""Content type and body."""


class CannotListen(Exception):
    """The address cannot be listened on; the text says why, and the mend."""


def address_of(listen: str, allow_remote: bool) -> tuple[str, int]:
    """Host and port. Raises CannotListen for one that others could reach without allow_remote."""
    host, _, port = listen.rpartition(":")
    host = host.strip("[]")
    number = int(port) if port.isdecimal() and len(port) <= 5 else -1
    if not 0 <= number <= 65535:
        raise CannotListen(f"{listen}: no port of 0 to 65535")
    try:
        loopback = ipaddress.ip_address(host).is_loopback
    except ValueError:
        loopback = host == "localhost"
    if not loopback and not allow_remote:
        raise CannotListen(f"{listen}: not a loopback address; set exporters.prometheus.allow_remote to listen there")
    return host, number


class _Connection:
    def __init__(self, connection: socket.socket, timer: Timer) -> None:
        self.socket = connection
        self.timer = timer
        self.input = bytearray()
        self.output = b""


class HttpServer:
    """Serves `pages` by path."""

    def __init__(self, loop: Loop, listen: str, allow_remote: bool, pages: dict[str, Page]) -> None:
        host, port = address_of(listen, allow_remote)
        self._loop = loop
        self._pages = pages
        self._connections: dict[int, _Connection] = {}
        try:
            info = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
            self._listener = socket.socket(info[0], socket.SOCK_STREAM)
            self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self._listener.bind(info[4])
            self._listener.listen(MAX_CONNECTIONS)
        except OSError as error:
            raise CannotListen(f"{listen}: {(error.strerror or str(error)).lower()}") from error
        self._listener.setblocking(False)
        self.port: int = self._listener.getsockname()[1]
        loop.watch(self._listener.fileno(), READ, self._accept)

    def close(self) -> None:
        for connection in list(self._connections.values()):
            self._end(connection)
        self._loop.forget(self._listener.fileno())
        self._listener.close()

    def _accept(self, _events: int) -> None:
        try:
            accepted, _ = self._listener.accept()
        except OSError:
            return
        if len(self._connections) >= MAX_CONNECTIONS:
            accepted.close()
            return
        accepted.setblocking(False)
        number = accepted.fileno()
        timer = self._loop.after(PATIENCE * self._loop.clock.rate, lambda: self._end(connection))
        connection = _Connection(accepted, timer)
        self._connections[number] = connection
        self._loop.watch(number, READ, lambda _events: self._read(connection))

    def _read(self, connection: _Connection) -> None:
        try:
            data = connection.socket.recv(4096)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            data = b""
        connection.input += data
        if b"\r\n\r\n" in connection.input or b"\n\n" in connection.input:
            connection.output = self._answer(bytes(connection.input))
            self._write(connection)
        elif not data:
            self._end(connection)
        elif len(connection.input) > MAX_HEAD:
            connection.output = _response("431 Request Header Fields Too Large", "text/plain", b"too large\n", True)
            self._write(connection)

    def _answer(self, head: bytes) -> bytes:
        words = head.split(b"\n", 1)[0].split()
        if len(words) != 3 or not words[2].startswith(b"HTTP/1."):
            return _response("400 Bad Request", "text/plain", b"bad request\n", True)
        if words[0] not in (b"GET", b"HEAD"):
            return _response("405 Method Not Allowed", "text/plain", b"only GET\n", True)
        page = self._pages.get(words[1].split(b"?", 1)[0].decode("latin-1"))
        if page is None:
            return _response("404 Not Found", "text/plain", b"see /metrics\n", words[0] == b"GET")
        kind, body = page()
        return _response("200 OK", kind, body, words[0] == b"GET")

    def _write(self, connection: _Connection) -> None:
        try:
            sent = connection.socket.send(connection.output)
        except (BlockingIOError, InterruptedError):
            sent = 0
        except OSError:
            self._end(connection)
            return
        connection.output = connection.output[sent:]
        if not connection.output:
            self._end(connection)
            return
        self._loop.watch(connection.socket.fileno(), WRITE, lambda _events: self._write(connection))

    def _end(self, connection: _Connection) -> None:
        number = connection.socket.fileno()
        if number >= 0:
            connection.timer.cancel()
            self._loop.forget(number)
            self._connections.pop(number, None)
            connection.socket.close()


def _response(status: str, kind: str, body: bytes, with_body: bool) -> bytes:
    head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    return head.encode() + (body if with_body else b"")
