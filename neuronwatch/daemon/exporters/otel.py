"""OpenTelemetry: a child that asks the daemon's socket and exports by OTLP. The SDK (extra `otel`) costs 30 MB and threads, so
it never enters the daemon itself."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from neuronwatch.daemon.exporters.api import Silent
from neuronwatch.daemon.exporters.spawn import Child

if TYPE_CHECKING:
    from neuronwatch.daemon.loop import Timer
    from neuronwatch.daemon.service import Service

FIRST_PAUSE, LONGEST_PAUSE = 5.0, 600.0
NOT_INSTALLED = 69
"""EX_UNAVAILABLE: the child's answer where the extra is missing; no further attempt is made."""


class OpenTelemetry(Silent):
    """Keeps the child running."""

    name = "otel"

    def __init__(self, service: Service) -> None:
        self._service = service
        self._child: Child | None = None
        self._pause = FIRST_PAUSE
        self._timer: Timer = service.loop.after(0.0, self._start)

    def _start(self) -> None:
        settings = self._service.config.exporters.otel
        argv = [sys.executable, "-m", f"{__package__}.otel_child", str(self._service.options.socket), settings.endpoint,
                str(settings.interval / self._service.loop.clock.rate)]  # fmt: skip
        environ = {name: value for name, value in os.environ.items() if name != "NOTIFY_SOCKET"}
        try:
            self._child = Child(self._service.loop, argv, b"", environ, float("inf"), self._ended)
        except OSError as error:
            self._ended(127, (error.strerror or str(error)).lower())

    def _ended(self, code: int | None, said: str) -> None:
        self._child = None
        why = said.splitlines()[-1][:300] if said else f"exit status {code}"
        if code == NOT_INSTALLED:
            self._service.log.error("OpenTelemetry is not exported", why=why)
            return
        self._service.log.warning("the OpenTelemetry exporter ended and is started again", why=why, seconds=self._pause)
        self._timer = self._service.loop.after(self._pause * self._service.loop.clock.rate, self._start)
        self._pause = min(LONGEST_PAUSE, self._pause * 2)

    def close(self) -> None:
        self._timer.cancel()
        if self._child is not None:
            self._child.kill()


def make(service: Service) -> OpenTelemetry:
    return OpenTelemetry(service)
