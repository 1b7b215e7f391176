"""`neuronwatch.api/1`: one JSON object per line over a Unix socket. Requests, answers, events, and their limits.

    {"id": 1, "method": "status", "params": {}}
    {"id": 1, "result": {...}}     or     {"id": 1, "error": {"code": "unknown-method", "message": "..."}}
    {"event": "incidents", "dropped": 0, "data": {...}}

The daemon speaks first: `{"event": "hello", "data": {"schema": "neuronwatch.api/1", ...}}`.
"""

from __future__ import annotations

import json
import math
from typing import Any, NamedTuple

SCHEMA = "neuronwatch.api/1"
MAX_REQUEST = 64 * 1024
"""Bytes of one request, with its end of line."""
MAX_MESSAGE = 4 * 1024 * 1024
"""Bytes of one answer or event."""
MAX_SOCKET_PATH = 107
"""Bytes of a socket's path (sun_path without its final zero)."""


class ApiError(Exception):
    """What a client did that cannot be answered. `code`: bad-request, too-large, unknown-method, version, not-found, refused,
    unavailable or internal."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class Request(NamedTuple):
    id: int | str | None
    method: str
    params: dict[str, Any]


def encode(message: dict[str, Any]) -> bytes:
    """One line. NaN and infinity become texts, so that any parser reads it."""
    try:
        text = json.dumps(message, allow_nan=False, separators=(",", ":"))
    except ValueError:
        text = json.dumps(_finite(message), allow_nan=False, separators=(",", ":"))
    return text.encode("ascii") + b"\n"


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return value


def decode(line: bytes) -> dict[str, Any]:
    """The object of one line. Raises ApiError."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        raise ApiError("bad-request", "not a JSON object on one line") from None
    if not isinstance(message, dict):
        raise ApiError("bad-request", "not a JSON object")
    return message


def request_of(line: bytes) -> Request:
    """Raises ApiError for what is no request."""
    message = decode(line)
    number, method, params = message.get("id"), message.get("method"), message.get("params", {})
    if not isinstance(number, (int, str, type(None))) or isinstance(number, bool):
        raise ApiError("bad-request", "id must be a number or a text")
    if not isinstance(method, str):
        raise ApiError("bad-request", "method must be a text")
    if not isinstance(params, dict):
        raise ApiError("bad-request", "params must be an object")
    return Request(number, method, params)


def version_of(schema: object) -> int:
    """The N of `neuronwatch.api/N`. Raises ApiError for another schema."""
    name, _, number = str(schema).partition("/")
    if name != SCHEMA.partition("/")[0] or not number.isascii() or not number.isdecimal() or len(number) > 6:
        raise ApiError("version", f"{str(schema)[:80]!r} is not {SCHEMA}")
    return int(number)
