"""Which lines a query leaves: found block by block, the newest first, a little at a time, so that no frame waits for it."""

from __future__ import annotations

import time
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from neuronwatch.tui.view.log_lines import ANY_CORE, GAP, LEVELS, core_of
from neuronwatch.tui.view.logs import Block, Lines, Logs, raw

_NAMES = {"warn": "warning", "err": "error", "crit": "critical", "fatal": "critical"}


class Query(NamedTuple):
    """What is wanted; empty parts leave all. `level`: lines of at least this level (a place in LEVELS); `core`: see log_lines; a
    device leaves all its cores; `path`: part of a text's path; `text`: letters of ASCII in any case. Gaps are left where they
    belong to a text that is wanted and nothing more is asked. `until`: of the past, no line after that second, and none whose
    time is not known; 0: all."""

    text: str = ""
    level: int | None = None
    rank: int | None = None
    core: int | None = None
    path: str = ""
    until: int = 0

    @property
    def asks(self) -> bool:
        """Whether a person asks for something."""
        return self._replace(until=0) != Query()

    @property
    def structure(self) -> Query:
        """The query without its text."""
        return self._replace(text="")


def query(typed: str) -> Query:
    """Words as `level:error rank:3 core:nd0:nc1 path:/x.log`; all others are the text. A word that makes no sense is text."""
    found, texts = Query(), []
    for word in typed.split(" "):
        key, _, value = word.partition(":")
        level = _NAMES.get(value.lower(), value.lower())
        if key in ("level", "lvl") and level in LEVELS and level:
            found = found._replace(level=LEVELS.index(level))
        elif key == "rank" and value.isdecimal() and len(value) < 6:
            found = found._replace(rank=int(value))
        elif key == "core" and core_of(value) is not None:
            found = found._replace(core=core_of(value))
        elif key in ("path", "source") and value:
            found = found._replace(path=value)
        else:
            texts.append(word)
    return found._replace(text=" ".join(texts).strip())


