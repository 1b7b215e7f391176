"""What a way of `source/host` gives, as deliveries: only the texts that changed, all facts and reports when any did."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from neuronwatch.judge.match.store import blake2b
from neuronwatch.model.diagnosis import SourceReport
from neuronwatch.model.live import Delivery, Reading, Whole
from neuronwatch.model.records import Fact
from neuronwatch.source.host import HostItem
from neuronwatch.source.host.root import VirtualFile


class Changes:
    """Remembers what one source told last: fingerprints of its texts, its facts and its reports."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._marks: dict[str, bytes] = {}
        self._told: tuple[tuple[Fact, ...], tuple[SourceReport, ...]] | None = None

    def of(self, items: Iterable[HostItem], time: float, readings: Sequence[Reading] = ()) -> Delivery:
        """A delivery of what differs from the time before; texts that are no longer there are told as gone."""
        wholes: list[Whole] = []
        facts: list[Fact] = []
        reports: list[SourceReport] = []
        marks: dict[str, bytes] = {}
        for item in items:
            if isinstance(item, VirtualFile):
                marks[item.path] = blake2b(item.data, digest_size=16).digest()
                if self._marks.get(item.path) != marks[item.path]:
                    wholes.append(Whole(item.path, item.data))
            elif isinstance(item, Fact):
                facts.append(item)
            else:
                reports.append(item)
        wholes += [Whole(path, None) for path in self._marks if path not in marks]
        self._marks = marks
        told = (tuple(facts), tuple(reports))
        if told == self._told:
            return Delivery(self._source, time, readings, wholes)
        self._told = told
        return Delivery(self._source, time, readings, wholes, facts=told[0], reports=told[1])


class Pace:
    """When the next text may go to the judge: at once after a while of quiet, with growing pauses while something goes on
    changing. `pauses`: seconds after the first, second, ... text."""

    def __init__(self, pauses: Sequence[float] = (0.0, 10.0, 20.0, 40.0, 60.0)) -> None:
        self._pauses = pauses
        self._next = float("-inf")
        self._sent = 0

    def free(self, now: float) -> bool:
        """Whether a text may go now (monotonic seconds)."""
        return now >= self._next

    def sent(self, now: float) -> None:
        if now - self._next > self._pauses[-1]:
            self._sent = 0
        self._next = now + self._pauses[min(self._sent, len(self._pauses) - 1)]
        self._sent += 1


def tells(delivery: Delivery) -> bool:
    """Whether there is anything in it for the judge."""
    return bool(delivery.wholes or delivery.appended) or delivery.facts is not None or delivery.reports is not None
