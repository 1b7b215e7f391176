"""What is in one file: an archive, something compressed, a document of a file format, a text, or nothing to be read."""

from __future__ import annotations

import functools
import itertools
import os
from collections import Counter as Tally
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, Union

from neuronwatch.judge.evidence import Counted, DocumentHit, Match, Window
from neuronwatch.model.diagnosis import SourceReport
from neuronwatch.parse.api import MAX_DOCUMENT, Document, FileFormat
from neuronwatch.source import archive, parallel, recognise
from neuronwatch.source.chunks import CHUNK, CONTEXT, Chunk, chunks
from neuronwatch.source.limits import MIB, Limits
from neuronwatch.source.plan import Plan
from neuronwatch.source.streams import Again, Ahead, ByteStream, File, Memory, StreamError, Transcoded, take
from neuronwatch.source.textscan import TextScan
from neuronwatch.source.thinning import SETTLED
from neuronwatch.source.tree import shown
from neuronwatch.store.names import TIMELINE

Item = Union[Match, Window, DocumentHit, Counted, SourceReport]

BINARY_DOCUMENT = 4 * MIB
"""The most that is read of a binary document: headers of weights are at its start."""
FIRST = 256 * 1024
"""The first chunk of a file of which pieces are known: all patterns are looked for in it, which is slow."""
LEARNING = SETTLED
"""Chunks that are read before the rest of a file is shared out: they tell what is frequent."""
SHORTER = "it became shorter while it was read"
FAILED = "failed: "
SAMPLES, SAMPLE = 64, 2 * 1024


class Reading(NamedTuple):
    """A file to be read: its path as shown, its size (0 when unknown), its bytes, its descriptor where it can be sought in,
    and how many archives it is inside of."""

    path: str
    size: int
    stream: ByteStream
    descriptor: int | None
    depth: int = 0


