"""The timeline of a recording: every delivery with its time, in frames that are appended and never changed.

    segment = TIMELINE, frame, frame, ...      frame = length, crc32, first time, last time, zstd(JSON)

A frame stands for itself (a cut last one is left out, a damaged one skipped). A segment begins with the state of that moment:
texts, facts and reports as they were, and where followed texts go on; so that old segments can go, and a replay can begin at
any time.
"""

from __future__ import annotations

import json
import os
import struct
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import isfinite
from typing import IO, Any, NamedTuple

import zstandard

from neuronwatch.model import plain
from neuronwatch.model.diagnosis import SourceReport
from neuronwatch.model.live import Appended, Delivery, Reading, Whole
from neuronwatch.model.records import Fact
from neuronwatch.store.names import TIMELINE

SUFFIX = ".timeline"
MAX_FRAME = 64 * 1024 * 1024
_HEADER = struct.Struct("<IIdd")


class Frame(NamedTuple):
    """`state`: the deliveries tell how things stood at the beginning of a segment, not what came then."""

    first: float
    last: float
    state: bool
    deliveries: list[Delivery]


def encode(deliveries: Sequence[Delivery], state: bool = False) -> bytes:
    """One frame. Each list of metrics and entities is written once in it."""
    shapes: dict[tuple[tuple[str, str], ...], int] = {}
    document: dict[str, Any] = {"state": state, "deliveries": [_of_delivery(item, shapes) for item in deliveries]}
    document["shapes"] = [list(map(list, shape)) for shape in shapes]
    data = zstandard.ZstdCompressor(level=3).compress(json.dumps(document, separators=(",", ":")).encode())
    times = [item.time for item in deliveries]
    return _HEADER.pack(len(data), zlib.crc32(data), min(times), max(times)) + data


def _of_delivery(item: Delivery, shapes: dict[tuple[tuple[str, str], ...], int]) -> dict[str, Any]:
    found: dict[str, Any] = {"s": item.source, "t": item.time}
    if item.readings:
        shape = tuple((reading.metric, reading.entity) for reading in item.readings)
        reasons = {index: reading.reason for index, reading in enumerate(item.readings) if reading.reason}
        found["r"] = [shapes.setdefault(shape, len(shapes)), [reading.value for reading in item.readings], reasons]
    if item.wholes:
        found["w"] = [[whole.path, _of_bytes(whole.data)] for whole in item.wholes]
    if item.appended:
        found["a"] = [[part.path, _of_bytes(part.data), part.fresh, part.dropped, part.line] for part in item.appended]
    if item.facts is not None:
        found["f"] = [
            [fact.name, plain.of_value(fact.value), plain.of_origin(fact.origin), fact.entity, fact.past] for fact in item.facts
        ]
    if item.reports is not None:
        found["p"] = [[report.path, report.format, report.state, report.reason] for report in item.reports]
    if item.alive is not None:
        found["l"] = [[pid, since] for pid, since in item.alive.items()]
    return found


def _of_bytes(data: bytes | None) -> Any:
    if data is None:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        import base64

        return {"b": base64.b64encode(data).decode()}


def frames(file: IO[bytes]) -> Iterator[Frame | None]:
    """The frames of a segment, None for one that is damaged. Ends where the file ends or makes no sense."""
    for first, last, check, length in _headers(file):
        if not length:
            yield None
            return
        data = file.read(length)
        if len(data) < length:
            return  # cut: the writer was killed
        yield _decoded(data, check, first, last)


def times(file: IO[bytes]) -> Iterator[tuple[float, float]]:
    """First and last time of each frame, which are not read themselves."""
    size = os.fstat(file.fileno()).st_size
    for first, last, _, length in _headers(file):
        if not length or file.tell() + length > size:
            return
        yield first, last
        file.seek(length, os.SEEK_CUR)


def _headers(file: IO[bytes]) -> Iterator[tuple[float, float, int, int]]:
    """First time, last time, checksum, length of what follows (0: it makes no sense). The caller goes past what follows."""
    if file.read(len(TIMELINE)) != TIMELINE:
        yield 0.0, 0.0, 0, 0
        return
    while len(header := file.read(_HEADER.size)) == _HEADER.size:
        length, check, first, last = _HEADER.unpack(header)
        good = 0 < length <= MAX_FRAME and isfinite(first) and isfinite(last)
        yield first, last, check, length if good else 0
        if not good:
            return


def _decoded(data: bytes, check: int, first: float, last: float) -> Frame | None:
    try:
        if zlib.crc32(data) != check:
            return None
        document = json.loads(zstandard.ZstdDecompressor().decompress(data, max_output_size=8 * MAX_FRAME))
        shapes = [[(str(metric), str(entity)) for metric, entity in shape] for shape in document["shapes"]]
        return Frame(first, last, bool(document["state"]), [_to_delivery(item, shapes) for item in document["deliveries"]])
    except (zstandard.ZstdError, ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError, MemoryError):
        return None


