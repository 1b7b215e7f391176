"""The daemon's own log on stderr: text for people (journald adds the time), or one JSON object per line."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import IO, Literal

from neuronwatch.daemon import streams
from neuronwatch.model.diagnosis import Severity

Level = Literal["debug", "info", "warning", "error"]
PRIORITY: dict[str, int] = {"debug": 7, "info": 6, "warning": 4, "error": 3}
"""Syslog priorities: journald reads `<N>` at the start of a line."""
MAX_VALUE = 2000


class Log:
    """`what` is a sentence, `fields` are its values. Never raises: a log that cannot be written is no reason to stop."""

    def __init__(self, form: Literal["text", "json"] = "text", stream: IO[str] | None = None, journal: bool = False) -> None:
        self._form = form
        self._stream = stream if stream is not None else sys.stderr
        self._journal = journal
        self._clock: Callable[[], float] = time.time

    def say(self, level: Level, what: str, **fields: str | int | float | bool | None) -> None:
        line = self._json(level, what, fields) if self._form == "json" else self._text(level, what, fields)
        try:
            self._stream.write(line)
            self._stream.flush()
        except (OSError, ValueError):
            pass

    def info(self, what: str, **fields: str | int | float | bool | None) -> None:
        self.say("info", what, **fields)

    def warning(self, what: str, **fields: str | int | float | bool | None) -> None:
        self.say("warning", what, **fields)

    def error(self, what: str, **fields: str | int | float | bool | None) -> None:
        self.say("error", what, **fields)

    def _json(self, level: Level, what: str, fields: dict[str, str | int | float | bool | None]) -> str:
        values = {name: value[:MAX_VALUE] if isinstance(value, str) else value for name, value in fields.items()}
        document = {"time": round(self._clock(), 3), "level": level, "message": what[:MAX_VALUE], **values}
        return json.dumps(document) + "\n"

    def _text(self, level: Level, what: str, fields: dict[str, str | int | float | bool | None]) -> str:
        more = "".join(f" {name}={_shown(value)}" for name, value in fields.items())
        line = streams.one_line(f"{what}{more}")
        if self._journal:
            return f"<{PRIORITY[level]}>{line}\n"
        moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(self._clock()))
        return f"{moment} {level:<7} {line}\n"


def level_of(severity: Severity) -> Level:
    """How loud a finding is."""
    return "error" if severity in ("error", "critical") else "warning" if severity == "warning" else "info"


def _shown(value: str | int | float | bool | None) -> str:
    text = str(value)[:MAX_VALUE]
    return json.dumps(text) if not text or any(char in text for char in ' ="') else text
