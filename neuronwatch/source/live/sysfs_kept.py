"""A driver's tree as it was walked: which files are kept open, how often each is read, and its text for the judge.

With many cores not everything is read each second: counters of failed executions (a core has 23) in turns, all within TURNS
seconds; the memory of a core by category when its sum moved, and besides in turns, all within LONG_TURNS seconds.
"""

from __future__ import annotations

import os
import sys
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import overload

from neuronwatch.model.live import Reading
from neuronwatch.source.host.devices import Values
from neuronwatch.source.host.root import HostRoot, numbered
from neuronwatch.source.host.sysfs_tree import MAX_FILES, MAX_VALUE, is_told, names_above, told_lines, value_files
from neuronwatch.source.live.kept import Kept, read_once
from neuronwatch.source.live.layout import PAIRED, Layout
from neuronwatch.source.live.sysfs_rows import Rows, Tier, judged, metric_of, tier
from neuronwatch.source.tree import shown

STEP = 2 << 30
"""Bytes by which the memory in use of a device must change to be worth a new text."""
AT_ONCE, TURNS = 400, 10
"""So many counters of failed executions are read each second; of more, a part each second, all within so many seconds."""
FEW, LONG_TURNS = 80, 15
"""The same of memory by category."""
File = tuple[int, str]
"""Number of the device, and name below it."""


class _Files(Sequence[File]):
    """Files without a tuple for each: of 5,000 those are a third of a megabyte."""

    def __init__(self, files: Iterable[File]) -> None:
        self._numbers = array("I")
        self._names: list[str] = []
        for number, name in files:
            self._numbers.append(number)
            self._names.append(name)

    def __len__(self) -> int:
        return len(self._names)

    def __iter__(self) -> Iterator[File]:
        return zip(self._numbers, self._names)  # noqa: B905

    @overload
    def __getitem__(self, index: int) -> File: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[File]: ...

    def __getitem__(self, index: int | slice) -> File | Sequence[File]:
        if isinstance(index, slice):
            return _Files(zip(self._numbers[index], self._names[index], strict=True))
        return self._numbers[index], self._names[index]


class _Places(Sequence[str]):
    """The real path of each file, made when it is asked for: of 5,000 files they are a megabyte."""

    def __init__(self, devices: Mapping[int, str], files: Sequence[File]) -> None:
        self._devices, self._files = devices, files

    def __len__(self) -> int:
        return len(self._files)

    @overload
    def __getitem__(self, index: int) -> str: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[str]: ...

    def __getitem__(self, index: int | slice) -> str | Sequence[str]:
        if isinstance(index, slice):
            return [self._devices[device] + name for device, name in self._files[index]]
        device, name = self._files[index]
        return self._devices[device] + name


class _Part:
    """Files that are read together, and their Readings."""

    def __init__(self, layout: Layout, devices: Mapping[int, str], files: list[File], size: int) -> None:
        """`devices`: the real path of each."""
        self.files = _Files(files)
        self.kept = Kept(_Places(devices, self.files), size)
        self._judged = bytes(judged(name) for _, name in files)
        """For each slot whether rules see it."""
        self.rows = Rows(layout, files)
        self.rows.update(self.kept.errors, self.kept.values, self.kept.errors)

    def read(self, slots: Iterable[int] | None = None) -> list[int]:
        """Reads all, or some; the slots that changed. Raises Gone."""
        kept, rows = self.kept, self.rows
        before = set(kept.errors)
        changed = kept.sweep() if slots is None else kept.some(slots)
        if before or kept.errors:
            changed += before.symmetric_difference(kept.errors)
        if not changed:
            return changed
        rows.update(changed, kept.values, kept.errors)
        torn = [slot for slot in changed if slot in rows.garbage] if rows.garbage else []
        if torn:  # a simulated driver writes files, and a reader can see one half written
            for slot in torn:
                kept.values[slot] = read_once(kept.places[slot], kept.size)
            rows.update(torn, kept.values, kept.errors)
        return changed

    def whole(self) -> Iterator[tuple[File, bytes]]:
        """The files of which the kept bytes are all."""
        size, pairs = self.kept.size, zip(self.files, self.kept.values, strict=True)
        return ((file, data) for file, data in pairs if data is not None and len(data) < size)

    def seen(self, changed: Iterable[int]) -> bool:
        """Whether rules see one of these."""
        return any(map(self._judged.__getitem__, changed))