def _to_delivery(item: Mapping[str, Any], shapes: list[list[tuple[str, str]]]) -> Delivery:
    facts, reports, alive = item.get("f"), item.get("p"), item.get("l")
    return Delivery(
        source=str(item["s"]),
        time=float(item["t"]),
        readings=_to_readings(item["r"], shapes) if "r" in item else (),
        wholes=tuple(Whole(str(path), _to_bytes(data)) for path, data in item.get("w", ())),
        appended=tuple(
            Appended(str(path), _to_bytes(data) or b"", bool(fresh), int(dropped), int(line))
            for path, data, fresh, dropped, line in item.get("a", ())
        ),
        facts=None if facts is None else tuple(_to_fact(*fact) for fact in facts),
        reports=None if reports is None else tuple(SourceReport(*map(str, report)) for report in reports),
        alive=None if alive is None else {int(pid): float(since) for pid, since in alive},
    )


def _to_fact(name: object, value: object, origin: object, entity: object, past: object) -> Fact:
    return Fact(str(name), plain.to_value(value), plain.to_origin(origin), str(entity), bool(past))


def _to_readings(item: Any, shapes: list[list[tuple[str, str]]]) -> tuple[Reading, ...]:
    shape, values, reasons = item
    return tuple(
        Reading(metric, entity, None if value is None else float(value), str(reasons.get(str(index), "")))
        for index, ((metric, entity), value) in enumerate(zip(shapes[shape], values, strict=True))
    )


def _to_bytes(data: Any) -> bytes | None:
    if data is None:
        return None
    if isinstance(data, str):
        return data.encode()
    import base64

    return base64.b64decode(data["b"], validate=True)


class Standing:
    """How things stand: what a replay that begins here has to know of before."""

    def __init__(self) -> None:
        self.wholes: dict[str, tuple[str, bytes]] = {}
        """Path to source and text."""
        self.followed: dict[str, tuple[str, int]] = {}
        """Path to source and number of the next line."""
        self.facts: dict[str, Sequence[Fact]] = {}
        self.reports: dict[str, Sequence[SourceReport]] = {}

    def take(self, item: Delivery) -> None:
        for whole in item.wholes:
            self.wholes.pop(whole.path, None)
            if whole.data is not None:
                self.wholes[whole.path] = (item.source, whole.data)
            else:
                self.followed.pop(whole.path, None)
        for part in item.appended:
            line = part.line if part.fresh or part.path not in self.followed else self.followed[part.path][1]
            self.followed[part.path] = (item.source, line + part.dropped + part.data.count(b"\n"))
        if item.facts is not None:
            self.facts[item.source] = item.facts
        if item.reports is not None:
            self.reports[item.source] = item.reports

    def news(self, state: Sequence[Delivery]) -> Iterator[Delivery]:
        """What a later state tells that is not known here, as deliveries."""
        gone = set(self.wholes) - {whole.path for item in state for whole in item.wholes}
        for item in state:
            wholes = [whole for whole in item.wholes if self.wholes.get(whole.path) != (item.source, whole.data)]
            wholes += [Whole(path, None) for path in sorted(gone) if self.wholes[path][0] == item.source]
            parts = [part for part in map(self._next, item.appended) if part is not None]
            facts = None if self.facts.get(item.source) == item.facts else item.facts
            reports = None if self.reports.get(item.source) == item.reports else item.reports
            if wholes or parts or facts is not None or reports is not None:
                yield Delivery(item.source, item.time, wholes=wholes, appended=parts, facts=facts, reports=reports)

    def _next(self, part: Appended) -> Appended | None:
        """How a followed text comes to the line at which a later state has it."""
        if part.path not in self.followed:
            return part
        missing = part.line - self.followed[part.path][1]
        return None if not missing else Appended(part.path, b"", dropped=missing) if missing > 0 else part

    def deliveries(self, time: float) -> list[Delivery]:
        """The same as deliveries at `time`, one per source."""
        sources = [source for source, _ in (*self.wholes.values(), *self.followed.values())]
        return [self._of(source, time) for source in dict.fromkeys([*sources, *self.facts, *self.reports])]

    def _of(self, source: str, time: float) -> Delivery:
        wholes = tuple(Whole(path, data) for path, (by, data) in self.wholes.items() if by == source)
        parts = tuple(Appended(path, b"", True, 0, line) for path, (by, line) in self.followed.items() if by == source)
        facts, reports = self.facts.get(source), self.reports.get(source)
        return Delivery(source, time, wholes=wholes, appended=parts, facts=facts, reports=reports)


def play(segments: Iterable[IO[bytes]], start: float | None = None) -> Iterator[Delivery | None]:
    """All deliveries of open segments in order, None for a damaged frame. `start`: those of before become the state at that time.
    The state at the beginning of a segment is given where it tells something new: something was lost before it."""
    standing = Standing()
    begun = start is None
    for segment in segments:
        for frame in frames(segment):
            if frame is None:
                yield None
                continue
            for item in standing.news(frame.deliveries) if frame.state else frame.deliveries:
                if not begun and start is not None and item.time >= start:
                    begun = True
                    yield from standing.deliveries(start)
                standing.take(item)
                if begun:
                    yield item
    if not begun and start is not None:
        yield from standing.deliveries(start)
