"""A driver's tree as it was walked: which files are kept open, how often each is read, and its text for the judge.

With many cores not everything is read each second: counters of failed executions (a core has 23) in turns, all within TURNS
seconds; the memory of a core by category within LONG_TURNS seconds after its sum moved, and besides once in BACKGROUND seconds.
These are told each few seconds, with what is read so often anyway, and at once where rules see a change.
"""

from __future__ import annotations

import os
import sys
import time
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import overload

from neuronwatch.model.live import Reading
from neuronwatch.source.host.devices import Values
from neuronwatch.source.host.root import HostRoot, numbered
from neuronwatch.source.host.sysfs_tree import MAX_FILES, MAX_VALUE, is_told, names_above, told_lines, value_files
from neuronwatch.source.live.kept import Kept, read_once
from neuronwatch.source.live.layout import PAIRED, Layout
from neuronwatch.source.live.sysfs_rows import Rows, Tier, judged, tier
from neuronwatch.source.live.sysfs_turns import Categories, File, Turns
from neuronwatch.source.tree import shown

STEP = 2 << 30
"""Bytes by which the memory in use of a device must change to be worth a new text."""
AT_ONCE, TURNS = 64, 10
"""So many counters of failed executions are read each second; of more, a part each second, all within so many seconds."""
FEW, LONG_TURNS = 48, 15
"""The same of memory by category, of the cores whose sum moved;"""
BACKGROUND = 60
"""of all others within so many seconds."""
COMPARED = 4
"""Files that are looked at each second whether they are still those that are open."""
SETTLED = 1_000_000_000
"""Nanoseconds after which a change of a directory cannot have the time stamp of the one before."""


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

    def read(self, first: int = 0, last: int | None = None) -> list[int]:
        """Reads all, or the slots from `first` to before `last`; the slots that changed. Raises Gone."""
        kept, rows = self.kept, self.rows
        before = set(kept.errors)
        changed = kept.sweep(first, last)
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
        self._memory = _Part(layout, self._places, files["memory"], 64)
        self._status = _Part(layout, self._places, files["status"], 64)
        self._categories = Categories(files["total"], files["memory"], FEW, LONG_TURNS, BACKGROUND)
        self._turns = Turns(len(files["status"]), AT_ONCE, TURNS)
        self._cold = _Part(layout, self._places, files["cold"], 1024)
        self._rare = _Part(layout, self._places, files["rare"], 1024)
        self._parts = (self._totals, self._memory, self._status, self._cold, self._rare)
        self._files = sum(map(len, files.values()))
        self._count = 0
        self._begun = self._moved = False
        """Whether it was read, and whether a core's memory changed since the judge was told of it."""
        self._stamp: tuple[int, int, int] | None = None
        """Of the directory of the devices, when they were the same the last time."""
        self._used: dict[str, float] = {}
        """Memory in use of each device when the judge was told last."""

    def _learn(self, root: HostRoot, layout: Layout, cores: int) -> None:
        """Physical cores of a device, and whether the chip pairs them."""
        if self.numbers:
            layout.physical = cores or None
            kind = root.text(f"{self.name}/neuron{self.numbers[0]}/info/architecture/instance_type", 256)
            layout.paired = bool(kind) and str(kind).capitalize() in PAIRED

    def same(self, layout: Layout, closely: bool) -> bool:
        """Whether the devices are those that were walked, and cores are counted as they were. Unless `closely` they are asked for
        only where their directory says that something came or went; of a device that was replaced the driver says ENODEV."""
        if layout.config != self._config:
            return False
        try:
            state = os.stat(self._place)  # noqa: PTH116 (as in `_inode`)
            stamp = state.st_mtime_ns, state.st_nlink, state.st_ino
            if stamp == self._stamp and not closely:
                return True
            names = os.listdir(self._place)
        except OSError:
            return False
        self._stamp = stamp if time.time_ns() - state.st_mtime_ns > SETTLED else None
        return numbered(names, "neuron") == self.numbers and all(
            _inode(place) == self._inodes[number] for number, place in self._places.items()
        )

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
        """Readings of the totals, and where it is time for `cold` ones of all else; whether rules see a change. Raises Gone."""
        first, self._begun = not self._begun, True
        totals, memory, status = self._totals, self._memory, self._status
        self._moved = self._categories.moved(totals.read()) or self._moved
        seen = status.seen(status.read() if first else status.read(*self._turns.next()))
        if first:
            memory.read()
        else:
            for span in self._categories.next():
                memory.read(*span)
        readings = totals.rows.readings.copy()
        if cold or self._categories.all:
            readings += memory.rows.readings
        if cold or self._turns.all or seen:
            readings += status.rows.readings
        if rare:
            self._rare.read()
        if cold:
            seen = self._cold.seen(self._cold.read()) or seen
            readings += self._cold.rows.readings
            readings += self._rare.rows.readings
            if self._moved:
                self._moved = False
                seen = self._memory_moved() or seen
        self._count += 1
        self._parts[self._count % len(self._parts)].kept.compare(COMPARED)
        return readings, seen

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
        if not self._files:
            return "it holds no counter that is known"
        if sum(len(part.kept.errors) for part in self._parts) < self._files:
            return ""
        return self._errors()[0]

    def _errors(self) -> list[str]:
        return [text for part in self._parts for text in part.kept.errors.values()]

    def wrong(self) -> str:
        """What is wrong with values that could be read a moment ago, else ""."""
        if not any(part.kept.errors or part.rows.garbage for part in self._parts):
            return ""
        garbage = [(part.kept.places[slot], data) for part in self._parts for slot, data in part.rows.garbage.items()]
        if garbage:
            place, data = garbage[0]
            name = self.name + place[len(self._place) :] if place.startswith(self._place) else place
            return f"{len(garbage)} of {self._files} counters hold no number: {name} = {data[:40].decode('utf-8', 'replace')!r}"
        errors = [text for text in self._errors() if text != "permission denied"]
        return f"{len(errors)} of {self._files} counters cannot be read: {errors[0]}" if errors else ""

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


def _inode(place: str) -> int:
    try:
        return os.stat(place).st_ino  # noqa: PTH116 (a Path for each device each second costs more than the call)
    except OSError:
        return 0
