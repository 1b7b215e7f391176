"""The driver's sysfs tree: memory and execution counters each second, ECC and health each four, power once a minute.

A read of a hung driver never returns: it holds this source's thread, and nothing else. The judge gets the tree as `diagnose`
reads it, when something in it changed that a rule can see.
"""

from __future__ import annotations

import os
import stat

from neuronwatch.model.live import Delivery, Reading
from neuronwatch.source.host import devices
from neuronwatch.source.host.root import HostRoot, numbered
from neuronwatch.source.live.api import Absent, Broken, Now
from neuronwatch.source.live.changes import Changes, Pace
from neuronwatch.source.live.kept import Gone
from neuronwatch.source.live.layout import Layout
from neuronwatch.source.live.signal_pipe import SignalPipe
from neuronwatch.source.live.sysfs_kept import Tree

COLD, RARE = 4.0, 60.0
"""Seconds between reads of ECC and health, and of power (the driver renews it once a minute). With the former all else is told that
is not read each second: a value that is older than `budget` is stale for those who show it."""
EARLY = 0.5
"""Seconds by which that may be early, since a poll may be."""
DOUBT = 5.0
LONGEST_DOUBT = 600.0
"""A tree is looked at for further files 5, 10, 20, ... seconds after it was walked: a driver that starts adds them in turn.
All are counted the first time, and then at this distance."""


class Sysfs:
    name = "sysfs"
    budget = 5.0
    interval = 1.0
    mandatory = True
    blocking = True

    def __init__(self, root: HostRoot, layout: Layout, again: SignalPipe | None = None) -> None:
        """`again` is set when the driver or one of its devices came or went: who reads slow facts of it looks then."""
        self._root = root
        self._layout = layout
        self._again = again
        self._changes = Changes(self.name)
        self._tree: Tree | None = None
        self._nodes: tuple[tuple[str, int], ...] = ()
        self._dirty = True
        self._due_cold = self._due_rare = self._due_look = 0.0
        self._doubt = DOUBT
        self._pace = Pace()
        self._mandatory: bool | None = None
        """Whether it is mandatory where there is a driver with a tree."""

    def poll(self, now: Now) -> Delivery | None:
        if self._mandatory is None:
            self._mandatory = self.mandatory  # the configuration may have set it
        readings = self._read(now)
        if readings is None:
            return None
        if now.mono >= self._due_cold:
            nodes = _nodes(self._root)
            if nodes != self._nodes:
                self._nodes, self._dirty = nodes, True
                self._came_or_went()
            self._due_cold = now.mono + COLD - EARLY
        delivery = self._told(now, readings)
        self._complain(delivery)
        return delivery

    def _read(self, now: Now) -> list[Reading] | None:
        """The readings of what was read now; walks the tree anew when it is another one. None: it is being changed under us."""
        for _ in range(2):
            tree = self._tree
            if tree is None or not tree.same(self._layout, now.mono >= self._due_cold) or self._grew(tree, now):
                self._drop()
                tree, before = self._walk(now), tree
                still_empty = tree is not None and before is not None and tree.empty and before.empty
                if (tree is not None or before is not None) and not still_empty:
                    self._came_or_went()
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
        return None

    def _grew(self, tree: Tree, now: Now) -> bool:
        """Whether the tree has other files than when it was walked: asked less and less often, and always where it had none."""
        if tree.empty:
            return True
        if now.mono < self._due_look:
            return False
        closely = self._doubt in (2 * DOUBT, LONGEST_DOUBT)
        self._due_look = now.mono + self._doubt
        self._doubt = min(2 * self._doubt, LONGEST_DOUBT)
        return tree.grew(self._root, closely)

    def _came_or_went(self) -> None:
        if self._again is not None:
            self._again.set()

    def _walk(self, now: Now) -> Tree | None:
        self._dirty, self._doubt, self._due_look = True, 2 * DOUBT, now.mono + DOUBT
        name = devices.tree_of(self._root)
        self._tree = Tree(self._root, name, self._layout) if name is not None else None
        return self._tree

    def _told(self, now: Now, readings: list[Reading]) -> Delivery:
        """The delivery, with the judge's text when one is due."""
        if not self._dirty or not self._pace.free(now.mono):
            return Delivery(self.name, now.wall, readings)
        self._pace.sent(now.mono)
        self._dirty = False
        tree = self._tree
        return self._changes.of(devices.of_driver(self._root, tree.text if tree else devices.read_tree), now.wall, readings)

    def _complain(self, delivery: Delivery) -> None:
        """Raises Absent or Broken, with the delivery, where the tree is not as it must be."""
        tree = self._tree
        if tree is None and self._before_the_tree():
            self.mandatory = False  # there is nothing to be blind to; a driver that is upgraded makes it so again
            raise Absent("not offered: the tree came with driver 2", delivery)
        self.mandatory = bool(self._mandatory)
        if tree is None or not tree.numbers:
            for place in devices.TREES:
                if self._root.why(place) == "permission denied":
                    raise Absent(f"{place}: permission denied", delivery)
            raise Absent(self._why_none(), delivery)
        if tree.unreadable:
            raise (Broken if tree.empty else Absent)(f"{tree.name}: {tree.unreadable}", delivery)
        wrong = tree.wrong()
        if wrong:
            raise Broken(wrong, delivery)

    def _before_the_tree(self) -> bool:
        """Whether the loaded driver is of the 1.x line, of the daemon neuron-rtd."""
        return (self._root.text("/sys/module/neuron/version", 64) or "").startswith("1.")

    def _why_none(self) -> str:
        if numbered(self._root.names("/dev"), "neuron"):
            return devices.NO_TREE
        return devices.NO_DRIVER if devices.has_hardware(self._root) else devices.NONE

    def _drop(self) -> None:
        if self._tree is not None:
            self._tree.close()
        self._tree = None

    def descriptors(self) -> tuple[int, ...]:
        return ()

    def close(self) -> None:
        self._drop()


def _nodes(root: HostRoot) -> tuple[tuple[str, int], ...]:
    """Device nodes with their modes."""
    found = []
    where = root.real("/dev")
    for number in numbered(root.names("/dev"), "neuron"):
        try:
            mode = os.lstat(f"{where}/neuron{number}").st_mode
        except OSError:
            mode = 0
        if stat.S_ISLNK(mode):
            state = root.stat(f"/dev/neuron{number}")
            mode = state.st_mode if state else 0
        found.append((f"neuron{number}", mode))
    return tuple(found)
