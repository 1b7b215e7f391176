"""Who else is told: one file per exporter."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from neuronwatch.daemon.exporters.api import Exporter

if TYPE_CHECKING:
    from neuronwatch.daemon.service import Service

MODULES = ("prometheus", "textfile", "jsonl", "npd", "otel", "alerts")
"""Each with `make(service) -> Exporter`; imported only where the configuration asks for it."""


def all_wanted(service: Service) -> list[Exporter]:
    """The exporters that the configuration asks for. Raises CannotExport."""
    config = service.config
    wanted = {
        "prometheus": bool(config.exporters.prometheus.listen),
        "textfile": bool(config.exporters.textfile.path),
        "jsonl": bool(config.exporters.jsonl.path),
        "npd": bool(config.exporters.npd.path),
        "otel": bool(config.exporters.otel.endpoint),
        "alerts": bool(config.alerts),
    }
    found: list[Exporter] = []
    for name in MODULES:
        if wanted[name]:
            found.append(importlib.import_module(f"neuronwatch.daemon.exporters.{name}").make(service))
    return found
