"""Which of many counters are read now: all in turns, and the memory of a core by category soon after its sum moved."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

File = tuple[int, str]
"""Number of the device, and name below it."""
Slots = tuple[int, int]
"""From the first to before the second."""


class Turns:
    """So many slots in turns: at most `at_once` each time, or as many as it takes to come round within `turns` times."""

    def __init__(self, count: int, at_once: int, turns: int) -> None:
        self._count = count
        self._each = max(at_once, -(-count // turns))
        self._next = 0
        self.all = self._each >= count
        """Whether one turn is all."""

    def next(self) -> Slots:
        first = self._next
        last = min(first + self._each, self._count)
        self._next = last if last < self._count else 0
        return first, last


class Categories:
    """Memory by category. The cores whose sum moved come first, in the order in which theirs did."""

    def __init__(self, totals: Iterable[File], memory: Sequence[File], few: int, turns: int, background: int) -> None:
        """`totals`: the files among which the sums are. At most `few` files each time, or as many as it takes for all cores within
        `turns` times; those whose sum stands still are read once in `background` times."""
        self._spans: list[Slots] = []
        cores: dict[tuple[int, str], int] = {}
        for slot, file in enumerate(memory):
            core = _core(file)
            if core in cores:
                self._spans[cores[core]] = (self._spans[cores[core]][0], slot + 1)
            else:
                cores[core] = len(self._spans)
                self._spans.append((slot, slot + 1))
        self._core_of = {slot: cores[_core(file)] for slot, file in enumerate(totals) if _is_sum(file) and _core(file) in cores}
        self.all = len(memory) <= few
        """Whether all are read each time."""
        self._each = max(1, few * len(self._spans) // max(1, len(memory)), -(-len(self._spans) // turns))
        self._others = -(-len(self._spans) // background)
        self._waiting: dict[int, None] = {}
        self._next = 0

    def moved(self, slots: Iterable[int]) -> bool:
        """Takes notice of totals that changed; whether there is a sum among them."""
        cores = [core for core in map(self._core_of.get, slots) if core is not None]
        self._waiting.update(dict.fromkeys(cores))
        return bool(cores)

    def next(self) -> Iterator[Slots]:
        """What is to be read now."""
        if self.all:
            self._waiting.clear()
            yield 0, self._spans[-1][1] if self._spans else 0
            return
        waiting = self._waiting
        for _ in range(self._others):
            waiting.setdefault(self._next)
            self._next = (self._next + 1) % len(self._spans)
        for core in list(waiting)[: self._each]:
            del waiting[core]
            yield self._spans[core]


def _core(file: File) -> tuple[int, str]:
    return file[0], file[1].split("/")[1]


def _is_sum(file: File) -> bool:
    return file[1].endswith("/device_mem/total")