class Tree:
    """`numbers`: the devices. Nothing is read before the first `read`."""

    def __init__(self, root: HostRoot, name: str, layout: Layout) -> None:
        self.name = name
        self._place = str(root.place(name))
        self.numbers = numbered(root.names(name), "neuron")
        self._places = {number: str(root.place(f"{name}/neuron{number}")) for number in self.numbers}
        self._inodes = {number: _inode(place) for number, place in self._places.items()}
        self._told: dict[int, list[str]] = {}
        """The names that the text has, of each device."""
        self._walked = 0
        """The number of files that were there."""
        self._above = self._names_above()
        files: dict[Tier, list[File]] = {"total": [], "memory": [], "status": [], "cold": [], "rare": []}
        cores: set[str] = set()
        for number in self.numbers:
            # Devices are alike: one text for each name, not one for each file.
            names = [sys.intern(file) for file, _ in value_files(root, f"{name}/neuron{number}")]
            self._told[number] = [file for file in names if is_told(file)]
            self._walked += len(names)
            for file in names:
                found = tier(file)
                if found:
                    files[found].append((number, file))
                if number == self.numbers[0] and file.startswith("/neuron_core"):
                    cores.add(file.split("/")[1])
        self._learn(root, layout, len(cores))
        self._config = layout.config
        self._totals = _Part(layout, self._places, files["total"], 64)
        self._memory = [_Part(layout, self._places, part, 64) for part in _dealt(files["memory"], FEW, LONG_TURNS)]
        self._status = [_Part(layout, self._places, part, 64) for part in _dealt(files["status"], AT_ONCE, TURNS)]
        self._sums = self._categories(files["total"])
        self._cold = _Part(layout, self._places, files["cold"], 1024)
        self._rare = _Part(layout, self._places, files["rare"], 1024)
        self._hot = (self._totals, *self._memory, *self._status)
        self._parts = (*self._hot, self._cold, self._rare)
        self._count = 0
        self._used: dict[str, float] = {}
        """Memory in use of each device when the judge was told last."""

    def _categories(self, totals: list[File]) -> dict[int, tuple[int, list[int]]]:
        """For the slot of a core's sum: the turn that its memory by category is in, and the slots there."""
        found: dict[tuple[int, str], tuple[int, list[int]]] = {}
        for number, part in enumerate(self._memory):
            for slot, (device, name) in enumerate(part.files):
                found.setdefault((device, name.split("/")[1]), (number, []))[1].append(slot)
        sums = (
            (slot, (file[0], file[1].split("/")[1]))
            for slot, file in enumerate(totals)
            if metric_of(file[1])[0] == "core.memory.used"
        )
        return {slot: found[core] for slot, core in sums if core in found}

    def _learn(self, root: HostRoot, layout: Layout, cores: int) -> None:
        """Physical cores of a device, and whether the chip pairs them."""
        if self.numbers:
            layout.physical = cores or None
            kind = root.text(f"{self.name}/neuron{self.numbers[0]}/info/architecture/instance_type", 256)
            layout.paired = bool(kind) and str(kind).capitalize() in PAIRED

    def same(self, root: HostRoot, layout: Layout) -> bool:
        """Whether the devices are those that were walked, and cores are counted as they were."""
        try:
            names = os.listdir(self._place)
        except OSError:
            return False
        if numbered(names, "neuron") != self.numbers or layout.config != self._config:
            return False
        return all(_inode(place) == self._inodes[number] for number, place in self._places.items())

    @property
    def empty(self) -> bool:
        """Whether it had no file at all."""
        return self._walked == 0

    def _names_above(self) -> int:
        return sum(names_above(place) for place in self._places.values())

    def grew(self, root: HostRoot, closely: bool) -> bool:
        """Whether the tree has more or fewer files now than when it was walked. `closely`: all are counted, which with 128 cores
        takes a tenth of a second and more; else the upper directories are, where what is added begins."""
        if self._names_above() != self._above:
            return True
        return (
            closely and sum(1 for number in self.numbers for _ in value_files(root, f"{self.name}/neuron{number}")) != self._walked
        )

    def read(self, cold: bool, rare: bool) -> tuple[list[Reading], bool]:
        """Readings of what was read now or within the last TURNS seconds, and whether rules see a change. Raises Gone."""
        first, turn = self._count == 0, self._count % len(self._memory)
        self._count += 1
        moved = self._totals.read()
        sums = [slot for slot in moved if slot in self._sums]
        seen = False
        for part in self._memory if first else (self._memory[turn],):
            part.read()
        for part in self._status if first else (self._status[(self._count - 1) % len(self._status)],):
            seen = part.seen(part.read()) or seen
        for slot in () if first else sums:
            number, slots = self._sums[slot]
            if number != turn:
                self._memory[number].read(slots)
        readings = [reading for part in self._hot for reading in part.rows.readings]
        for part, due in ((self._cold, cold), (self._rare, rare)):
            if due:
                seen = part.seen(part.read()) or seen
                readings += part.rows.readings
        return readings, (bool(sums) and self._memory_moved()) or seen

    def _memory_moved(self) -> bool:
        """Whether the memory in use of a device is far from what the judge was told."""
        used: dict[str, float] = {}
        for reading in self._totals.rows.readings:
            if reading.metric == "core.memory.used" and reading.value is not None:
                device = reading.entity.split(":")[0]
                used[device] = used.get(device, 0.0) + reading.value
        if used.keys() == self._used.keys() and all(abs(used[key] - self._used[key]) < STEP for key in used):
            return False
        self._used = used
        return True

    @property
    def unreadable(self) -> str:
        """Why nothing at all can be read, else ""."""
        places = sum(len(part.kept.places) for part in self._parts)
        errors = [text for part in self._parts for text in part.kept.errors.values()]
        if places and len(errors) == places:
            return errors[0]
        return "" if places else "it holds no counter that is known"

    def wrong(self) -> str:
        """What is wrong with values that could be read a moment ago, else ""."""
        total = sum(len(part.kept.places) for part in self._parts)
        garbage = [(part.kept.places[slot], data) for part in self._parts for slot, data in part.rows.garbage.items()]
        if garbage:
            place, data = garbage[0]
            name = self.name + place[len(self._place) :] if place.startswith(self._place) else place
            return f"{len(garbage)} of {total} counters hold no number: {name} = {data[:40].decode('utf-8', 'replace')!r}"
        errors = [text for part in self._parts for text in part.kept.errors.values() if text != "permission denied"]
        return f"{len(errors)} of {total} counters cannot be read: {errors[0]}" if errors else ""

    def text(self, root: HostRoot, tree: str) -> Values:
        """The values as `diagnose` tells them: what is kept, as it was read last; all else read now."""
        lines: list[str] = []
        unread = 0
        kept = {file: data for part in self._parts for file, data in part.whole()}
        for number, files in self._told.items():
            place = self._places[number]
            for file in files:
                data = kept.get((number, file))
                if data is None:
                    data = read_once(place + file, MAX_VALUE + 1)
                if data is None:
                    unread += 1
                    continue
                path = shown(f"{tree}/neuron{number}{file}")
                lines += [f"{path} = {part}" for part in told_lines(file, data)]
        return Values(lines[:MAX_FILES], unread, len(lines) > MAX_FILES)

    def close(self) -> None:
        for part in self._parts:
            part.kept.close()


def _dealt(files: list[File], few: int, most: int) -> list[list[File]]:
    """The files by turns, about so few in each, in at most so many turns; those of a device are in one (a logical core is made of
    several)."""
    turns = max(1, min(most, -(-len(files) // few)))
    return [[file for file in files if file[0] % turns == turn] for turn in range(turns)]


def _inode(place: str) -> int:
    try:
        return os.stat(place).st_ino  # noqa: PTH116 (a Path for each device each second costs more than the call)
    except OSError:
        return 0
