"""The view that exporters get: what is known now, and nothing that is not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuronwatch.daemon.exporters.api import Value, View
from neuronwatch.model import metrics

if TYPE_CHECKING:
    from neuronwatch.daemon.service import Service


def of(service: Service) -> View:
    """A reading is left out where it is absent, or older than its source's budget: blind is never a number."""
    now, ring = service.loop.clock.now().wall, service.memory.ring
    healths = service.runner.health()
    budgets = {item.source: item.budget for item in healths if item.state in ("fresh", "starting")}
    known = set(ring.metrics())
    values = []
    for metric in metrics.ALL:
        if metric.name not in known:
            continue
        found = [Value(entity, point.value, point.time) for entity, point in ring.latest(metric.name).items()
                 if point.value is not None and now - point.time <= budgets.get(point.source, 0.0)]  # fmt: skip
        if found:
            values.append((metric, found))
    judged = service.judged
    return View(
        now, judged.verdict if judged else "unknown", healths, judged.conditions if judged else (),
        judged.incidents if judged else (), values, service.own_numbers(),
    )  # fmt: skip
