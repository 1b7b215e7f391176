"""How `drill inject` and `drill clear` talk to the running host: a Unix socket below it, one JSON object a line each way."""

from __future__ import annotations

import contextlib
import json
import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

DIRECTORY = ".drill"
SOCKET = "control.sock"
LIMIT = 64 * 1024
TIMEOUT = 10.0


class NoHost(Exception):
    """No host runs below that directory. The text says so."""


@contextlib.contextmanager
def _short(root: Path) -> Iterator[str]:
    """A path of the socket that fits into the 107 bytes of an address, whatever the root is called."""
    directory = root / DIRECTORY
    path = str(directory / SOCKET)
    if len(os.fsencode(path)) <= 100 or not os.path.isdir("/proc/self/fd"):
        yield path
        return
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{descriptor}/{SOCKET}"
    finally:
        os.close(descriptor)


class Server:
    """The host's end. `serve` answers one client; a client that says nothing for a moment is let go."""

    def __init__(self, root: Path) -> None:
        self._path = root / DIRECTORY / SOCKET
        self._path.unlink(missing_ok=True)
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        with _short(root) as path:
            before = os.umask(0o177)
            try:
                self.socket.bind(path)
            finally:
                os.umask(before)
        self.socket.listen(16)
        self.socket.setblocking(False)

    def serve(self, answer: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
        try:
            client, _ = self.socket.accept()
        except OSError:
            return
        with client:
            client.settimeout(0.5)
            with contextlib.suppress(OSError, ValueError):
                request = json.loads(_line(client))
                reply = answer(request) if isinstance(request, dict) else {"error": "not a JSON object"}
                client.sendall((json.dumps(reply) + "\n").encode())

    def close(self) -> None:
        self.socket.close()
        self._path.unlink(missing_ok=True)


def ask(root: Path, request: dict[str, Any]) -> dict[str, Any]:
    """The host's answer. Raises NoHost where none runs or it does not answer."""
    nothing = f"{root}: no drill host runs there; start one with `neuronwatch drill host --dir {root}`"
    try:
        os.stat(root / DIRECTORY)
    except (FileNotFoundError, NotADirectoryError):
        raise NoHost(nothing) from None
    except OSError as error:
        raise NoHost(f"{root}: {(error.strerror or str(error)).lower()}") from None
    client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    with client:
        client.settimeout(TIMEOUT)
        try:
            with _short(root) as path:
                client.connect(path)
            client.sendall((json.dumps(request) + "\n").encode())
            reply = json.loads(_line(client))
        except FileNotFoundError:
            raise NoHost(nothing) from None
        except (OSError, ValueError) as error:
            reason = error.strerror.lower() if isinstance(error, OSError) and error.strerror else str(error)
            raise NoHost(f"{root}: the drill host does not answer: {reason}") from None
    return reply if isinstance(reply, dict) else {"error": "not a JSON object"}


def _line(stream: socket.socket) -> bytes:
    data = b""
    while not data.endswith(b"\n") and len(data) < LIMIT:
        chunk = stream.recv(4096)
        if not chunk:
            break
        data += chunk
    return data
