"""The matcher on top of Hyperscan: one pass for all windows, `re` only on the lines that hold one."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping, Sequence, Set
from functools import lru_cache
from pathlib import Path
from typing import Any

import hyperscan

from neuronwatch.judge.match import compile, store
from neuronwatch.judge.match import database as db
from neuronwatch.judge.match.ansi import add_hidden
from neuronwatch.judge.match.branches import Unit, units_of
from neuronwatch.judge.match.candidates import Candidates
from neuronwatch.judge.match.confirm import Confirmer
from neuronwatch.judge.match.cuts import Cuts
from neuronwatch.judge.match.needs import Needs, need_of, needs_of
from neuronwatch.judge.match.packed import packed, unpacked, used
from neuronwatch.judge.match.pure import with_everywhere, without
from neuronwatch.judge.match.sieve import Load, Sieve, rare, units_behind
from neuronwatch.judge.match.superset import Superset, superset, supersets
from neuronwatch.judge.match.table import (
    Chained,
    Entry,
    Table,
    joined,
    make_table,
    make_table_for,
    relieved,
    restricted,
)
from neuronwatch.judge.match.types import Apart, Buffer, Hit, Pattern, Place
from neuronwatch.judge.match.widen import rare_superset, rarely_found

WEAK = 4
"""What is added later is searched with its whole expression where a literal of it is shorter than this."""
WORTH_WIDENING = 100_000
"""So many lines that are looked at for nothing cost as much as to compile expressions that pass them by,"""
WORTH_ONE = 4_000
"""and so many as one expression more."""
WORTH_ONE_DATABASE = 256 * 1024 * 1024
"""So many bytes to be searched are worth compiling one database for windows and widened expressions (0.2 s); fewer are
searched with two."""
WORTH_REBUILDING = 1_200_000
"""So many places that are not needed any more cost as much as a new database (0.25 s),"""
WORTH_NEW_WINDOWS = 100_000
"""and so many as one of windows alone (0.02 s)."""


class HyperMatcher:
    """Places of windows have their numbers, those of widened expressions the numbers behind them. `confirm` is shared by all
    that are made from one, so that a branch dropped as too slow stays dropped.

    `apart` may be set to a function that compiles elsewhere (see compile.py): Hyperscan's compiler wants much memory."""

    apart: Apart | None = None
    sieving = False
    """Whether what is found for nothing is passed by with a sieve, which has to be compiled: for big texts."""

    def __init__(
        self, units: Sequence[Unit], table: Table, database: Any, confirm: Confirmer, cache_dir: Path | None,
        widened: Sequence[tuple[int | None, Superset]] = (), counts: Mapping[bytes, int] | None = None,
    ) -> None:  # fmt: skip
        """`widened` are units with the expressions that they are searched with (None: left out since); `counts` tells how
        often windows are in the sample that this matcher is made for. Windows without entries are ignored."""
        self.confirm = confirm
        self._units = units
        self._table = table
        self._database = database
        self._cache_dir = cache_dir
        self._widened = widened
        self._counts = counts
        self._sample_size = 1
        self.left_out = 0
        self._load = Load()
        self._sieve: Sieve | None = None
        self._candidates = self._new_candidates()
        self._alive = [*used(table.entries), *(number is not None for number, _ in widened), False]
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
        add, alive, first = places.append, self._alive, start - 1

        def found(number: int, _from: int, to: int, _flags: int, _context: object) -> None:
            if alive[number]:
                add((first + to, number))

        self._database.scan(memoryview(buffer)[start:end], match_event_handler=found)
        if isinstance(self._database, db.Both):
            places.sort()
        if self.sieving:
            places = self._fewer(places, buffer, start, end)
        places = self._candidates.narrowed(places, buffer, start, end)
        hits = self._candidates.hits(buffer, base, start, end, iter(places)) if places else []
        if self._everywhere:
            return with_everywhere(hits, self.confirm, self._everywhere, buffer, base, start, end)
        return hits

    def _new_candidates(self) -> Candidates:
        # What an expression finds needs no literal. (Behind the widened ones is the padding of the database.)
        sieved = () if self._sieve is None else self._sieve.units
        numbers = [*(number for number, _ in self._widened), None, *sieved]
        behind = [() if number is None or not self._units[number].ids else (Entry(b"", (number,)),) for number in numbers]
        heads = self._table.heads.difference(number for number in numbers if number is not None)
        return Candidates(Chained(self._table.entries, behind), self._units, heads, self.confirm)

    def _fewer(self, places: list[Place], buffer: Buffer, start: int, end: int) -> list[Place]:
        """Without the places where nothing can be found, as far as that is known of many together."""
        if self.confirm.guard_texts is not None:
            places = self._candidates.unguarded(places, buffer, start, end, self.confirm.guard_texts)
        if self._sieve is not None:
            places = self._sieve.passed(places, buffer, start, end)
        if self._load.add(places):
            good = rare(self._load, self._behind, self._superset, places, buffer, start, end)
            if good:
                behind = dict({} if self._sieve is None else self._sieve.behind)
                behind.update((self._table.windows[window], numbers) for window, numbers in good.items())
                units = units_behind(behind)
                items = [item for item in map(self._superset, units) if item is not None]
                self._set_sieve(behind, self._widened_database(items))
        return places

    def _superset(self, unit: int) -> Superset | None:
        return superset(self._units[unit].regex)

    def _behind(self, window: int) -> Sequence[int]:
        """The units that a window is searched for; none where a sieve is of no use."""
        if window >= len(self._table.windows):
            return ()
        found = [unit for entry in self._table.entries[window] for unit in entry.units if self._units[unit].ids]
        return () if any(self.confirm.guard in self._units[unit].ids for unit in found) else found

    def _set_sieve(self, behind: Mapping[bytes, tuple[int, ...]], database: Any) -> None:
        windows = frozenset(number for number, window in enumerate(self._table.windows) if window in behind)
        self._sieve = Sieve(windows, behind, database, len(self._table.windows) + len(self._widened) + 1)
        self._candidates = self._new_candidates()

    def tally(self, buffer: Buffer, start: int, end: int) -> Mapping[int, int]:
        """For each pattern how many windows of its literals are in `buffer[start:end]`."""
        found: dict[int, int] = {}
        for window, count in db.tally(self._database, memoryview(buffer)[start:end], len(self._table.windows)).items():
            ids = {number for entry in self._table.entries[window] for unit in entry.units for number in self._units[unit].ids}
            for number in ids:
                found[number] = found.get(number, 0) + count
        return found

    def lean(
        self, ids: frozenset[int], plus: Sequence[Pattern] = (), sample: bytes = b"", left: int = 1 << 40,
        minor: Set[int] = frozenset(),
    ) -> HyperMatcher:  # fmt: skip
        """For the rest of `left` bytes of a big text of which `sample` is a part: without some patterns and with others, and
        avoiding what is frequent there. Of the patterns `minor` those are left out too that look frequent without being
        found. This one may be in use in another thread meanwhile."""
        if self._counts is not None and not plus:
            less = self._less(ids, left)
            if self._sieve is not None:
                less._set_sieve(self._sieve.behind, self._sieve.database)
            return less
        units, kept = without(self._units, ids)
        number_of = {old: new for new, old in enumerate(kept)}
        table = restricted(self._table, number_of, len(units))
        counts = self._window_counts(sample)
        widened: list[tuple[int, Superset]] = []
        minors = 0
        if sample:
            table, hot = make_table_for(table, lambda number: self._all_needs()[kept[number]], sample, counts)
            rare = rarely_found(self.confirm.twin(), units, hot, sample)
            gone = {number for number in rare if set(units[number].ids) <= minor}
            minors = len(gone)
            ahead = {number: hot[number] * left // len(sample) for number in rare if number not in gone}
            wanted = [(number, hot[number]) for number, lines in ahead.items() if lines > WORTH_ONE]
            if sum(ahead.values()) > WORTH_WIDENING:
                widened = self._rare_supersets(units, wanted, sample)
            gone.update(number for number, _ in widened)
            table = restricted(table, {n: n for n in range(len(units)) if n not in gone}, len(units))
        for unit in units_of(plus):
            alone = make_table((need_of(unit.regex),))
            item = superset(unit.regex) if min(map(len, alone.windows), default=WEAK) < WEAK else None
            if item is not None:
                widened.append((len(units), item))
            table = joined(table, alone if item is None else restricted(alone, {}, 1))
            units = (*units, unit)
        made = self._built(units, table, widened, counts, left)
        made._sample_size, made.left_out = max(1, len(sample)), minors
        return made

    def _rare_supersets(
        self, units: Sequence[Unit], wanted: Sequence[tuple[int, int]], sample: bytes
    ) -> list[tuple[int, Superset]]:
        """For units (with how often their windows are in the sample) the widened expressions that are found less often."""
        cuts = Cuts(self._cache_dir)
        found = [(number, units[number].regex, rare_superset(units[number].regex, sample, count, cuts)) for number, count in wanted]
        cuts.save()
        return [(number, supersets(regex)[cut]) for number, regex, cut in found if cut is not None]

    def _compiled(self, table: Table, widened: Sequence[tuple[int, Superset]], left: int) -> Any:
        expressions = [item for _, item in widened]
        if widened and left < WORTH_ONE_DATABASE:
            windows = db.build(table.windows, (), db.PADDED, len(table.windows) + len(widened))
            return db.Both(windows, self._widened_database(expressions), len(table.windows))
        if self.apart is not None and widened:
            made = self.apart(compile.request(table.windows, expressions, db.PADDED))
            with contextlib.suppress(hyperscan.error):
                if made is not None:
                    return db.load(made)
        return db.build(table.windows, expressions, db.PADDED)

    def _widened_database(self, expressions: Sequence[Superset]) -> Any:
        """Kept in the cache: logs of one kind are searched with the same expressions."""
        texts = [item.expression + (b"i" if item.fold else b"") for item in expressions]
        name = store.digest(b"widened", db.version().encode(), *texts) + ".match"
        known = store.load(self._cache_dir, name)
        with contextlib.suppress(hyperscan.error, ValueError):
            if known is not None:
                return db.load(known)
        made = db.build((), expressions)
        store.save(self._cache_dir, name, hyperscan.dumpb(made))
        return made

    def _built(
        self, units: Sequence[Unit], table: Table, widened: Sequence[tuple[int, Superset]], counts: Mapping[bytes, int], left: int
    ) -> HyperMatcher:
        try:
            database = self._compiled(table, widened, left)
        except hyperscan.error:  # an expression is too much for it: back to the unit's literals
            kept = [(number, item) for number, item in widened if db.compiles(item)]
            for number in {number for number, _ in widened} - {number for number, _ in kept}:
                alone = make_table((need_of(units[number].regex),))
                table = joined(table, restricted(alone, {0: number - table.units}, 0))
            return self._built(units, table, kept, counts, left)
        return self._like_this(HyperMatcher(units, table, database, self.confirm, self._cache_dir, widened, counts))

    def _like_this(self, other: HyperMatcher) -> HyperMatcher:
        other.apart, other._sample_size, other.left_out = self.apart, self._sample_size, self.left_out
        other.sieving = self.sieving
        return other

    def _less(self, ids: frozenset[int], left: int) -> HyperMatcher:
        """The same with fewer units: with a new database where that frees it of frequent windows, else with this one. Units
        keep their numbers, those that nobody needs any more have no patterns."""
        units = list(self._units)
        gone: set[int] = set()
        for number, unit in enumerate(units):
            if not ids.isdisjoint(unit.ids):
                units[number] = Unit(unit.regex, tuple(one for one in unit.ids if one not in ids))
                if not units[number].ids:
                    gone.add(number)
        table = relieved(self._table, gone)
        widened = [(None if number in gone else number, item) for number, item in self._widened]
        counts = self._counts or {}
        needless = sum(counts.get(window, 0) for window, group in zip(table.windows, table.entries) if not group)  # noqa: B905 (one entry for each window)
        apart = isinstance(self._database, db.Both)
        worth = needless * left >= (WORTH_NEW_WINDOWS if apart else WORTH_REBUILDING) * self._sample_size
        database = self._database
        if worth:
            table = restricted(table, {number: number for number in range(len(units))}, len(units))
        if worth and not apart:
            return self._built(units, table, [(n, item) for n, item in widened if n is not None], counts, left)
        if worth:
            windows = db.build(table.windows, (), db.PADDED, len(table.windows) + len(widened))
            database = db.Both(windows, database.widened, len(table.windows))
        return self._like_this(HyperMatcher(units, table, database, self.confirm, self._cache_dir, widened, counts))

    def _window_counts(self, sample: bytes) -> Mapping[bytes, int]:
        found = db.tally(self._database, sample, len(self._table.windows))
        return {self._table.windows[index]: count for index, count in found.items()}

    def _all_needs(self) -> Needs:
        if self._needs is None:
            self._needs = needs_of(self._units, self._cache_dir)
        return self._needs


def make(patterns: Sequence[Pattern], cache_dir: Path | None) -> HyperMatcher:
    """The matcher for texts of which nothing is known yet; its tables are kept in `cache_dir`."""
    units, table, database = _tables(tuple(patterns), cache_dir)
    return HyperMatcher(units, table, database, Confirmer(), cache_dir)


@lru_cache(maxsize=4)
def _tables(patterns: tuple[Pattern, ...], cache_dir: Path | None) -> tuple[Sequence[Unit], Table, Any]:
    """A process that judges again and again (the daemon, `rules test`) compiles or loads a table once."""
    content = json.dumps(sorted(patterns)).encode("utf-8", "surrogatepass")
    name = store.digest(b"table", db.version().encode(), content) + ".match"
    loaded = _load(store.load(cache_dir, name))
    if loaded is not None:
        return loaded
    units = units_of(patterns)
    table = make_table(needs_of(units, cache_dir))
    database = db.build(table.windows)
    head = packed(units, table)
    store.save(cache_dir, name, len(head).to_bytes(8, "little") + head + hyperscan.dumpb(database))
    return units, table, database


def _load(body: bytes | None) -> tuple[Sequence[Unit], Table, Any] | None:
    if body is None:
        return None
    size = int.from_bytes(body[:8], "little")
    try:
        units, table = unpacked(body[8 : 8 + size])
        return units, table, db.load(body[8 + size :])
    except (ValueError, TypeError, IndexError, hyperscan.error):
        return None  # of another version or processor
