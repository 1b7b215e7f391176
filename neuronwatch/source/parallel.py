"""A big file read by several processes, each a range of whole lines; the results are those of one process, in its order.

What a helper process finds goes through an unlinked temporary file: a pipe would make it wait for the first range.
"""

from __future__ import annotations

import marshal
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import IO, Any, NamedTuple, Union

from neuronwatch.judge.evidence import Counted, Match, Window
from neuronwatch.parse.api import Line, LineFormat

Item = Union[Match, Counted, Window]
LOOKED_AT = 1024 * 1024
"""A border between ranges is a line end at most this far behind its intended place; else there is no border."""


class Outcome(NamedTuple):
    """What a range tells besides its items: trigger lines by index of line format, and notes."""

    seen: dict[int, int]
    notes: list[str]


def borders(descriptor: int, begin: int, end: int, parts: int) -> list[int]:
    """Line starts that cut [begin, end) into about `parts` equal ranges (the ends included)."""
    found = [begin]
    for number in range(1, parts):
        place = begin + (end - begin) * number // parts
        newline = os.pread(descriptor, LOOKED_AT, place).find(b"\n")
        if newline >= 0 and found[-1] < place + newline + 1 < end:
            found.append(place + newline + 1)
    return [*found, end]


class Helper:
    """A forked process that runs `work` and keeps its items for later."""

    def __init__(self, work: Callable[[], tuple[Iterable[Item], Callable[[], Outcome]]], formats: Sequence[LineFormat]) -> None:
        import tempfile

        self._work = work
        self._formats = formats
        self._file: IO[bytes] = tempfile.TemporaryFile(prefix="neuronwatch-")  # noqa: SIM115 (closed by close())
        sys.stdout.flush()
        sys.stderr.flush()
        self._pid = os.fork()
        if self._pid == 0:
            status = 1
            try:
                self._run()
                status = 0
            finally:
                os._exit(status)

    def _run(self) -> None:
        items, outcome = self._work()
        index_of = {id(fmt): index for index, fmt in enumerate(self._formats)}
        for item in items:
            marshal.dump(_packed(item, index_of), self._file)
        marshal.dump(("end", *outcome()), self._file)
        self._file.flush()

    def items(self, path: str) -> Iterator[Item | Outcome]:
        """Waits for the process; its items, then its Outcome. Where it failed its work is done here."""
        _, status = os.waitpid(self._pid, 0)
        self._pid = 0
        if status != 0:
            items, outcome = self._work()
            yield from items
            yield outcome()
            return
        self._file.seek(0)
        with self._file:
            while True:
                record = marshal.load(self._file)
                if record[0] == "end":
                    yield Outcome(record[1], record[2])
                    return
                yield _unpacked(record, path, self._formats)

    def close(self) -> None:
        """Ends the process when nobody wants its items any more."""
        if self._pid:
            os.kill(self._pid, 9)
            os.waitpid(self._pid, 0)
            self._pid = 0


def _packed(item: Item, index_of: dict[int, int]) -> tuple[Any, ...]:
    if isinstance(item, Match):
        return ("match", item.pattern_id, tuple(item.line[1:]), item.kind)
    if isinstance(item, Counted):
        return ("counted", item.pattern_id, item.hits)
    return ("window", index_of[id(item.format)], [tuple(line[1:]) for line in item.lines])


def _unpacked(record: tuple[Any, ...], path: str, formats: Sequence[LineFormat]) -> Item:
    kind, number, content = record[:3]
    if kind == "match":
        return Match(number, Line(path, *content), record[3])
    if kind == "counted":
        return Counted(path, number, content)
    return Window(formats[number], [Line(path, *line) for line in content])


class Merger:
    """Makes of the items of several ranges those of one file: of each signature the first hits, the last, and a count."""

    def __init__(self, path: str, exact_hits: int) -> None:
        self._path = path
        self._exact = exact_hits
        self._seen: Counter[int] = Counter()
        self._further: Counter[int] = Counter()
        self._last: dict[int, Match] = {}

    def take(self, items: Iterable[Item]) -> Iterator[Item]:
        for item in items:
            if isinstance(item, Window):
                yield item
            elif isinstance(item, Counted):
                self._further[item.pattern_id] += item.hits
            elif self._seen[item.pattern_id] < self._exact:
                self._seen[item.pattern_id] += 1
                yield item
            else:
                if item.pattern_id in self._last:
                    self._further[item.pattern_id] += 1
                self._last[item.pattern_id] = item

    def end(self) -> Iterator[Item]:
        for number, match in sorted(self._last.items(), key=lambda entry: (entry[1].line.number or 0, entry[0])):
            yield match
            if self._further[number]:
                yield Counted(self._path, number, self._further[number])
        for number in sorted(set(self._further) - set(self._last)):
            yield Counted(self._path, number, self._further[number])
