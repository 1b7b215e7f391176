"""Stand-in source: everything that the host tells once a minute, as `diagnose` reads it."""

from __future__ import annotations

from collections.abc import Sequence

from neuronwatch.model.diagnosis import SourceReport
from neuronwatch.model.live import Delivery, Whole
from neuronwatch.model.records import Fact
from neuronwatch.source.host import HostRoot, VirtualFile, host_sources
from neuronwatch.source.live.api import Now


class HostSource:
    name, budget, interval, mandatory, blocking = "host", 150.0, 60.0, True, False

    def __init__(self, root: HostRoot) -> None:
        self._root = root

    def poll(self, now: Now) -> Delivery | None:
        items = list(host_sources(self._root))
        return Delivery(
            self.name, now.wall, wholes=[Whole(item.path, item.data) for item in items if isinstance(item, VirtualFile)],
            facts=[item for item in items if isinstance(item, Fact)],
            reports=[item for item in items if isinstance(item, SourceReport)],
        )  # fmt: skip

    def descriptors(self) -> Sequence[int]:
        return ()

    def close(self) -> None:
        pass
