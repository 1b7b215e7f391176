"""What inotify says, in the words of the follower: which texts changed, and whether names did."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from neuronwatch.source.live.inotify import (
    ATTRIB,
    CREATE,
    DELETE,
    DELETE_SELF,
    IGNORED,
    MODIFY,
    MOVE_SELF,
    MOVED_FROM,
    MOVED_TO,
    ONLYDIR,
    OVERFLOW,
    Inotify,
)

_MUTED = ATTRIB | MOVE_SELF | DELETE_SELF
_FILE = MODIFY | _MUTED
_DIRECTORY = CREATE | MOVED_TO | MOVED_FROM | DELETE | ONLYDIR


class Changes(NamedTuple):
    """`paths` of texts that changed; `names`: some name came or went; `lost`: more happened than anybody remembers."""

    paths: dict[str, None]
    names: bool
    lost: bool


class Watches:
    """Without inotify (another system, no share of it left) `descriptor` is None and nothing ever changes."""

    def __init__(self, wanted: bool = True) -> None:
        self._inotify: Inotify | None = None
        if wanted:
            with contextlib.suppress(OSError, AttributeError):
                self._inotify = Inotify()
        self._files: dict[int, str] = {}
        self._watch_of: dict[int, int] = {}
        """The watch of each descriptor."""
        self._directories: dict[str, int] = {}

    @property
    def descriptor(self) -> int | None:
        return None if self._inotify is None else self._inotify.descriptor

    def changes(self) -> Changes:
        paths: dict[str, None] = {}
        names = lost = False
        for event in self._inotify.read() if self._inotify is not None else ():
            if event.mask & OVERFLOW:
                lost = True
                continue
            path = self._files.get(event.watch)
            if path is None:
                if event.mask & IGNORED:  # the directory is gone; one of this name may come again
                    self._directories = {name: watch for name, watch in self._directories.items() if watch != event.watch}
                names = True
            elif event.mask & IGNORED:
                del self._files[event.watch]
            else:
                paths[path] = None
                names = names or bool(event.mask & (MOVE_SELF | DELETE_SELF))
        return Changes(paths, names or lost, lost)

    def watch_file(self, descriptor: int, path: str, muted: bool = False) -> None:
        """Watches the file behind a descriptor, whatever its name becomes. `muted`: not what is written to it. Again: changes
        that."""
        if self._inotify is None:
            return
        with contextlib.suppress(OSError):  # no watches left: looking again helps
            watch = self._inotify.watch(f"/proc/self/fd/{descriptor}", _MUTED if muted else _FILE)
            self._files[watch] = path
            self._watch_of[descriptor] = watch

    def forget_file(self, descriptor: int) -> None:
        watch = self._watch_of.pop(descriptor, None)
        if watch is not None and self._inotify is not None:
            self._inotify.forget(watch)
            self._files.pop(watch, None)

    def watch_directories(self, places: Mapping[str, str]) -> bool:
        """Watches these directories (name: real path) and no others; whether there was a new one."""
        if self._inotify is None:
            return False
        self._forget(name for name in list(self._directories) if name not in places)
        fresh = False
        for name, place in places.items():
            if name not in self._directories:
                with contextlib.suppress(OSError):
                    self._directories[name] = self._inotify.watch(place, _DIRECTORY)
                    fresh = True
        return fresh

    def _forget(self, names: Iterable[str]) -> None:
        for name in names:
            assert self._inotify is not None
            self._inotify.forget(self._directories.pop(name))

    def close(self) -> None:
        if self._inotify is not None:
            self._inotify.close()
            self._inotify = None
