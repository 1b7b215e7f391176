"""A case given to the watch as a live host gives it: texts that are there as a whole, and logs that grow piece by piece, in any
order, with judgements in between."""

from __future__ import annotations

import random
from pathlib import Path

from case_support import rules

from neuronwatch.judge.live import Judged, Watch
from neuronwatch.model.diagnosis import SourceReport
from neuronwatch.model.live import Appended, Health, Now, Whole
from neuronwatch.parse.api import Document
from neuronwatch.source import archive, formats, recognise
from neuronwatch.source.live.scan import LiveScan
from neuronwatch.source.tree import Listing, walk

BEGIN = 1_780_000_000.0
LINE_FORMATS, FILE_FORMATS = formats.shipped()
HEALTHY = [Health("logs", "fresh", BEGIN, 5.0, BEGIN), Health("files", "fresh", BEGIN, 5.0, BEGIN, mandatory=True)]


def grows(path: str, data: bytes) -> bool:
    """Whether a file is a text that a source would follow: no archive, and no document of one format."""
    head = data[: recognise.SNIFFED]
    if not data or archive.container(head) or archive.packer(head) or archive.refused(head):
        return False
    return recognise.owner(Document(path, head, len(data)), FILE_FORMATS)[0] is None


def deliveries(directory: Path, chance: random.Random):
    """What sources would deliver, interleaved: Whole, Appended and SourceReport."""
    streams: list[list[object]] = []
    for entry in walk([directory]):
        if isinstance(entry, SourceReport):
            streams.append([entry])
            continue
        data = entry.data if isinstance(entry, Listing) else Path(entry.place).read_bytes()
        if isinstance(entry, Listing) or not grows(entry.path, data):
            streams.append([Whole(entry.path, data)])
            continue
        cuts = sorted({chance.randrange(1, len(data) + 1) for _ in range(chance.choice((0, 1, 5, 30)))} | {len(data)})
        pieces = zip([0, *cuts], cuts, strict=False)
        streams.append([Appended(entry.path, data[low:high], fresh=low == 0) for low, high in pieces])
    while streams:
        stream = chance.choice(streams)
        yield stream.pop(0)
        if not stream:
            streams.remove(stream)


def live(directory: Path, seed: object) -> tuple[Judged, list[Judged]]:
    """The last judgement of the watch over a case, and those before."""
    chance = random.Random(f"{directory} {seed}")
    watch, scan = Watch(rules(), clock=False, lasting=0.0), LiveScan(rules(), LINE_FORMATS, FILE_FORMATS)
    reports: list[SourceReport] = []
    mono, before = 100.0, []
    for item in deliveries(directory, chance):
        mono += chance.choice((0.001, 0.05, 0.5))
        now = Now(BEGIN + mono, mono)
        if isinstance(item, Whole):
            watch.replace("files", item.path, scan.whole(item), now)
        elif isinstance(item, Appended):
            watch.append("logs", item.path, scan.feed(item, mono), now, item.fresh)
        else:
            reports.append(item)
            watch.reports("files", reports, now)
        if chance.random() < 0.2:
            watch.observe(scan.quiet(mono), now)
            before.append(watch.conclude(now, HEALTHY))
    mono += 20.0
    now = Now(BEGIN + mono, mono)
    watch.observe(scan.quiet(mono), now)
    before.append(watch.conclude(now, HEALTHY))
    # What was said in between and revised since is no condition any more.
    return watch.conclude(Now(now.wall + 15, mono + 15), HEALTHY), before
