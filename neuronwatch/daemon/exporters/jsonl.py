"""JSON lines: one object per change of an incident or of a source, for log shippers."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuronwatch.daemon import status
from neuronwatch.daemon.exporters.files import Complaint
from neuronwatch.model.live import Health, Incident

if TYPE_CHECKING:
    from neuronwatch.daemon.service import Service


class JsonLines:
    """Opened anew for each line: a rotation by others is no matter."""

    name = "jsonl"

    def __init__(self, service: Service) -> None:
        settings = service.config.exporters.jsonl
        self._service = service
        self._path = Path(settings.path)
        self._limit = settings.megabytes * 1024 * 1024
        self._complaint = Complaint(service.log, "the JSON lines file", path=str(self._path))

    def incident(self, what: str, text: str, incident: Incident) -> None:
        self._write({"event": "incident", "what": what, "text": status.hidden(text), "incident": status.incident(incident)})

    def keep(self) -> None:
        pass

    def source(self, health: Health) -> None:
        now = self._service.loop.clock.now().wall
        self._write({"event": "source", "source": status.source(health, now)})

    def _write(self, document: dict[str, Any]) -> None:
        line = json.dumps({"time": self._service.loop.clock.now().wall, **document}).encode() + b"\n"
        error: OSError | None = None
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
        try:
            descriptor = os.open(self._path, flags, 0o640)
            try:
                if os.fstat(descriptor).st_size + len(line) > self._limit:
                    self._path.replace(self._path.with_name(self._path.name + ".1"))
                    os.close(descriptor)
                    descriptor = os.open(self._path, flags, 0o640)
                os.write(descriptor, line)
            finally:
                os.close(descriptor)
        except OSError as caught:
            error = caught
        self._complaint.told(error)

    def close(self) -> None:
        pass


def make(service: Service) -> JsonLines:
    return JsonLines(service)