class Search:
    """`at_or_after`, `at_or_before` look a place up among the lines that the query leaves; they scan what is not scanned yet until
    `deadline` (of time.perf_counter) and answer None; `unfinished` says whether None means "not yet"."""

    def __init__(self, logs: Logs, wanted: Query) -> None:
        self.logs = logs
        self.wanted = wanted
        self.found = 0
        """Matches among what was scanned."""
        self.unfinished = False
        self._needle = wanted.text.encode("utf-8", "replace").lower()
        self._places: dict[int, Sequence[int]] = {}
        """Start of a block to the places within it that match."""
        self._scanned: dict[int, int] = {}
        """Start of the growing block to how many of its lines were looked at."""
        self._open = -1
        self._ids: dict[int, bool] = {}
        self._todo: Iterator[Block] | None = None

    # Scanning

    def work(self, deadline: float) -> bool:
        """Scans until the deadline; True: there is more to do."""
        self._forget()
        if self._open >= self.logs.dropped:
            self._of(self.logs.blocks[self.logs.block_at(self._open)])
        while self._todo is not None or len(self._places) < len(self.logs.blocks):
            if self._todo is None:
                self._todo = iter([block for block in reversed(self.logs.blocks) if block.start not in self._places])
            block = next(self._todo, None)
            if block is None:
                self._todo = None
                continue
            if block.start >= self.logs.dropped or block is self.logs.blocks[-1]:
                self._of(block)
            if time.perf_counter() >= deadline:
                break
        return self.done < 1.0

    @property
    def done(self) -> float:
        """The share of blocks that was scanned."""
        return min(1.0, len(self._places) / max(1, len(self.logs.blocks)))

    def _forget(self) -> None:
        """What was dropped is no match any more."""
        for start in [start for start in self._places if start < self.logs.blocks[0].start]:
            self.found -= len(self._places.pop(start))

    def _of(self, block: Block) -> Sequence[int]:
        """The places of a block, scanned now where that is still to be done."""
        known = self._places.get(block.start)
        if known is not None and block.start != self._open:
            return known
        if known is not None and self._scanned.get(block.start, 0) == block.count:
            if block.packed is not None:
                self._open = -1
            return known
        begin = self._scanned.get(block.start, 0) if known is not None else 0
        places = self._scan(block, begin)
        if known:
            places = array("H", [*known, *places]) if len(known) + len(places) < block.count else range(block.count)
        self.found += len(places) - len(known or ())
        self._places[block.start] = places
        if block.packed is None:
            self._open = block.start
            self._scanned = {block.start: block.count}
        elif self._open == block.start:
            self._open = -1
        return places

    def _scan(self, block: Block, begin: int) -> Sequence[int]:
        wanted = self.wanted
        if wanted == Query():
            return range(begin, block.count)
        if not self._possible(block):
            return ()
        if self._needle and block.packed is not None and self._needle not in raw(block).lower():
            return ()
        lines = self.logs.lines(block)
        rows = [at for at in range(begin, block.count) if self._leaves(lines, at)]
        return range(begin, block.count) if len(rows) == block.count - begin else array("H", rows)

    def _possible(self, block: Block) -> bool:
        """Whether the block can have a match, from what it says of itself."""
        wanted = self.wanted
        if wanted.level is not None and not block.levels & (~0 << wanted.level):
            return False
        if wanted.rank is not None and not block.ranks >> wanted.rank % 64 & 1:
            return False
        if wanted.core is not None and not block.cores >> (wanted.core >> 8) % 64 & 1:
            return False
        return not wanted.path or any(self._path(id) for id in _bits(block.paths))

    def _leaves(self, lines: Lines, at: int) -> bool:
        wanted, level = self.wanted, lines.levels[at]
        if wanted.until and not 0 < lines.times[at] <= wanted.until:
            return False
        if level == GAP:
            return (
                not self._needle
                and wanted.level is None
                and wanted.rank is None
                and wanted.core is None
                and self._path(lines.paths[at])
            )
        if wanted.level is not None and level < wanted.level:
            return False
        if wanted.rank is not None and lines.ranks[at] != wanted.rank:
            return False
        if wanted.core is not None and not same_core(lines.cores[at], wanted.core):
            return False
        if wanted.path and not self._path(lines.paths[at]):
            return False
        return not self._needle or self._needle in lines.texts[at].lower()

    def _path(self, id: int) -> bool:
        known = self._ids.get(id)
        if known is None:
            path = self.logs.paths[id] if id < len(self.logs.paths) else ""
            known = self._ids[id] = self.wanted.path in path
        return known

    # Looking up

    def at_or_after(self, place: int, deadline: float = float("inf")) -> int | None:
        self.unfinished = False
        blocks = self.logs.blocks
        for number in range(self.logs.block_at(place), len(blocks)):
            block = blocks[number]
            if not self._ready(block, deadline):
                return None
            places = self._of(block)
            at = bisect_left(places, max(0, place - block.start))
            if at < len(places):
                return block.start + places[at]
        return None

    def at_or_before(self, place: int, deadline: float = float("inf")) -> int | None:
        self.unfinished = False
        blocks = self.logs.blocks
        if place < self.logs.dropped:
            return None
        for number in range(self.logs.block_at(place), -1, -1):
            block = blocks[number]
            if not self._ready(block, deadline):
                return None
            places = self._of(block)
            at = bisect_right(places, place - block.start)
            if at:
                return block.start + places[at - 1]
        return None

    def _ready(self, block: Block, deadline: float) -> bool:
        if block.start not in self._places and time.perf_counter() >= deadline:
            self.unfinished = True
            return False
        return True


def same_core(core: int, wanted: int) -> bool:
    """A device stands for all its cores."""
    return core == wanted or (wanted & 0xFF == ANY_CORE and core >> 8 == wanted >> 8)


def _bits(number: int) -> Iterator[int]:
    while number:
        low = number & -number
        yield low.bit_length() - 1
        number ^= low


def seek(logs: Logs, path: str, number: int, text: str) -> Iterator[int | None]:
    """The place of a line of evidence: by its number in the text where the line still says the same, else the newest that does.
    Gives None after each block; then the place, or nothing: the line is not among those held."""
    id, wanted = logs.id_of(path), text.strip()[:200].encode("utf-8", "replace")
    same: int | None = None
    for block in list(reversed(logs.blocks)) if id is not None else ():
        if not block.paths >> id & 1 or block.start < logs.dropped:  # type: ignore[operator]
            continue
        lines = logs.lines(block)
        for at in range(block.count - 1, -1, -1):
            if lines.paths[at] == id and lines.levels[at] != GAP:
                says = bool(wanted) and wanted in lines.texts[at]
                if number and lines.numbers[at] == number and (says or not wanted):
                    yield block.start + at
                    return
                if says and same is None:
                    same = block.start + at
        yield None
    if same is not None:
        yield same
