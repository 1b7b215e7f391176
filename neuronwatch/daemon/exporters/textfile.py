"""Prometheus by a file, for node_exporter's textfile collector."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from neuronwatch.daemon import view
from neuronwatch.daemon.exporters import exposition
from neuronwatch.daemon.exporters.api import Silent
from neuronwatch.daemon.exporters.files import Complaint, replace

if TYPE_CHECKING:
    from neuronwatch.daemon.service import Service


class Textfile(Silent):
    """At the end the file is removed: numbers that nobody renews must not be scraped for ever."""

    name = "textfile"

    def __init__(self, service: Service) -> None:
        settings = service.config.exporters.textfile
        self._service = service
        self._path = Path(settings.path)
        self._complaint = Complaint(service.log, "the textfile of the exporter", path=str(self._path))
        self._timer = service.loop.every(settings.interval, self._write)
        service.loop.after(0.0, self._write)

    def _write(self) -> None:
        # The host's clock may run faster; what node_exporter exports itself is not told twice.
        own = {name: value for name, value in self._service.own_numbers().items() if name.startswith("neuronwatch_")}
        error: OSError | None = None
        try:
            replace(self._path, exposition.render(view.of(self._service)._replace(own=own)))
        except OSError as caught:
            error = caught
        self._complaint.told(error)

    def close(self) -> None:
        self._timer.cancel()
        self._path.unlink(missing_ok=True)


def make(service: Service) -> Textfile:
    return Textfile(service)
