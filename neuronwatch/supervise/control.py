"""The control socket of an owner, in the job's directory: one line of JSON asked, one answered. For this user (and root) alone."""

from __future__ import annotations

import contextlib
import json
import os
import socket
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from neuronwatch.store import peer
from neuronwatch.supervise.directory import JobDirectory
from neuronwatch.supervise.errors import JobError

NAME = "control.sock"
MAX_LINE = 64 * 1024
PATIENCE = 0.5


class Control:
    """Listens. `serve` answers one caller by `do(asked)`."""

    def __init__(self, directory: JobDirectory, do: Callable[[Mapping[str, Any]], dict[str, Any]]) -> None:
        self._directory, self._do = directory, do
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
        with _short(directory) as place:
            Path(place).unlink(missing_ok=True)
            self._socket.bind(place)
            Path(place).chmod(0o600)
        self._socket.listen(8)
        self._socket.setblocking(False)

    def fileno(self) -> int:
        return self._socket.fileno()

    def serve(self) -> None:
        with contextlib.suppress(OSError):
            connection, _ = self._socket.accept()
            with connection:
                connection.settimeout(PATIENCE)
                if peer.uid_of(connection) not in (0, os.geteuid()):
                    return
                connection.sendall(json.dumps(self._answer(_line(connection))).encode() + b"\n")

    def _answer(self, line: bytes) -> dict[str, Any]:
        try:
            asked = json.loads(line)
        except (ValueError, RecursionError):
            asked = None
        return self._do(asked) if isinstance(asked, dict) else {"ok": False, "error": "not a JSON object"}

    def close(self) -> None:
        self._socket.close()
        with contextlib.suppress(OSError):
            (self._directory.path / NAME).unlink()


def ask(directory: JobDirectory, what: str, patience: float = 5.0) -> dict[str, Any] | None:
    """Asks the owner; None: there is none. Raises JobError where it does not answer."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(patience)
        try:
            with _short(directory) as place:
                connection.connect(place)
            connection.sendall(json.dumps({"do": what}).encode() + b"\n")
            line = _line(connection)
        except (FileNotFoundError, ConnectionRefusedError, ConnectionResetError):
            return None
        except OSError as error:
            raise JobError(
                f"the owner of job {directory.name} does not answer: {error}", f"its pid is {directory.owner()}"
            ) from error
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _line(connection: socket.socket) -> bytes:
    data = b""
    while b"\n" not in data and len(data) < MAX_LINE and (part := connection.recv(4096)):
        data += part
    return data


@contextlib.contextmanager
def _short(directory: JobDirectory) -> Any:
    """The socket's path by way of a descriptor: an address holds 107 bytes, a state directory may be deeper."""
    descriptor = os.open(directory.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{descriptor}/{NAME}"
    finally:
        os.close(descriptor)
