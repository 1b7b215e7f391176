"""`python -m neuronwatch.daemon.exporters.otel_child SOCKET ENDPOINT SECONDS`: reads snapshots from the daemon, exports them."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable
from typing import Any

from neuronwatch.daemon.client import Client, NoDaemon
from neuronwatch.daemon.exporters.exposition import labels_of
from neuronwatch.daemon.exporters.otel import NOT_INSTALLED
from neuronwatch.daemon.protocol import ApiError
from neuronwatch.model.metrics import ALL, Metric

_UNITS = {
    "percent": "%", "bytes": "By", "seconds": "s", "count": "1", "per_second": "1/s", "bytes_per_second": "By/s", "watts": "W",
}  # fmt: skip


class Snapshots:
    """The newest snapshot, asked for once per export."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._client: Client | None = None
        self._asked = 0.0
        self._metrics: dict[str, Any] = {}
        self._budgets: dict[str, float] = {}

    def of(self, name: str) -> dict[str, Any]:
        if time.monotonic() - self._asked > 0.5:
            self._asked = time.monotonic()
            self._ask()
        found: dict[str, Any] = self._metrics.get(name, {})
        return {entity: item for entity, item in found.items()
                if item[0] is not None and item[1] <= self._budgets.get(item[3], 0.0)}  # fmt: skip

    def _ask(self) -> None:
        try:
            if self._client is None:
                self._client = Client(self._path)
            self._metrics = self._client.call("snapshot")["metrics"]
            sources = self._client.call("sources")["sources"]
            self._budgets = {item["name"]: item["budget"] for item in sources if item["state"] == "fresh"}
        except (NoDaemon, ApiError):
            self._metrics, self._client = {}, None


def main() -> int:
    socket, endpoint, seconds = sys.argv[1], sys.argv[2], float(sys.argv[3])
    try:
        from opentelemetry import metrics as api
        from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
        from opentelemetry.sdk.metrics import MeterProvider
        from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
        from opentelemetry.sdk.resources import Resource
    except ImportError as error:
        sys.stderr.write(f"{error}: pip install 'neuronwatch[otel]'\n")
        return NOT_INSTALLED
    import os

    exporter = OTLPMetricExporter(endpoint=endpoint.rstrip("/") + "/v1/metrics")
    reader = PeriodicExportingMetricReader(exporter, export_interval_millis=seconds * 1000)
    resource = Resource.create({"service.name": "neuronwatch", "host.name": os.uname().nodename})
    provider = MeterProvider(resource=resource, metric_readers=[reader])
    meter = provider.get_meter("neuronwatch")
    snapshots = Snapshots(socket)
    for metric in ALL:
        make = meter.create_observable_counter if metric.kind == "counter" else meter.create_observable_gauge
        make(f"neuronwatch.{metric.name}", [_callback(metric, snapshots, api.Observation)], _UNITS[metric.unit], metric.help)
    parent = os.getppid()
    while os.getppid() == parent:  # the daemon is gone: nobody is left to ask
        time.sleep(min(seconds, 5.0))
    provider.shutdown()
    return 0


def _callback(metric: Metric, snapshots: Snapshots, observation: Any) -> Callable[[Any], Iterable[Any]]:
    def observe(_options: Any) -> Iterable[Any]:
        return [observation(item[0], dict(labels_of(metric, entity))) for entity, item in snapshots.of(metric.name).items()]

    return observe


if __name__ == "__main__":
    sys.exit(main())
