"""Who is at the other end of a Unix socket."""

from __future__ import annotations

import socket
import struct


def uid_of(connection: socket.socket) -> int:
    """The user at the other end, -1 where the system does not say."""
    if hasattr(socket, "SO_PEERCRED"):
        data = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        return int(struct.unpack("3i", data)[1])
    if hasattr(socket, "LOCAL_PEERCRED"):  # macOS: struct xucred, its uid behind the version
        data = connection.getsockopt(0, socket.LOCAL_PEERCRED, 76)
        return int(struct.unpack("=2I", data[:8])[1])
    return -1
