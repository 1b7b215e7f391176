"""A client of the daemon's socket: for the verbs, the dashboard and the supervisor. Blocking, one answer after the other."""

from __future__ import annotations

import os
import socket
import struct
import time
from collections import deque
from pathlib import Path
from types import TracebackType
from typing import Any

from neuronwatch.daemon.protocol import MAX_MESSAGE, MAX_SOCKET_PATH, SCHEMA, ApiError, decode, encode, version_of

TIMEOUT = 10.0
GREETING = 5.0
"""Seconds until a daemon that lives has said who it is: it does so whatever else it does. Who has more patience waits longer."""


class NoDaemon(Exception):
    """Nobody answers on the socket; the text says why, and the mend."""


class Client:
    """Connects at once. Raises NoDaemon, and ApiError where the daemon speaks a newer version."""

    def __init__(self, path: Path | str, timeout: float = TIMEOUT) -> None:
        self.path = str(path)
        self._timeout = timeout
        self._buffer = bytearray()
        self._number = 0
        self.events: deque[dict[str, Any]] = deque()
        """Events that came while an answer was awaited."""
        self._socket = _connect(self.path, timeout)
        try:
            first = self._receive(timeout if timeout > TIMEOUT else min(timeout, GREETING))
            _raise_error(first)
            self.hello: dict[str, Any] = first.get("data") or {}
            if version_of(self.hello.get("schema")) > version_of(SCHEMA):
                raise ApiError("version", f"the daemon speaks {self.hello['schema']}, this neuronwatch {SCHEMA}: update it")
        except BaseException:
            self.close()
            raise

    def fileno(self) -> int:
        return self._socket.fileno()

    def call(self, method: str, **params: Any) -> Any:
        """The result. Raises ApiError for an error of the daemon, NoDaemon when it goes away or is silent too long."""
        self._number += 1
        self._send(encode({"id": self._number, "method": method, "params": params}))
        end = time.monotonic() + self._timeout
        while True:
            message = self._receive(max(0.0, end - time.monotonic()))
            if "event" in message:
                self.events.append(message)
            elif message.get("id") == self._number:
                _raise_error(message)
                return message.get("result")

    def event(self, timeout: float) -> dict[str, Any] | None:
        """The next event of a subscription, None after `timeout` seconds without one."""
        if self.events:
            return self.events.popleft()
        end = time.monotonic() + timeout
        try:
            while True:
                message = self._receive(max(0.0, end - time.monotonic()))
                if "event" in message:
                    return message
        except TimeoutError:
            return None

    def _send(self, data: bytes) -> None:
        self._socket.settimeout(self._timeout)
        try:
            self._socket.sendall(data)
        except OSError as error:
            raise NoDaemon(f"the daemon at {self.path} went away ({_why(error)})") from error

    def _receive(self, timeout: float) -> dict[str, Any]:
        """The next message. Raises TimeoutError (a NoDaemon for `call`'s caller) and NoDaemon."""
        end = time.monotonic() + timeout
        searched = 0
        while True:
            stop = self._buffer.find(b"\n", searched)
            if stop >= 0:
                line = bytes(self._buffer[:stop])
                del self._buffer[: stop + 1]
                return decode(line)
            searched = len(self._buffer)
            if searched > MAX_MESSAGE:
                raise ApiError("too-large", "an answer of the daemon is larger than any can be")
            self._socket.settimeout(max(0.001, end - time.monotonic()))
            try:
                data = self._socket.recv(1 << 16)
            except TimeoutError:
                raise Silent(f"the daemon at {self.path} does not answer{_how_it_is(self._socket)}") from None
            except OSError as error:
                raise NoDaemon(f"the daemon at {self.path} went away ({_why(error)})") from error
            if not data:
                raise NoDaemon(f"the daemon at {self.path} closed the connection")
            self._buffer += data

    def close(self) -> None:
        self._socket.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


class Silent(NoDaemon, TimeoutError):
    """It is there and says nothing."""


def _raise_error(message: dict[str, Any]) -> None:
    error = message.get("error")
    if isinstance(error, dict):
        raise ApiError(str(error.get("code", "internal")), str(error.get("message", "")))


def _connect(path: str, timeout: float) -> socket.socket:
    if len(os.fsencode(path)) > MAX_SOCKET_PATH:
        raise NoDaemon(f"{path}: a socket's path has at most {MAX_SOCKET_PATH} bytes; use a shorter --state-dir or --socket")
    if not hasattr(socket, "AF_UNIX"):
        raise NoDaemon("this system has no Unix sockets")
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.settimeout(timeout)
        connection.connect(path)
    except OSError as error:
        connection.close()
        raise NoDaemon(_no_daemon(path, error)) from error
    return connection


def _no_daemon(path: str, error: OSError) -> str:
    if isinstance(error, FileNotFoundError):
        return f"no daemon is running ({path}: no such socket); start `neuronwatch daemon`"
    if isinstance(error, ConnectionRefusedError):
        return f"no daemon is running (nobody listens on {path}); start `neuronwatch daemon`"
    if isinstance(error, PermissionError):
        return f"{path}: permission denied; only the daemon's user and root may connect (try sudo)"
    return f"{path}: {_why(error)}"


_STATES = {"T": "is stopped (`kill -CONT {pid}` lets it go on)", "t": "is stopped by a debugger", "D": "waits for a disk or device"}


def _how_it_is(connection: socket.socket) -> str:
    """` (pid N is stopped)`, as far as the system tells who listens and how that process is."""
    if not hasattr(socket, "SO_PEERCRED"):
        return ""
    try:
        pid = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i")))[0]
        with open(f"/proc/{pid}/stat", "rb") as file:
            state = file.read(4096).rpartition(b")")[2].split()[0].decode()
    except (OSError, IndexError, ValueError):
        return ""
    how = _STATES.get(state, "lives; is the machine overloaded?").format(pid=pid)
    return f": pid {pid} {how}"


def _why(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
