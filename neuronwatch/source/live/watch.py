"""Directories of configuration and rules: says when something in them changed, by inotify.

The watchdog library says the same, with three threads and 1.3 MB more (`dataclasses`, `inspect`, `logging`), which a daemon
that lives for months pays for a directory that changes once a week. A path that does not exist is watched from the nearest
directory above it. The system is asked for changes alone: every program that is started opens files in /etc.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from neuronwatch.source.live import inotify

_NAMES = inotify.CREATE | inotify.DELETE | inotify.MOVED_FROM | inotify.MOVED_TO | inotify.DELETE_SELF | inotify.MOVE_SELF
_CONTENTS = inotify.MODIFY | inotify.ATTRIB
_GONE = inotify.DELETE_SELF | inotify.MOVE_SELF | inotify.IGNORED


class FileWatch:
    """`descriptor` is readable when something happened in the directories of `paths` (files, or directories with all that is
    below); `changed` then tells whether one of them changed, came or went. Several changes are one. Where the system has no
    notification, nothing is ever said: `active` tells."""

    def __init__(self, paths: Iterable[Path]) -> None:
        self._paths = [Path(os.path.abspath(path)) for path in paths]
        self._inotify: inotify.Inotify | None = None
        self._watched: dict[Path, tuple[int, int]] = {}
        """By directory: watch, and what is asked for."""
        try:
            self._inotify = inotify.Inotify()
        except (OSError, AttributeError):
            return
        self._schedule()

    @property
    def active(self) -> bool:
        return self._inotify is not None

    @property
    def descriptor(self) -> int:
        return self._inotify.descriptor if self._inotify is not None else -1

    def changed(self) -> bool:
        """Whether one of the paths changed since the last time; what came into being is watched from now on. Never waits."""
        if self._inotify is None:
            return False
        changed = names = False
        places = {watch: place for place, (watch, _) in self._watched.items()}
        for event in self._inotify.read():
            place = places.get(event.watch)
            if place is None:  # more than anybody remembers; or a watch that was ended meanwhile
                changed = changed or bool(event.mask & inotify.OVERFLOW)
                continue
            if event.mask & _GONE:
                self._forget(place)
            path = place / os.fsdecode(event.name) if event.name else place
            name = bool(event.mask & ~_CONTENTS)
            names = names or name
            changed = changed or self._concerns(path, name)
        if names or changed:
            changed = self._schedule() or changed
        return changed

    def _concerns(self, path: Path, name: bool) -> bool:
        """Of a directory above only the names that come and go matter."""
        return any(path == own or own in path.parents or (name and path in own.parents) for own in self._paths)

    def _schedule(self) -> bool:
        """Watches the directories of now, and no others; whether there is a new one in which something may have happened."""
        wanted = self._wanted()
        for place in [place for place in self._watched if place not in wanted]:
            self._forget(place, below=False)
        fresh = False
        for place, mask in wanted.items():
            known = self._watched.get(place)
            if self._inotify is None or (known is not None and known[1] == mask):
                continue
            try:
                self._watched[place] = self._inotify.watch(os.fspath(place), mask | inotify.ONLYDIR), mask
                fresh = fresh or known is None
            except OSError:
                continue  # it went away, or there are no more watches: the next change shows
        return fresh

    def _wanted(self) -> dict[Path, int]:
        wanted: dict[Path, int] = {}
        for path in self._paths:
            nearest = path
            while not nearest.is_dir() and nearest != nearest.parent:
                nearest = nearest.parent
            mask = _NAMES | _CONTENTS if nearest in (path, path.parent) else _NAMES
            for place in _tree(path) if nearest == path else (nearest,):
                wanted[place] = wanted.get(place, 0) | mask
        return wanted

    def _forget(self, place: Path, below: bool = True) -> None:
        """Ends the watch of a directory; `below`: also of those in it, whose watches would go with it to another place."""
        for known in [known for known in self._watched if known == place or (below and place in known.parents)]:
            watch, _ = self._watched.pop(known)
            if self._inotify is not None:
                self._inotify.forget(watch)

    def close(self) -> None:
        own, self._inotify = self._inotify, None
        self._watched.clear()
        if own is not None:
            own.close()


def _tree(path: Path) -> Iterator[Path]:
    return (Path(directory) for directory, _, _ in os.walk(path))
