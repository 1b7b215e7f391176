"""The driver's sysfs tree: memory and execution counters each second, ECC and health each five, the rest once a minute.

A read of a hung driver never returns: it holds this source's thread, and nothing else. The judge gets the tree as `diagnose`
reads it, when something in it changed that a rule can see.
"""

from __future__ import annotations

import os
from pathlib import Path

from neuronwatch.model.live import Delivery, Reading
from neuronwatch.source.host import devices
from neuronwatch.source.host.devices import Values
from neuronwatch.source.host.root import HostRoot, numbered
from neuronwatch.source.host.sysfs_tree import MAX_FILES, MAX_VALUE, value_files, value_lines
from neuronwatch.source.live.api import Absent, Broken, Now
from neuronwatch.source.live.changes import Changes, Pace
from neuronwatch.source.live.kept import Gone, Kept, read_once
from neuronwatch.source.live.layout import PAIRED, Layout
from neuronwatch.source.live.sysfs_rows import POWER, Rows, is_hot, judged, metric_of
from neuronwatch.source.tree import shown

COLD, RARE = 5.0, 60.0
"""Seconds between reads of ECC and health, and of power (the driver renews it once a minute)."""
STEP = 2 << 30
"""Bytes by which the memory in use of a device must change to be worth a new text."""


class Sysfs:
    name = "sysfs"
    budget = 5.0
    interval = 1.0
    mandatory = True
    blocking = True

    def __init__(self, root: HostRoot, layout: Layout) -> None:
        self._root = root
        self._layout = layout
        self._changes = Changes(self.name)
        self._tree: _Tree | None = None
        self._nodes: tuple[tuple[str, int], ...] = ()
        self._dirty = True
        self._due_cold = self._due_rare = 0.0
        self._pace = Pace()

    def poll(self, now: Now) -> Delivery:
        readings = self._read(now)
        if now.mono >= self._due_cold:
            nodes = _nodes(self._root)
            self._dirty = self._dirty or nodes != self._nodes
            self._nodes = nodes
            self._due_cold = now.mono + COLD
        delivery = self._told(now, readings)
        self._complain(delivery)
        return delivery

    def _read(self, now: Now) -> list[Reading]:
        """The readings of what was read now; walks the tree anew when it is another one."""
        for _ in range(2):
            tree = self._tree
            if tree is None or not tree.same(self._root, self._layout):
                self._drop()
                tree = self._walk()
                self._due_cold = self._due_rare = now.mono
            if tree is None:
                return []
            try:
                readings, changed = tree.read(now.mono >= self._due_cold, now.mono >= self._due_rare)
            except Gone:
                self._drop()
                continue
            if now.mono >= self._due_rare:
                self._due_rare = now.mono + RARE
            self._dirty = self._dirty or changed
            return readings
        raise Broken("the tree changes faster than it can be read")

    def _walk(self) -> _Tree | None:
        self._dirty = True
        name = devices.tree_of(self._root)
        self._tree = _Tree(self._root, name, self._layout) if name is not None else None
        return self._tree

    def _told(self, now: Now, readings: list[Reading]) -> Delivery:
        """The delivery, with the judge's text when one is due."""
        if not self._dirty or not self._pace.free(now.mono):
            return Delivery(self.name, now.wall, readings)
        self._pace.sent(now.mono)
        self._dirty = False
        tree = self._tree
        return self._changes.of(devices.collect(self._root, tree.text if tree else None), now.wall, readings)

    def _complain(self, delivery: Delivery) -> None:
        """Raises Absent or Broken, with the delivery, where the tree is not as it must be."""
        tree = self._tree
        if tree is None or not tree.numbers:
            nodes = numbered(self._root.names("/dev"), "neuron")
            raise Absent("the driver offers no sysfs tree" if nodes else devices.NONE, delivery)
        if tree.unreadable:
            raise Absent(f"{tree.name}: {tree.unreadable}", delivery)
        wrong = tree.wrong()
        if wrong:
            raise Broken(wrong, delivery)

    def _drop(self) -> None:
        if self._tree is not None:
            self._tree.close()
        self._tree = None

    def descriptors(self) -> tuple[int, ...]:
        return ()

    def close(self) -> None:
        self._drop()