class Contents:
    """Reads files with one plan."""

    def __init__(self, plan: Plan, limits: Limits, progress: Callable[[str, int, int], None] | None, workers: int = 1) -> None:
        self._plan = plan
        self._limits = limits
        self._workers = workers
        self._progress = progress

    def read(self, file: Reading) -> Iterator[Item]:
        """All that one file holds, ending with its SourceReport (an archive has one for each member and one for itself)."""
        try:
            head = take(file.stream, recognise.SNIFFED)
        except (StreamError, OSError) as error:
            yield SourceReport(file.path, "unknown", "failed", _reason(error))
            return
        place = file.stream.place - len(head)
        if not head:
            yield SourceReport(file.path, "empty", "read", "empty" if not file.size else "nothing but a hole")
            return
        kind = archive.container(head)
        packer = archive.packer(head)
        refused = archive.refused(head)
        if head.startswith(TIMELINE):
            yield SourceReport(file.path, "timeline", "skipped", "a recording's timeline: its texts are read as files beside it")
        elif kind:
            yield from self._archive(file, head, kind)
        elif packer:
            yield from self._unpack(file, head, packer)
        elif refused:
            yield SourceReport(file.path, refused, "skipped", f"{refused} archives are not read")
        else:
            yield from self._plain(file, head, place)

    def _archive(self, file: Reading, head: bytes, kind: str) -> Iterator[Item]:
        if file.depth > 1:
            yield SourceReport(file.path, kind, "skipped", "an archive inside an archive inside an archive is not read")
            return
        try:
            if kind == "tar":
                members = archive.tar_members(Again(head, file.stream), self._limits)
            else:
                members = _zip_members(file, head, self._limits)
            for member in members:
                path = f"{file.path}!{shown(member.name)}"
                if member.stream is None:
                    yield SourceReport(path, "unknown", "skipped", f"{member.why} is not read" if kind == "tar" else member.why)
                else:
                    yield from self.read(Reading(path, member.size, member.stream, None, file.depth + 1))
        except (StreamError, OSError) as error:
            yield SourceReport(file.path, kind, "partial", _reason(error))
            return
        yield SourceReport(file.path, kind, "read")

    def _unpack(self, file: Reading, head: bytes, packer: str) -> Iterator[Item]:
        """A compressed log keeps its own path; a compressed archive has members."""
        inner = archive.unpacked(Again(head, file.stream), packer, file.size or self._limits.archive_free, self._limits)
        try:
            start = take(inner, recognise.SNIFFED)
        except (StreamError, OSError) as error:
            yield SourceReport(file.path, packer, "failed", _reason(error))
            return
        if archive.packer(start) or archive.refused(start):
            yield SourceReport(file.path, packer, "skipped", "compressed twice: not read")
            return
        again = Reading(file.path, 0, inner, None, file.depth)
        kind = archive.container(start)
        if not start:
            yield SourceReport(file.path, "empty", "read", "empty")
        elif len(start) < recognise.SNIFFED:
            yield from self._archive(again, start, kind) if kind else self._plain(again, start, 0)
        else:
            ahead = Ahead(inner, CHUNK, CHUNK - len(start))
            try:
                again = again._replace(stream=ahead)
                yield from self._archive(again, start, kind) if kind else self._plain(again, start, 0)
            finally:
                ahead.close()

    def _plain(self, file: Reading, head: bytes, place: int) -> Iterator[Item]:
        """`head` was taken from the stream at the offset `place`."""
        stream: ByteStream = Again(head, file.stream)
        encoding = recognise.encoding(head)
        if encoding:
            stream = Transcoded(stream, encoding)
            head = take(stream, recognise.SNIFFED)
            stream = Again(head, stream)
        elif head.startswith(b"\xef\xbb\xbf"):
            head = head[3:]
            stream = Again(head, file.stream)
        elif isinstance(file.stream, File):
            file.stream.place = place
            stream = file.stream
        binary = recognise.is_binary(head)
        owner, sure = recognise.owner(Document(file.path, head, file.size or len(head)), self._plan.file_formats)
        failure = ""
        if owner is not None:
            try:
                data, stream = self._document(file, stream, BINARY_DOCUMENT if binary else MAX_DOCUMENT)
                yield DocumentHit(owner, Document(file.path, data, max(file.size, len(data))))
            except (StreamError, OSError) as error:
                failure = _reason(error)
        if binary or failure or (owner is not None and owner.own):
            name = owner.name if owner else "binary"
            state = "partial" if failure else "read" if owner else "skipped"
            yield SourceReport(file.path, name, state, failure or ("" if owner else "binary"))
            return
        yield from self._text(file, stream, owner, owner is None or sure < recognise.OWNED)

    @staticmethod
    def _document(file: Reading, stream: ByteStream, limit: int) -> tuple[bytes, ByteStream]:
        """The first `limit` bytes, and a stream that has them again."""
        place = stream.place
        data = take(stream, limit)
        if isinstance(stream, File):
            stream.place = place
            return data, stream
        return data, Again(data, stream) if len(data) >= limit else Memory(data)

    def _text(self, file: Reading, stream: ByteStream, owner: FileFormat | None, formats: bool) -> Iterator[Item]:
        limits = self._limits
        on_disk = isinstance(stream, File)
        big = file.size > limits.thin_above or not (on_disk or file.size)
        scan = TextScan(
            file.path, self._plan, limits, exact=not on_disk or file.size <= limits.number_at_once,
            kind=owner.kind if owner else None, formats=formats, big=big, size=file.size,
        )  # fmt: skip
        if big and isinstance(stream, File) and file.descriptor is not None:
            scan.thinning.learn(_pieces(file.descriptor, file.size))
        try:
            if self._workers > 1 and on_disk and file.size > limits.parallel_above and hasattr(os, "fork"):
                yield from self._in_parallel(file, scan, owner)
            else:
                yield from self._alone(file, scan, stream, owner)
        finally:
            self._progress_end(file)

    def _alone(self, file: Reading, scan: TextScan, stream: ByteStream, owner: FileFormat | None) -> Iterator[Item]:
        failure = ""
        try:
            first = FIRST if scan.thinning.sample else CHUNK
            yield from self._chunks(file, scan, chunks(stream, self._limits.tail, first=first))
        except (StreamError, OSError) as error:
            failure = _reason(error)
        yield from scan.finish()
        if isinstance(stream, File) and stream.place < file.size and not failure:
            failure = SHORTER
        yield self._report(file, owner, scan.format, [failure] if failure else [], scan.notes)

    def _chunks(self, file: Reading, scan: TextScan, found: Iterable[Chunk]) -> Iterator[Match | Counted | Window]:
        for chunk in found:
            yield from scan.feed(chunk.data, chunk.base, chunk.start, chunk.end, chunk.left)
            if self._progress is not None:
                self._progress(file.path, chunk.base + chunk.end, file.size)

    def _in_parallel(self, file: Reading, scan: TextScan, owner: FileFormat | None) -> Iterator[Item]:
        """The first chunks are read here, then each helper gets a range and what was learnt so far."""
        assert file.descriptor is not None
        merger = parallel.Merger(file.path, self._limits.exact_hits)
        first = itertools.islice(chunks(self._range(file, 0, file.size), self._limits.tail, first=FIRST), LEARNING)
        yield from merger.take(self._chunks(file, scan, first))
        marks = parallel.borders(file.descriptor, scan.end, file.size, self._workers)
        helpers = [
            parallel.Helper(functools.partial(self._range_work, file, scan, begin, end), self._plan.line_formats)
            for begin, end in itertools.pairwise(marks[1:])
        ]
        outcomes: list[parallel.Outcome] = []
        try:
            own, outcome = self._range_work(file, scan, marks[0], marks[1], twin=False)
            yield from merger.take(own)
            outcomes.append(outcome())
            for helper in helpers:
                found: list[parallel.Outcome] = []
                yield from merger.take(_without_outcome(helper.items(file.path), found))
                outcomes += found
        finally:
            for helper in helpers:
                helper.close()
        yield from merger.end()
        seen = sum((Tally(outcome.seen) for outcome in outcomes), Tally())
        scan.seen = seen
        failures = [note for outcome in outcomes for note in outcome.notes if note.startswith(FAILED)]
        notes = dict.fromkeys(note for outcome in outcomes for note in outcome.notes if not note.startswith(FAILED))
        yield self._report(file, owner, scan.format, [note[len(FAILED) :] for note in failures[:1]], list(notes))

    def _range_work(
        self, file: Reading, scan: TextScan, begin: int, end: int, twin: bool = True
    ) -> tuple[Iterator[Match | Counted | Window], Callable[[], parallel.Outcome]]:
        """The items of a range, and a function that sums it up when they are through."""
        own = scan.twin() if twin else scan
        failures: list[str] = []

        def items() -> Iterator[Match | Counted | Window]:
            assert file.descriptor is not None
            start = _line_start_before(file.descriptor, begin)
            stream = self._range(file, start, end)
            try:
                yield from self._chunks(file, own, chunks(stream, self._limits.tail, begin - start))
                if own.owes() and stream.place >= end:
                    behind = os.pread(file.descriptor, CONTEXT, end)
                    own.extend(behind, end, behind.rfind(b"\n") + 1)
            except OSError as error:
                failures.append(FAILED + _reason(error))
            yield from own.finish()
            if stream.place < end and not failures:
                failures.append(FAILED + SHORTER)

        return items(), lambda: parallel.Outcome(dict(own.seen), [*failures, *own.notes])

    @staticmethod
    def _range(file: Reading, start: int, end: int) -> File:
        assert file.descriptor is not None and isinstance(file.stream, File)
        return File(file.descriptor, end, file.stream.sparse, start)

    def _report(self, file: Reading, owner: FileFormat | None, name: str, failures: list[str], notes: list[str]) -> SourceReport:
        reason = "; ".join([*failures, *notes])
        return SourceReport(file.path, owner.name if owner else name, "partial" if failures else "read", reason)

    def _progress_end(self, file: Reading) -> None:
        if self._progress is not None:
            self._progress(file.path, file.size, file.size)


def _zip_members(file: Reading, head: bytes, limits: Limits) -> Iterator[archive.Member]:
    from neuronwatch.source import zip

    if file.descriptor is not None:
        return zip.members(os.fdopen(os.dup(file.descriptor), "rb"), file.size, limits)
    return zip.members(*zip.spooled(head, file.stream), limits)


def _without_outcome(
    items: Iterable[Match | Counted | Window | parallel.Outcome], found: list[parallel.Outcome]
) -> Iterator[Match | Counted | Window]:
    for item in items:
        if isinstance(item, parallel.Outcome):
            found.append(item)
        else:
            yield item


def _line_start_before(descriptor: int, begin: int) -> int:
    """A line start at most CONTEXT before the line start `begin`, for the lines before a range."""
    low = max(0, begin - CONTEXT)
    if low == 0:
        return 0
    newline = os.pread(descriptor, begin - low, low).find(b"\n")
    return begin if newline < 0 else low + newline + 1


def _pieces(descriptor: int, size: int) -> list[bytes]:
    """Pieces from all over a file."""
    step = max(0, size - SAMPLE) // (SAMPLES - 1)
    return [os.pread(descriptor, SAMPLE, at * step) for at in range(SAMPLES)]


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) and error.strerror else str(error)).lower()
