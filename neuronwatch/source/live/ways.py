"""Slow facts of the host, read once a minute by the same ways as `diagnose`: driver, kernel, limits, control group, packages."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Iterator

from neuronwatch.model.live import Delivery
from neuronwatch.source.host import HostItem, packages
from neuronwatch.source.host.root import HostRoot
from neuronwatch.source.live.api import Broken, Now
from neuronwatch.source.live.changes import Changes, tells
from neuronwatch.source.live.signal_pipe import SignalPipe

MINUTE = 60.0
Collect = Callable[[HostRoot], Iterable[HostItem]]


class Ways:
    """One or more ways of `source/host`, each poll. `mark`: a cheap look at what the ways would read; while it gives the same
    they are not asked again. `again`: set by another source that saw something change. `tell`: set when what they tell changed."""

    mandatory = False
    blocking = True

    def __init__(
        self,
        name: str,
        root: HostRoot,
        ways: Iterable[Collect],
        *,
        interval: float = MINUTE,
        mark: Callable[[HostRoot], object] | None = None,
        again: SignalPipe | None = None,
        tell: SignalPipe | None = None,
    ) -> None:
        self.name = name
        self.interval = interval
        self.budget = 2.5 * interval
        self._root = root
        self._ways = tuple(ways)
        self._mark = mark
        self._again = again
        self._tell = tell
        self._seen: object = None
        self._changes = Changes(name)

    def poll(self, now: Now) -> Delivery:
        if self._again is not None:
            self._again.clear()
        seen = self._mark(self._root) if self._mark else None
        if seen is not None and seen == self._seen:
            return Delivery(self.name, now.wall)
        try:
            items = [item for way in self._ways for item in way(self._root)]
        except OSError as error:
            raise Broken((error.strerror or str(error)).lower()) from error
        self._seen = seen
        delivery = self._changes.of(items, now.wall)
        if self._tell is not None and tells(delivery):
            self._tell.set()
        return delivery

    def descriptors(self) -> tuple[int, ...]:
        return (self._again.descriptor,) if self._again is not None else ()

    def close(self) -> None:
        if self._again is not None:
            self._again.close()


def _way(name: str) -> Collect:
    """A way of `source/host`, imported when it is first used."""

    def collect(root: HostRoot) -> Iterator[HostItem]:
        found: Iterator[HostItem] = importlib.import_module(f"neuronwatch.source.host.{name}").collect(root)
        yield from found

    return collect


def packages_mark(root: HostRoot) -> object:
    """Modification times of the package databases and of the directories in which Python packages lie."""
    return tuple((name, state.st_mtime_ns, state.st_size) for name in packages.places(root) if (state := root.stat(name)))


def _bus(root: HostRoot) -> Iterator[HostItem]:
    from neuronwatch.source.host import devices

    yield from devices.of_bus(root)


def driver(root: HostRoot, again: SignalPipe, tell: SignalPipe | None = None) -> Ways:
    """Module and bus: what tells of the devices where no driver does. `tell`: whoever reads which package it came from."""
    return Ways("driver", root, [_way("driver"), _bus], again=again, tell=tell)


def system(root: HostRoot, again: SignalPipe) -> Ways:
    return Ways("system", root, [_way("system"), _way("cgroup")], again=again)


def installed(root: HostRoot, again: SignalPipe | None = None) -> Ways:
    return Ways("packages", root, [_way("packages")], mark=packages_mark, again=again)
