"""Follows growing files: new ones appear, old ones are renamed, truncated, compressed or deleted, and no line is lost or doubled.

A file that was followed is read to its end behind its descriptor, whatever its name is by now. While the writer still goes
on in a renamed file and the new one is empty, it is one text; once the new one has lines, late ones of the old file come
under the name that it has now.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Mapping, Sequence

from neuronwatch.model.diagnosis import SourceReport
from neuronwatch.model.live import Appended
from neuronwatch.source.host.root import HostRoot
from neuronwatch.source.live import rotated
from neuronwatch.source.live.flood import Flood
from neuronwatch.source.live.globs import DENIED, expand
from neuronwatch.source.live.log_path import LogPath, grew, shown_path
from neuronwatch.source.live.positions import Position
from neuronwatch.source.live.rests import Rests
from neuronwatch.source.live.text_file import TextFile
from neuronwatch.source.live.watches import Watches

BUDGET = 4 * 1024 * 1024
"""Bytes that one call of `read` delivers at most, of all files together,"""
SLICE = 64 * 1024
"""and of one file before the others have their turn: all of it is scanned, which takes its time."""
FLOODED = 512 * 1024
"""The same in a flood, most of which is only counted."""
SWEEP, POLLING = 2.0, 0.1
"""Seconds between two looks at the sizes of all files, with inotify (which sees no writer on another machine) and without."""
EARLY = 0.2
"""Seconds by which the former may be early, so that nobody is woken for it alone."""
LOOK_ROUND = 15.0
"""Seconds between two looks for new files where inotify tells of them."""
SETTLES = 0.05
"""New names are looked at so long after the first of them, in one go."""
RECENT = 86_400.0
"""Of a file that was there before us, and changed within so many seconds, the end is read."""
REMEMBERED = 256
"""Files read to their end whose names may still turn up, and paths whose files are not there."""


class Follower:
    """`read` gives what the followed files gained. Call it when `descriptor` is readable, and at `due`.

    `history`: of files that were there before us and that no position is known of, the last so many bytes are read.
    Times are seconds that only grow, `wall` is since the epoch."""

    def __init__(
        self, root: HostRoot, patterns: Sequence[str], positions: Mapping[str, Sequence[Position]] | None = None,
        *, history: int = 256 * 1024, flood: Flood | None = None, watch: bool = True,
    ) -> None:  # fmt: skip
        self._root = root
        self._patterns: dict[str, bool] = dict.fromkeys(patterns, False)
        """Whether a pattern was looked up before: what it finds then is new."""
        self._history = history
        self.flood = flood or Flood()
        self._remembered = {path: list(items) for path, items in (positions or {}).items()}
        self._read_out = {(item.device, item.inode): item for item in self._remembered.pop("", [])}
        self._logs: dict[str, LogPath] = {}
        self._by_identity: dict[tuple[int, int], LogPath] = {}
        self._dirty: dict[str, None] = {}
        self._reports: dict[str, SourceReport] = {}
        self._watches = Watches(watch)
        self._rests = Rests()
        self._look_at = self._sweep_at = float("-inf")
        self._suspects: dict[str, float] = {}
        """Files that may be copies of one that is followed: since when they wait for enough bytes to tell."""

    @property
    def descriptor(self) -> int | None:
        """Readable when something happened; None where only looking again helps."""
        return self._watches.descriptor

    @property
    def more(self) -> bool:
        """Whether there is more to read than one call gave."""
        return bool(self._dirty)

    @property
    def followed(self) -> list[str]:
        """The names of the files that are there, sorted."""
        return sorted(name for name, log in self._logs.items() if not log.gone)

    def due(self) -> float:
        """When `read` is to be called, whatever happens."""
        return min(self._look_at, self._sweep_at)

    def names_due(self) -> float:
        """When it is to be called for new names."""
        return self._look_at

    def rest_over(self) -> float:
        """The `tick` at which `read` is to be called for files that are written to all the time; infinite: there is none."""
        return self._rests.due()

    def want(self, patterns: Iterable[str]) -> None:
        """Follows these patterns from now on; what was followed for others is still read while it grows."""
        fresh = dict.fromkeys(patterns, False)
        if fresh.keys() != self._patterns.keys():
            self._patterns = {pattern: self._patterns.get(pattern, False) for pattern in fresh}
            self._look_at = float("-inf")

    def read(self, now: float, wall: float, tick: float | None = None) -> list[Appended]:
        """The lines that came since. Never raises; what cannot be read is in `reports`. `tick`: the machine's own seconds,
        where `now` runs faster."""
        tick = now if tick is None else tick
        changes = self._watches.changes()
        for path in changes.paths:
            log = self._logs.get(path)
            if log is not None and self._rests.at_once(path, tick):
                self._dirty[path] = None
            elif log is not None:
                self._watch(log)
        self._dirty.update(dict.fromkeys(self._rests.over(tick)))
        if changes.lost:
            self._sweep_at = now
        if changes.names:
            self._look_at = min(self._look_at, now + SETTLES)
        if now >= self._look_at:
            self._look(now, wall)
        if now >= self._sweep_at - (EARLY if self.descriptor is not None else 0.0):
            self._sweep(now)
        found: list[Appended] = []
        budget = BUDGET
        queue = list(self._dirty)
        for path in queue:
            if budget <= 0:
                break
            self._dirty.pop(path, None)
            log = self._logs.get(path)
            if log is None:
                continue
            room = min(budget, FLOODED if self.flood.holds(log.shown) else SLICE)
            seen = log.seen
            size = self._read_log(log, room, now, found)
            budget = 0 if log.catching_up else budget - size
            if size >= room:
                self._dirty[path] = None  # behind the others
            elif self._rests.was_read(path, size > 0 or log.seen != seen, tick):
                self._watch(log)
                queue.append(path)  # for what came before it was watched
                self._dirty[path] = None
        return [*found, *self.flood.due(now)]

    def _watch(self, log: LogPath) -> None:
        """Watches what is written to a path, or, while it rests, does not."""
        for file in log.files:
            self._watches.watch_file(file.descriptor, log.name, self._rests.rests(log.name))

    def _read_log(self, log: LogPath, room: int, now: float, found: list[Appended]) -> int:
        """Reads what is there, oldest first; the bytes read."""
        size = 0
        while size < room:
            placed = log.next_piece(room - size, now)
            if placed is None:
                log.catching_up = False
                break
            path, piece = placed
            size += len(piece.data)
            appended = Appended(path, piece.data, fresh=piece.fresh, line=piece.line)
            # What piled up while nobody read is no flood.
            found += [appended] if log.catching_up else self.flood.take(appended, now)
            if log.dry:
                log.catching_up = False
                break
        self._register(log)
        if log.failure:
            self._report(log.name, "failed", log.failure)
        return size

    def reports(self) -> tuple[SourceReport, ...]:
        """What of all that should be followed is not, or not wholly, and why."""
        return tuple(self._reports.values())

    def positions(self) -> dict[str, list[Position]]:
        """How far everything was read, to be given to the next follower."""
        found = {log.name: [file.position() for file in log.files] for log in self._logs.values() if log.files}
        found.update((path, items) for path, items in list(self._remembered.items())[-REMEMBERED:] if path not in found)
        found[""] = list(self._read_out.values())
        return found

    def close(self) -> None:
        for log in self._logs.values():
            log.close()
        self._logs.clear()
        self._watches.close()

    def _sweep(self, now: float) -> None:
        """Looks at the sizes of all files, and gives up those that nobody writes to."""
        self._sweep_at = now + (POLLING if self.descriptor is None else SWEEP)
        for path, log in list(self._logs.items()):
            if any(file.waits or grew(file) for file in log.files) or log.rests:
                self._dirty[path] = None
            if self.descriptor is None and log.files and not log.files[-1].is_at(self._root.stat(path)):
                self._look_at = now
            for file in log.silent(now):
                self._give_up(log, file)

    def _give_up(self, log: LogPath, file: TextFile) -> None:
        with contextlib.suppress(OSError):
            if file.links():
                self._read_out[(file.device, file.inode)] = file.position()
                while len(self._read_out) > REMEMBERED:
                    del self._read_out[next(iter(self._read_out))]
        self._watches.forget_file(file.descriptor)
        self._by_identity.pop((file.device, file.inode), None)
        log.remove(file)
        if not log.files and not log.rests:
            del self._logs[log.name]
            self._rests.forget(log.name)
            self._reports.pop(log.shown, None)

    def _look(self, now: float, wall: float) -> None:
        """Looks which files there are."""
        self._look_at = now + (SWEEP if self.descriptor is None else LOOK_ROUND)
        found = expand(self._root, self._patterns)
        for name, pattern in found.files.items():
            with contextlib.suppress(OSError):
                self._meet(name, not self._patterns[pattern], now, wall)
        for name, log in self._logs.items():
            log.gone = name not in found.files
        self._patterns = dict.fromkeys(self._patterns, True)
        for path, report in list(self._reports.items()):
            if report.state != "partial" and path.removeprefix("host:") not in found.files:
                del self._reports[path]
        for name, reason in found.refused.items():
            self._report(name, "missing" if reason == DENIED else "skipped", reason)
        if found.left_out:
            self._report("(logs)", "partial", f"{found.left_out:,} more files than can be followed at once")
        places = {name: str(place) for name in found.directories if (place := self._root.place(name)) is not None}
        if self._watches.watch_directories(places):
            self._look_at = now + SETTLES  # for what came between this look and the watch

    def _meet(self, name: str, old: bool, now: float, wall: float) -> None:
        """There is a file of this name. `old`: it may have been there before us."""
        status = self._root.stat(name)
        if status is None or (status.st_dev, status.st_ino) in self._by_identity:
            return  # followed already, perhaps under the name that it had
        descriptor = self._root.open(name)
        if descriptor is None:
            why = self._root.why(name)
            self._report(name, "missing" if why in ("permission denied", "no such file") else "failed", why)
            return
        if rotated.is_packed(descriptor):
            os.close(descriptor)
            self._report(name, "skipped", "compressed: what it holds was read before it was")
            return
        file = TextFile(descriptor, os.fstat(descriptor))
        log = self._logs.get(name)
        if log is None and not self._is_news(name, file, old, now):
            file.close()
            return
        self._reports.pop(shown_path(name), None)
        if log is None:
            log = self._logs[name] = LogPath(self._root, name, lambda: {**self._by_identity, **self._read_out})
            self._begin(log, file, old, wall)
            log.files.append(file)
        else:
            log.add(file)
        self._register(log)
        self._dirty[name] = None

    def _register(self, log: LogPath) -> None:
        for file in log.files:
            if (file.device, file.inode) not in self._by_identity:
                self._by_identity[(file.device, file.inode)] = log
                self._watches.watch_file(file.descriptor, log.name, self._rests.rests(log.name))

    def _is_news(self, name: str, file: TextFile, old: bool, now: float) -> bool:
        """Whether a new name is a new text: neither a file that was read to its end under another name, nor a copy of one
        that is followed."""
        known = self._read_out.get((file.device, file.inode))
        if known is not None and name not in self._remembered and file.resume(known):
            if not file.holds_more_than(known.offset):
                return False
            del self._read_out[(file.device, file.inode)]
            return True
        if name in self._remembered:
            return True
        if old:
            if not rotated.is_rotated(self._root, name):
                return True
            # What was rotated before us is history; its writer may still come back to it.
            self._read_out[(file.device, file.inode)] = file.at_end()
            return False
        for log in self._logs.values():
            if name not in rotated.candidates(self._root, log.name):
                continue
            if any(file.is_copy_of(head) for head in log.heads()):
                self._suspects.pop(name, None)
                self._read_out[(file.device, file.inode)] = file.at_end()
                return False
            if now - self._suspects.setdefault(name, now) < SWEEP:  # a copy is empty at first
                self._look_at = min(self._look_at, now + SWEEP / 4)
                return False
        self._suspects.pop(name, None)
        return True

    def _begin(self, log: LogPath, file: TextFile, old: bool, wall: float) -> None:
        """Where a file is read from that is met for the first time."""
        remembered = self._remembered.pop(log.name, None)
        if remembered:
            if not log.go_on(file, remembered):
                self._report(log.name, "partial", "the file that was read before is gone: lines may be missing")
        elif file.offset == 0 and old:
            recent = wall - os.fstat(file.descriptor).st_mtime < RECENT
            file.start_at_end(self._history if recent else 0)
        else:
            log.catching_up = False

    def _report(self, name: str, state: str, reason: str) -> None:
        path = shown_path(name)
        self._reports[path] = SourceReport(path, "unknown", state, reason)
        while len(self._reports) > 4 * REMEMBERED:
            del self._reports[next(iter(self._reports))]
