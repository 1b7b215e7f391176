"""Directories of configuration and rules: says when something in them changed, by the watchdog library.

Its thread per event is fine for a directory that changes once a week (and ruinous for a busy log: those are followed by
`follow.py`). A path that does not exist is watched from the nearest directory above it. The system is asked for changes
alone: every program that is started opens files in /etc, and each event costs three threads of watchdog a wake.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from neuronwatch.source.live.signal_pipe import SignalPipe


class FileWatch:
    """`descriptor` is readable after one of `paths` (files, or directories with all that is below) changed, came or went, until
    `clear`. Several changes are one. Where the system has no notification, nothing is ever said: `active` tells."""

    def __init__(self, paths: Iterable[Path]) -> None:
        self._paths = [Path(os.path.abspath(path)) for path in paths]
        self._pipe = SignalPipe()
        self.descriptor = self._pipe.descriptor
        self._lock = threading.Lock()
        self._observer: Any = None
        self._watched: dict[tuple[Path, int], Any] = {}
        """By directory, and how many kinds of events are asked for."""
        self._start()

    @property
    def active(self) -> bool:
        return self._observer is not None

    def clear(self) -> None:
        """Takes notice of what changed, and watches what came into being."""
        self._pipe.clear()
        if self._observer is not None:
            self._schedule()

    def _start(self) -> None:
        try:
            from watchdog.observers import Observer

            self._observer = Observer()
            self._observer.daemon = True
            self._schedule()
            self._observer.start()
        except (ImportError, OSError, RuntimeError):
            self._observer = None

    def _schedule(self) -> None:
        """Watches for each path the path itself (a directory) or the nearest directory that exists."""
        from watchdog import events

        outer = self
        names = [
            events.FileCreatedEvent, events.FileDeletedEvent, events.FileMovedEvent,
            events.DirCreatedEvent, events.DirDeletedEvent, events.DirMovedEvent,
        ]  # fmt: skip

        class Handler(events.FileSystemEventHandler):
            def on_any_event(self, event: Any) -> None:
                outer.happened(str(event.event_type), [str(event.src_path), str(getattr(event, "dest_path", "") or "")])

        wanted: dict[Path, list[type[events.FileSystemEvent]]] = {}
        for path in self._paths:
            nearest = self._nearest(path)
            # Of a directory further up only the names that come and go matter.
            told = [*names, events.FileModifiedEvent] if nearest in (path, path.parent) else names
            wanted[nearest] = max(told, wanted.get(nearest, []), key=len)
        with self._lock:
            keys = {(path, len(told)) for path, told in wanted.items()}
            for key in [key for key in self._watched if key not in keys]:
                try:
                    self._observer.unschedule(self._watched.pop(key))
                except (KeyError, OSError):
                    continue
            for path, told in wanted.items():
                if (path, len(told)) not in self._watched:
                    try:
                        self._watched[path, len(told)] = self._observer.schedule(
                            Handler(), str(path), recursive=path in self._paths, event_filter=told
                        )
                    except OSError:
                        continue  # it went away, or there are no more watches: the next change shows

    def _nearest(self, path: Path) -> Path:
        while not path.is_dir() and path != path.parent:
            path = path.parent
        return path

    def happened(self, kind: str, names: Iterable[str]) -> None:
        """In the observer's thread: an event, with the names that it is about."""
        for name in names:
            path = Path(name) if name else None
            above = kind != "modified"  # a directory above is "modified" by each name in it
            if path and any(path == own or own in path.parents or (above and path in own.parents) for own in self._paths):
                self._pipe.set()
                return

    def close(self) -> None:
        observer, self._observer = self._observer, None
        if observer is not None:
            observer.stop()
            observer.join(1.0)
        self._pipe.close()
