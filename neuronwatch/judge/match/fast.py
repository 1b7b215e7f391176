"""The matcher on top of Hyperscan: one pass for all windows, `re` only on the lines that hold one."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import hyperscan

from neuronwatch.judge.match import store
from neuronwatch.judge.match.ansi import add_hidden
from neuronwatch.judge.match.branches import Unit, units_of
from neuronwatch.judge.match.candidates import Candidates
from neuronwatch.judge.match.confirm import Confirmer, line_text
from neuronwatch.judge.match.needs import Needs, needs_of
from neuronwatch.judge.match.pure import with_everywhere, without
from neuronwatch.judge.match.superset import Superset, superset
from neuronwatch.judge.match.table import Entry, Table, joined, make_table, make_table_for, restricted
from neuronwatch.judge.match.types import Buffer, Hit, Pattern

PADDED = 850
"""Below about 800 literals Hyperscan's literal matcher takes strides that are slow for windows of 5 to 8 bytes (measured: 0.7
against 2.5 GB/s); literals that no text holds lift it over that. Only for big inputs: they cost 20 ms to compile."""

_CONTROLS = bytes(range(0x0E, 0x1A))
WIDENED_SAMPLE = 32 * 1024
"""The part of a sample in whose lines frequent units are searched themselves."""


class HyperMatcher:
    """`confirm` is shared by all that are made from one, so that a branch dropped as too slow stays dropped."""

    def __init__(
        self, units: Sequence[Unit], table: Table, database: Any, confirm: Confirmer, cache_dir: Path | None,
        widened: Sequence[int] = (),
    ) -> None:  # fmt: skip
        self.confirm = confirm
        self._units = units
        self._table = table
        self._database = database
        self._cache_dir = cache_dir
        self._widened = tuple(widened)
        # The places of widened expressions follow those of the windows; what they find needs no literal.
        entries = (*table.entries, *((Entry(b"", (number,)),) for number in widened))
        self._candidates = Candidates(entries, units, table.heads - set(widened), confirm)
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

        padding = len(self._table.windows) + len(self._widened)

        def found(number: int, _from: int, to: int, _flags: int, _context: object) -> None:
            if number != padding:
                add((first + to, number))

        self._database.scan(memoryview(buffer)[start:end], match_event_handler=found)
        hits = self._candidates.hits(buffer, base, start, end, iter(places)) if places else []
        if self._everywhere:
            return with_everywhere(hits, self.confirm, self._everywhere, buffer, base, start, end)
        return hits

    def tally(self, buffer: Buffer, start: int, end: int) -> Mapping[int, int]:
        """For each pattern how many windows of its literals are in `buffer[start:end]`."""
        places = _tally(self._database, memoryview(buffer)[start:end], len(self._table.windows))
        found: dict[int, int] = {}
        for window, count in places.items():
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
        widened = [number_of[number] for number in self._widened if number in number_of]
        if sample and not self._widened:
            found = _tally(self._database, sample, len(self._table.windows))
            counts = {self._table.windows[index]: count for index, count in found.items()}
            needs = lambda: [self._all_needs()[old] for old in kept]  # noqa: E731
            table, hot = make_table_for(table, lru_cache(needs), sample, counts)
            widened = self._worth_widening(units, hot, sample)
            left = set(range(len(units))) - set(widened)
            table = restricted(table, {number: number for number in left}, len(units)) if widened else table
        for unit in units_of(plus):
            # What is added guards rare cases with frequent literals ("inf"): the whole expression is looked for.
            alone = make_table(needs_of((unit,), self._cache_dir))
            if _compiles(superset(unit.regex)):
                widened.append(len(units))
                alone = restricted(alone, {}, 1)
            table = joined(table, alone)
            units = (*units, unit)
        expressions = [item for number in widened if (item := superset(units[number].regex))]
        database = _compile(table.windows, PADDED, expressions)
        return HyperMatcher(units, table, database, self.confirm, self._cache_dir, widened)

    def _worth_widening(self, units: Sequence[Unit], hot: Mapping[int, int], sample: bytes) -> list[int]:
        """Those of the units `hot` (with how often their windows are in the sample) that are rarely found themselves."""
        lines = line_text(sample[:WIDENED_SAMPLE]).splitlines()
        share = len(sample) / max(1, len(sample[:WIDENED_SAMPLE]))
        rare = [n for n, c in hot.items() if sum(self.confirm.holds(units[n], line) for line in lines) * share < c / 3]
        numbers = [number for number in rare if superset(units[number].regex)]
        try:
            found = self._widened_counts(units, numbers, sample)
        except hyperscan.error:  # one of them is too much for it
            numbers = [number for number in numbers if _compiles(superset(units[number].regex))]
            found = self._widened_counts(units, numbers, sample)
        return [number for index, number in enumerate(numbers) if found.get(index, 0) < hot[number] / 3]

    @staticmethod
    def _widened_counts(units: Sequence[Unit], numbers: Sequence[int], sample: bytes) -> Mapping[int, int]:
        if not numbers:
            return {}
        widened = [item for number in numbers if (item := superset(units[number].regex))]
        return _tally(_compile((), 0, widened), sample, len(widened))

    def _all_needs(self) -> Needs:
        if self._needs is None:
            self._needs = needs_of(self._units, self._cache_dir)
        return self._needs


def make(patterns: Sequence[Pattern], cache_dir: Path | None) -> HyperMatcher:
    """The matcher for texts of which nothing is known yet; its tables are kept in `cache_dir`."""
    name = store.digest(
        b"table", str(getattr(hyperscan, "__version__", "")).encode(),
        json.dumps(sorted(patterns)).encode("utf-8", "surrogatepass"),
    ) + ".match"  # fmt: skip
    loaded = _load(store.load(cache_dir, name))
    if loaded is None:
        units = units_of(patterns)
        table = make_table(needs_of(units, cache_dir))
        database = _compile(table.windows, 0)
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


def _compile(windows: Sequence[bytes], padded: int, widened: Sequence[Superset] = ()) -> Any:
    expressions = list(windows)
    # Padding shares one id above all others: should a text hold it after all, the scan skips it.
    wanted = max(padded - len(windows), 0 if windows else 1)
    rng = random.Random(1)
    expressions += [bytes(rng.choice(_CONTROLS) for _ in range(8)) for _ in range(wanted)]
    top = len(windows) + len(widened)
    ids = [*range(len(windows)), *[top] * wanted]
    flags = [hyperscan.HS_FLAG_CASELESS] * len(expressions)
    if widened:
        expressions = [b"".join(b"\\x%02x" % byte for byte in text) for text in expressions]
        expressions += [item.expression for item in widened]
        flags += [_flags(item) for item in widened]
        ids += range(len(windows), top)
    database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
    database.compile(expressions=expressions, ids=ids, flags=flags, literal=not widened)
    database.scratch = hyperscan.Scratch(database)
    return database


def _flags(item: Superset) -> int:
    # Each place of the text is at the end of one of its lines or not: chunks begin and end with whole lines.
    return int(hyperscan.HS_FLAG_MULTILINE | (hyperscan.HS_FLAG_CASELESS if item.fold else 0))


def _compiles(item: Superset | None) -> bool:
    if item is None:
        return False
    try:
        hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK).compile(
            expressions=[item.expression], ids=[0], flags=_flags(item)
        )
    except hyperscan.error:
        return False
    return True


def _tally(database: Any, sample: bytes | memoryview, top: int) -> dict[int, int]:
    """How often each expression with an id below `top` is found."""
    counts: dict[int, int] = {}
    get = counts.get

    def found(number: int, _from: int, _to: int, _flags: int, _context: object) -> None:
        counts[number] = get(number, 0) + 1

    database.scan(sample, match_event_handler=found)
    return {number: count for number, count in counts.items() if number < top}
