"""The matcher on top of Hyperscan: one pass for all windows, `re` only on the lines that hold one."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import hyperscan

from neuronwatch.judge.match import database as db
from neuronwatch.judge.match import store
from neuronwatch.judge.match.ansi import add_hidden
from neuronwatch.judge.match.branches import Unit, units_of
from neuronwatch.judge.match.candidates import Candidates
from neuronwatch.judge.match.confirm import Confirmer, line_text
from neuronwatch.judge.match.needs import Needs, needs_of
from neuronwatch.judge.match.pure import with_everywhere, without
from neuronwatch.judge.match.superset import superset
from neuronwatch.judge.match.table import Entry, Table, joined, make_table, make_table_for, restricted
from neuronwatch.judge.match.types import Buffer, Hit, Pattern

WIDENED_SAMPLE = 32 * 1024
"""The part of a sample in whose lines frequent units are searched themselves."""
WEAK = 4
"""What is added later is searched with its whole expression where a literal of it is shorter than this."""


class Widened(NamedTuple):
    """Units whose literals are frequent in a text while they are not, searched with their widened expressions. `units[id]`
    is the number of a unit, or None for one that was left out since."""

    database: Any
    units: tuple[int | None, ...]


class HyperMatcher:
    """`confirm` is shared by all that are made from one, so that a branch dropped as too slow stays dropped."""

    def __init__(
        self, units: Sequence[Unit], table: Table, database: Any, confirm: Confirmer, cache_dir: Path | None,
        widened: Widened | None = None,
    ) -> None:  # fmt: skip
        self.confirm = confirm
        self._units = units
        self._table = table
        self._database = database
        self._cache_dir = cache_dir
        self._widened = widened if widened and any(number is not None for number in widened.units) else None
        # The places of widened expressions follow those of the windows; what they find needs no literal.
        behind = [(Entry(b"", () if number is None else (number,)),) for number in (widened.units if widened else ())]
        heads = table.heads - {number for number in (widened.units if widened else ()) if number is not None}
        self._candidates = Candidates((*table.entries, *behind), units, heads, confirm)
        self._everywhere = [units[number] for number in table.everywhere]
        self._needs: Needs | None = None

    def scan(self, buffer: Buffer, base: int, start: int = 0, end: int | None = None) -> list[Hit]:
        high = len(buffer) if end is None else end
        hits = self._scan(buffer, base, start, high)
        if buffer.find(b"\x1b", start, high) >= 0:
            hits = add_hidden(hits, buffer, base, start, high, lambda clean: self._scan(clean, 0, 0, len(clean)))
        return hits

    def _scan(self, buffer: Buffer, base: int, start: int, end: int) -> list[Hit]:
        places: list[tuple[int, int]] = []
        add = places.append
        first = start - 1
        padding = len(self._table.windows)

        def found(number: int, _from: int, to: int, _flags: int, _context: object) -> None:
            if number != padding:
                add((first + to, number))

        view = memoryview(buffer)[start:end]
        self._database.scan(view, match_event_handler=found)
        if self._widened is not None:
            units, known = self._widened.units, len(places)

            def found_widened(number: int, _from: int, to: int, _flags: int, _context: object) -> None:
                if units[number] is not None:
                    add((first + to, padding + number))

            self._widened.database.scan(view, match_event_handler=found_widened)
            if 0 < known < len(places):
                places.sort()
        hits = self._candidates.hits(buffer, base, start, end, iter(places)) if places else []
        if self._everywhere:
            return with_everywhere(hits, self.confirm, self._everywhere, buffer, base, start, end)
        return hits

    def tally(self, buffer: Buffer, start: int, end: int) -> Mapping[int, int]:
        """For each pattern how many windows of its literals are in `buffer[start:end]`."""
        found: dict[int, int] = {}
        for window, count in db.tally(self._database, memoryview(buffer)[start:end], len(self._table.windows)).items():
            ids = {number for entry in self._table.entries[window] for unit in entry.units for number in self._units[unit].ids}
            for number in ids:
                found[number] = found.get(number, 0) + count
        return found

    def lean(self, ids: frozenset[int], plus: Sequence[Pattern], sample: bytes) -> HyperMatcher:
        """For the rest of a big text of which `sample` is a part: without some patterns and with others, and avoiding what
        is frequent there."""
        units, kept = without(self._units, ids)
        number_of = {old: new for new, old in enumerate(kept)}
        table = restricted(self._table, number_of, len(units))
        more = units_of(plus)
        if self._widened is not None:
            renumbered = tuple(None if old is None else number_of.get(old) for old in self._widened.units)
            widened: Widened | None = Widened(self._widened.database, renumbered)
        elif sample:
            counts = self._window_counts(sample)
            needs = lru_cache(lambda: [self._all_needs()[old] for old in kept])
            table, hot = make_table_for(table, needs, sample, counts)
            rare = self._worth_widening(units, hot, sample)
            weak = [len(units) + index for index, unit in enumerate(more) if self._is_weak(unit)]
            widened = self._make_widened((*units, *more), [*rare, *weak])
            left = set(range(len(units))) - set(rare)
            table = restricted(table, {number: number for number in left}, len(units))
        else:
            widened = None
        for index, unit in enumerate(more):
            alone = make_table(needs_of((unit,), self._cache_dir))
            done = widened is not None and len(units) + index in widened.units
            table = joined(table, restricted(alone, {}, 1) if done else alone)
        database = db.of_windows(table.windows, db.PADDED)
        return HyperMatcher((*units, *more), table, database, self.confirm, self._cache_dir, widened)

    def _window_counts(self, sample: bytes) -> Mapping[bytes, int]:
        found = db.tally(self._database, sample, len(self._table.windows))
        return {self._table.windows[index]: count for index, count in found.items()}

    def _is_weak(self, unit: Unit) -> bool:
        table = make_table(needs_of((unit,), self._cache_dir))
        return min(map(len, table.windows), default=0) < WEAK

    def _worth_widening(self, units: Sequence[Unit], hot: Mapping[int, int], sample: bytes) -> list[int]:
        """Those of the units `hot` (with how often their windows are in the sample) that are rarely found themselves."""
        part = sample[:WIDENED_SAMPLE]
        share = len(sample) / max(1, len(part))
        lines = line_text(part).splitlines()
        rare = [n for n, c in hot.items() if sum(self.confirm.holds(units[n], line) for line in lines) * share < c / 3]
        widened = self._make_widened(units, rare)
        if widened is None:
            return []
        found = db.tally(widened.database, sample, len(widened.units))
        return [n for index, n in enumerate(widened.units) if n is not None and found.get(index, 0) < hot[n] / 3]

    @staticmethod
    def _make_widened(units: Sequence[Unit], numbers: Sequence[int]) -> Widened | None:
        """Those of the units `numbers` that Hyperscan takes."""
        items = [(number, item) for number in numbers if (item := superset(units[number].regex))]
        if not items:
            return None
        try:
            return Widened(db.of_widened([item for _, item in items]), tuple(number for number, _ in items))
        except hyperscan.error:  # one of them is too much for it
            items = [(number, item) for number, item in items if db.compiles(item)]
        return Widened(db.of_widened([item for _, item in items]), tuple(n for n, _ in items)) if items else None

    def _all_needs(self) -> Needs:
        if self._needs is None:
            self._needs = needs_of(self._units, self._cache_dir)
        return self._needs


def make(patterns: Sequence[Pattern], cache_dir: Path | None) -> HyperMatcher:
    """The matcher for texts of which nothing is known yet; its tables are kept in `cache_dir`."""
    content = json.dumps(sorted(patterns)).encode("utf-8", "surrogatepass")
    name = store.digest(b"table", db.version().encode(), content) + ".match"
    loaded = _load(store.load(cache_dir, name))
    if loaded is None:
        units = units_of(patterns)
        table = make_table(needs_of(units, cache_dir))
        database = db.of_windows(table.windows)
        head = json.dumps([
            units, [window.decode("latin-1") for window in table.windows],
            [[[entry.literal.decode("latin-1"), entry.units] for entry in entries] for entries in table.entries],
            table.everywhere, sorted(table.heads), table.units,
        ]).encode()  # fmt: skip
        store.save(cache_dir, name, len(head).to_bytes(8, "little") + head + hyperscan.dumpb(database))
    else:
        units, table, database = loaded
    return HyperMatcher(units, table, database, Confirmer(), cache_dir)


def _load(body: bytes | None) -> tuple[tuple[Unit, ...], Table, Any] | None:
    if body is None:
        return None
    size = int.from_bytes(body[:8], "little")
    try:
        units, windows, entries, everywhere, heads, count = json.loads(body[8 : 8 + size])
        database = hyperscan.loadb(body[8 + size :], hyperscan.HS_MODE_BLOCK)
        database.scratch = hyperscan.Scratch(database)
        table = Table(
            tuple(window.encode("latin-1") for window in windows),
            tuple(tuple(Entry(text.encode("latin-1"), tuple(users)) for text, users in group) for group in entries),
            tuple(everywhere),
            frozenset(heads),
            int(count),
        )
        known = tuple(Unit(regex, tuple(ids)) for regex, ids in units)
    except (ValueError, TypeError, hyperscan.error):
        return None  # of another version or processor
    return known, table, database