class _Part:
    """Files that are read together, and their Readings."""

    def __init__(self, layout: Layout, files: list[tuple[int, str, str]], size: int) -> None:
        """`files`: device, name below it, real path."""
        self.kept = Kept([place for _, _, place in files], size)
        self.slots = {place: slot for slot, (_, _, place) in enumerate(files)}
        self._judged = frozenset(slot for slot, (_, name, _) in enumerate(files) if judged(name))
        self.rows = Rows(layout, [(device, name) for device, name, _ in files])
        self.rows.update(self.kept.errors, self.kept.values, self.kept.errors)

    def read(self) -> bool:
        """Sweeps; whether something changed that rules see. Raises Gone."""
        kept, rows = self.kept, self.rows
        before = set(kept.errors)
        changed = kept.sweep()
        changed += before.symmetric_difference(kept.errors)
        rows.update(changed, kept.values, kept.errors)
        torn = [slot for slot in changed if slot in rows.garbage]
        if torn:  # a simulated driver writes files, and a reader can see one half written
            for slot in torn:
                kept.values[slot] = read_once(kept.places[slot], kept.size)
            rows.update(torn, kept.values, kept.errors)
        return not self._judged.isdisjoint(changed)


class _Tree:
    """The tree as it was walked: its devices, the files that are kept open, and all others by name."""

    def __init__(self, root: HostRoot, name: str, layout: Layout) -> None:
        self.name = name
        self._place = str(root.place(name))
        self.numbers = numbered(root.names(name), "neuron")
        self._places = {number: str(root.place(f"{name}/neuron{number}")) for number in self.numbers}
        self._inodes = {number: _inode(place) for number, place in self._places.items()}
        self._files: dict[int, list[str]] = {}
        found: list[tuple[int, str, str]] = []
        for number in self.numbers:
            files = [file for file, _ in value_files(root, f"{name}/neuron{number}")]
            self._files[number] = files
            found += [(number, file, self._places[number] + file) for file in files if metric_of(file)[0]]
        self._learn(root, layout)
        self._config = layout.config
        self._hot = _Part(layout, [item for item in found if is_hot(item[1])], 64)
        self._cold = _Part(layout, [item for item in found if not is_hot(item[1]) and item[1] != POWER], 1024)
        self._rare = _Part(layout, [item for item in found if item[1] == POWER], 1024)
        self._parts = (self._hot, self._cold, self._rare)
        self._memory: dict[str, float] = {}

    def _learn(self, root: HostRoot, layout: Layout) -> None:
        """Physical cores of a device, and whether the chip pairs them."""
        if self.numbers:
            files = self._files[self.numbers[0]]
            cores = {file.split("/")[1] for file in files if file.startswith("/neuron_core")}
            layout.physical = len(cores) or None
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

    def read(self, cold: bool, rare: bool) -> tuple[list[Reading], bool]:
        """Readings of the parts that were read, and whether rules see a change. Raises Gone."""
        readings: list[Reading] = []
        changed = False
        for part, due in zip(self._parts, (True, cold, rare), strict=True):
            if due:
                changed = part.read() or changed
                readings += part.rows.readings
        return readings, self._memory_moved() or changed

    def _memory_moved(self) -> bool:
        """Whether the memory in use of a device is far from what the judge was told."""
        used: dict[str, float] = {}
        for reading in self._hot.rows.readings:
            if reading.metric == "core.memory.used" and reading.value is not None:
                device = reading.entity.split(":")[0]
                used[device] = used.get(device, 0.0) + reading.value
        if used.keys() == self._memory.keys() and all(abs(used[key] - self._memory[key]) < STEP for key in used):
            return False
        self._memory = used
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
            return f"{len(garbage)} of {total} counters hold no number: {name} = {data[:40]!r}"
        errors = [text for part in self._parts for text in part.kept.errors.values() if text != "permission denied"]
        return f"{len(errors)} of {total} counters cannot be read: {errors[0]}" if errors else ""

    def text(self, root: HostRoot, tree: str) -> Values:
        """All values as `diagnose` reads them: what is kept, as it was read last; all else read now."""
        lines: list[str] = []
        unread = 0
        for number, files in self._files.items():
            place = self._places[number]
            for file in files:
                data = self._value(place + file)
                if data is None:
                    unread += 1
                    continue
                path = shown(f"{tree}/neuron{number}{file}")
                lines += [f"{path} = {part}" for part in value_lines(data)]
        return Values(lines[:MAX_FILES], unread, len(lines) >= MAX_FILES)

    def _value(self, place: str) -> bytes | None:
        for part in self._parts:
            slot = part.slots.get(place)
            if slot is not None:
                data = part.kept.values[slot]
                if data is not None and len(data) < part.kept.size:
                    return data
        return read_once(place, MAX_VALUE + 1)

    def close(self) -> None:
        for part in self._parts:
            part.kept.close()


def _inode(place: str) -> int:
    try:
        return Path(place).stat().st_ino
    except OSError:
        return 0


def _nodes(root: HostRoot) -> tuple[tuple[str, int], ...]:
    """Device nodes with their modes."""
    found = []
    for number in numbered(root.names("/dev"), "neuron"):
        state = root.stat(f"/dev/neuron{number}")
        found.append((f"neuron{number}", state.st_mode if state else 0))
    return tuple(found)
