"""The matcher on top of Hyperscan: one pass for all windows, `re` only on the lines that hold one."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import hyperscan

from neuronwatch.judge.match import store
from neuronwatch.judge.match.ansi import add_hidden
from neuronwatch.judge.match.branches import Unit, units_of
from neuronwatch.judge.match.candidates import Candidates
from neuronwatch.judge.match.confirm import Confirmer
from neuronwatch.judge.match.needs import Needs, needs_of
from neuronwatch.judge.match.pure import with_everywhere, without
from neuronwatch.judge.match.table import Entry, Table, chosen_of, make_table, make_table_for, restricted
from neuronwatch.judge.match.types import Buffer, Hit, Pattern

PADDED = 850
"""Below about 800 literals Hyperscan's literal matcher takes strides that are slow for windows of 5 to 8 bytes (measured: 0.7
against 2.5 GB/s); literals that no text holds lift it over that. Only for big inputs: they cost 20 ms to compile."""


class HyperMatcher:
    """`confirm` is shared by all that are made from one, so that a branch dropped as too slow stays dropped."""

    def __init__(
        self, units: Sequence[Unit], table: Table, database: Any, confirm: Confirmer, cache_dir: Path | None
    ) -> None:
        self.confirm = confirm
        self._units = units
        self._table = table
        self._database = database
        self._cache_dir = cache_dir
        self._candidates = Candidates(table, units, confirm)
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

        self._database.scan(memoryview(buffer)[start:end], match_event_handler=found)
        hits = self._candidates.hits(buffer, base, start, end, iter(places)) if places else []
        if self._everywhere:
            return with_everywhere(hits, self.confirm, self._everywhere, buffer, base, start, end)
        return hits

    def tuned(self, sample: bytes) -> HyperMatcher:
        """A matcher for the rest of a big text of which `sample` is a part: it avoids what is frequent there."""
        chosen = chosen_of(self._table, len(self._units))
        table = make_table_for(chosen, self._all_needs, sample, self._count)
        return HyperMatcher(self._units, table, _compile(table.windows, PADDED), self.confirm, self._cache_dir)

    def without(self, ids: frozenset[int]) -> HyperMatcher:
        """The same without some patterns."""
        units, kept = without(self._units, ids)
        number_of = {old: new for new, old in enumerate(kept)}
        table = restricted(self._table, number_of)
        return HyperMatcher(units, table, _compile(table.windows, PADDED), self.confirm, self._cache_dir)

    def _all_needs(self) -> Needs:
        if self._needs is None:
            self._needs = needs_of(self._units, self._cache_dir)
        return self._needs

    def _count(self, windows: Sequence[bytes], sample: bytes) -> Mapping[int, int]:
        """How often each window occurs in `sample`."""
        counts: dict[int, int] = {}
        get = counts.get

        def found(number: int, _from: int, _to: int, _flags: int, _context: object) -> None:
            counts[number] = get(number, 0) + 1

        own = tuple(windows) == self._table.windows
        database = self._database if own else _compile(windows, 0)
        database.scan(sample, match_event_handler=found)
        counts.pop(len(windows), None)
        return counts


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
            table.everywhere,
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
        units, windows, entries, everywhere = json.loads(body[8 : 8 + size])
        database = hyperscan.loadb(body[8 + size :], hyperscan.HS_MODE_BLOCK)
        database.scratch = hyperscan.Scratch(database)
        table = Table(
            tuple(window.encode("latin-1") for window in windows),
            tuple(tuple(Entry(text.encode("latin-1"), tuple(users)) for text, users in group) for group in entries),
            tuple(everywhere),
        )
        known = tuple(Unit(regex, tuple(ids)) for regex, ids in units)
    except (ValueError, TypeError, hyperscan.error):
        return None  # of another version or processor
    return known, table, database


def _compile(windows: Sequence[bytes], padded: int) -> Any:
    expressions = list(windows) or [b"\x0e\x0f\x0e\x0f"]
    if len(expressions) < padded:
        rng = random.Random(1)
        controls = bytes(range(0x0E, 0x1A))
        expressions += [bytes(rng.choice(controls) for _ in range(8)) for _ in range(padded - len(expressions))]
    database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
    # Padding shares one id above all others: should a text hold it after all, the scan skips it.
    ids = [min(index, len(windows)) for index in range(len(expressions))]
    database.compile(expressions=expressions, ids=ids, flags=hyperscan.HS_FLAG_CASELESS, literal=True)
    database.scratch = hyperscan.Scratch(database)
    return database
