"""Prometheus over HTTP: /metrics on an address of the configuration, loopback unless it says otherwise."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuronwatch.daemon import view
from neuronwatch.daemon.exporters import exposition
from neuronwatch.daemon.exporters.api import CannotExport, Silent
from neuronwatch.daemon.exporters.http import CannotListen, HttpServer

if TYPE_CHECKING:
    from neuronwatch.daemon.service import Service


class Prometheus(Silent):
    name = "prometheus"

    def __init__(self, service: Service) -> None:
        settings = service.config.exporters.prometheus

        def metrics() -> tuple[str, bytes]:
            return exposition.CONTENT_TYPE, exposition.render(view.of(service))

        try:
            self._server = HttpServer(service.loop, settings.listen, settings.allow_remote, {"/metrics": metrics})
        except CannotListen as error:
            raise CannotExport(f"exporters.prometheus: {error}") from error
        service.log.info("metrics are served", port=self._server.port)

    def close(self) -> None:
        self._server.close()


def make(service: Service) -> Prometheus:
    return Prometheus(service)
