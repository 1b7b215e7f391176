"""Facts by name, with all their origins. The first by (path, line) is the value; `all` keeps every reading.

History only fills in: readings of the past are there as long as nothing tells the present, and of each file only the last;
one without a value takes back what its file said before.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from neuronwatch.model.records import Fact, Value


class FactsView:
    """All facts of one case. Facts are added in canonical order (path, then line), so `get` is order-independent."""

    def __init__(self, facts: Iterable[Fact] = ()) -> None:
        self._by_name: dict[str, list[Fact]] = {}
        self._past: set[str] = set()
        """Names of which all readings are of the past."""
        for fact in facts:
            self.add(fact)

    def add(self, fact: Fact) -> None:
        """Adds a reading; a reading without a value (None) is kept too: it says that the source had none."""
        if fact.past:
            self._add_past(fact)
            return
        readings = self._by_name.setdefault(fact.name, [])
        if fact.name in self._past and fact.value is not None:
            self._past.discard(fact.name)
            readings[:] = [*(old for old in readings if not old.past), fact]
        else:
            readings.append(fact)

    def _add_past(self, fact: Fact) -> None:
        before = self._by_name.get(fact.name, [])
        if any(not old.past and old.value is not None for old in before):
            return
        readings = [old for old in before if not (old.past and old.origin.path == fact.origin.path)]
        if fact.value is not None:
            readings.append(fact)
        if readings:
            self._by_name[fact.name] = readings
            self._past.add(fact.name)
        else:
            self._by_name.pop(fact.name, None)
            self._past.discard(fact.name)

    def get(self, name: str, default: Value = None) -> Value:
        """The first value that is not None, or `default`."""
        for fact in self._by_name.get(name, ()):
            if fact.value is not None:
                return fact.value
        return default

    def first(self, name: str) -> Fact | None:
        """The fact that `get` answers with, or None."""
        return next((fact for fact in self._by_name.get(name, ()) if fact.value is not None), None)

    def all(self, name: str) -> list[Fact]:
        return list(self._by_name.get(name, ()))

    def names(self) -> Iterator[str]:
        return iter(tuple(self._by_name))

    def with_prefix(self, prefix: str) -> dict[str, list[Fact]]:
        """For example `with_prefix("pkg.")`: full name to readings."""
        return {name: list(facts) for name, facts in self._by_name.items() if name.startswith(prefix)}
