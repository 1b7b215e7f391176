"""`neuronwatch.status/1`: how the host is, as a document."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from neuronwatch import __version__
from neuronwatch.model.live import Health

if TYPE_CHECKING:
    from neuronwatch.daemon.service import Service

SCHEMA = "neuronwatch.status/1"


def document(service: Service) -> dict[str, Any]:
    now = service.loop.clock.now()
    health = service.runner.health()
    diagnosis = service.diagnosis
    blind = [item for item in health if item.mandatory and item.state != "fresh"]
    verdict = "unknown" if blind and diagnosis.verdict == "healthy" else diagnosis.verdict
    return {
        "schema": SCHEMA,
        "verdict": verdict,
        "time": now.wall,
        "daemon": {"pid": os.getpid(), "version": __version__, "uptime": round(now.mono - service.started.mono, 3)},
        "findings": [f.fault or f.rule for f in diagnosis.findings],
        "sources": [source(item, now.wall) for item in health],
        "unknown": [f"{item.source}: {item.state}: {item.reason}" for item in blind],
    }


def source(health: Health, now: float) -> dict[str, Any]:
    """`age`: seconds since the last delivery, None: there was none."""
    return {
        "name": health.source, "state": health.state, "reason": health.reason, "since": health.since, "last": health.last,
        "age": None if health.last is None else round(max(0.0, now - health.last), 3), "budget": health.budget,
        "mandatory": health.mandatory,
    }  # fmt: skip
