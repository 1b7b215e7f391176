"""One path that is followed, with all files that are or were behind it, and in which order their lines come."""

from __future__ import annotations

import contextlib
import os
import time
from collections import deque
from collections.abc import Callable, Container, Sequence
from pathlib import Path

from neuronwatch.source.host.root import HostRoot
from neuronwatch.source.live import rotated
from neuronwatch.source.live.positions import Position
from neuronwatch.source.live.text_file import Piece, TextFile
from neuronwatch.source.tree import shown

SILENT = 60.0
"""A renamed file is given up when its successor has lines and it had none for so long,"""
MARGIN = 20_000_000
"""Nanoseconds by which the time of a file may be behind."""
VANISHED = 3600.0
"""and one without a successor when it had none for so long."""
MOST_OPEN = 16
"""Generations of one log that are kept open; in a storm of rotations the oldest are let go before they are silent."""


class LogPath:
    """`files`: the oldest first, the last one is the current. `rests`: what is left of rotated files, to be read before."""

    def __init__(self, root: HostRoot, name: str, known: Callable[[], Container[tuple[int, int]]]) -> None:
        """`known`: the identities of all files that were seen, under any path."""
        self.name = name
        self.shown = shown_path(name)
        self.rests: deque[rotated.Rest] = deque()
        self.files: list[TextFile] = []
        self.catching_up = True
        """What was there before us is read first."""
        self.gone = False
        """Whether no file has this name now."""
        self.failure = ""
        self._root = root
        self._known = known
        self._late: dict[int, str] = {}
        """The paths under which late lines of renamed files come, by descriptor."""
        self._begun_as: deque[Position] = deque(maxlen=8)
        """The same of files that were truncated, or read before us."""

    def heads(self) -> list[Position]:
        """How the files began that were read under this path."""
        return [*(file.position() for file in self.files), *self._begun_as]

    def go_on(self, file: TextFile, remembered: Sequence[Position]) -> bool:
        """Reads on where somebody before us stopped in `file` or in what it was rotated to since. False: that is gone."""
        last_seen = 0
        self._begun_as.extend(remembered)
        names = rotated.candidates(self._root, self.name)
        for position in remembered:
            if (position.device, position.inode) == (file.device, file.inode) and file.resume(position):
                return True
            for name in names:
                if self._go_on_in(name, position):
                    status = self._root.stat(name)
                    last_seen = max(last_seen, status.st_mtime_ns if status is not None else 1)
                    break
        if not last_seen:
            return False
        self._take_between(names, last_seen, file)
        return True

    def add(self, file: TextFile) -> None:
        """`file` is the current one from now on. Whole files between it and the one before may have been renamed before
        anybody saw them."""
        if self.files:
            if file.take_over(self.files[-1]):
                self.files.append(file)
                return
            with contextlib.suppress(OSError):
                last = os.fstat(self.files[-1].descriptor).st_mtime_ns
                self._take_between(rotated.candidates(self._root, self.name), last, file)
        self.files.append(file)

    def _take_between(self, names: Sequence[str], since: int, current: TextFile) -> bool:
        """Takes in, oldest first, whole files that were written since; whether there is one. The current one stays the last."""
        mine = {(item.device, item.inode) for item in (*self.files, current)}
        known, before, found = self._known(), self.files[-1:] == [current], False
        for name in reversed(names):
            status = self._root.stat(name)
            if status is None or status.st_mtime_ns < since:
                continue
            if (status.st_dev, status.st_ino) not in mine and (status.st_dev, status.st_ino) not in known:
                if before:
                    self.files.pop()
                found = self._add_whole(name, current) or found
                if before:
                    self.files.append(current)
        return found

    def _go_on_in(self, name: str, position: Position) -> bool:
        earlier = rotated.same_file(self._root, name, position)
        if earlier is not None:
            self._add_file(earlier, name)
            return True
        if rotated.holds(self._root, name, position):
            self._add_rest(name, position.offset, position.line)
            return True
        return False

    def _add_whole(self, name: str, current: TextFile) -> bool:
        """A rotated file of which nothing was read; False where it was read under another name, and for a copy of the current
        one, be it in the making: that is read where it comes from."""
        descriptor = self._root.open(name)
        if descriptor is None:
            return False
        if rotated.is_packed(descriptor):
            os.close(descriptor)
            if any(rotated.holds(self._root, name, head._replace(offset=head.head_size)) for head in self.heads()):
                return False
            self._add_rest(name, 0, 1)
            return True
        file = TextFile(descriptor, os.fstat(descriptor))
        if any(file.is_copy_of(head) for head in self.heads()) or current.begins_as(file):
            file.close()
            return False
        self._add_file(file, name)
        return True

    def _add_file(self, file: TextFile, name: str) -> None:
        self.files.append(file)
        self._late[file.descriptor] = shown_path(name)

    def _add_rest(self, name: str, offset: int, line: int) -> None:
        rest = rotated.rest_of(self._root, name, offset, line)
        if rest is not None:
            self.rests.append(rest)

    def next_piece(self, limit: int, now: float) -> tuple[str, Piece] | None:
        """The next lines and the path under which they come, oldest files first; None: nothing now."""
        while True:
            if self.rests:
                piece = self.rests[0].read()
                if piece is not None:
                    return shown_path(self.rests[0].path), piece
                self.rests.popleft()
                continue
            found, again = self._from_files(limit, now)
            if not again:
                return found

    def _from_files(self, limit: int, now: float) -> tuple[tuple[str, Piece] | None, bool]:
        for number, file in enumerate(self.files):
            try:
                begun = time.time_ns()
                piece = file.read(limit, now)
                if file.began_anew:
                    self._copied_rest(file)
                    file.restart()
                    return None, True
                if file.unlooked and (piece is not None or file.was_written()):
                    # Before anybody read anything of it, it may have been copied, truncated and written again.
                    if self._take_between(rotated.candidates(self._root, self.name), file.read_at_ns - MARGIN, file):
                        file.restart()  # it comes behind them
                        return None, True
                    if piece is not None:
                        file.unlooked, file.read_at_ns = False, begun
            except OSError as error:
                self.failure = (error.strerror or str(error)).lower()
                continue
            if piece is not None:
                self.failure = ""
                return self._placed(number, piece), False
        return None, False

    def _placed(self, number: int, piece: Piece) -> tuple[str, Piece]:
        """A piece of one of the files, with the path under which it comes."""
        file = self.files[number]
        known = self._late.get(file.descriptor)
        if known is not None:
            return known, piece
        if all(later.fresh for later in self.files[number + 1 :]):
            return self.shown, piece
        self._late[file.descriptor] = known = self._name_now(file)
        return known, piece._replace(fresh=True)

    def _name_now(self, file: TextFile) -> str:
        """The path of a renamed file."""
        with contextlib.suppress(OSError):
            name = str(Path(f"/proc/self/fd/{file.descriptor}").readlink())
            root = os.path.abspath(self._root.path)
            inside = name if root == "/" else name[len(root) :] if name.startswith(root + "/") else ""
            if inside and not inside.endswith(" (deleted)") and inside != self.name:
                return shown_path(inside)
        return f"{self.shown} (renamed)"

    def _copied_rest(self, file: TextFile) -> None:
        """A file was truncated: what was not read of it may be in a copy that was made before."""
        place = file.position()
        self._begun_as.append(place)
        for name in rotated.candidates(self._root, self.name):
            if rotated.holds(self._root, name, place, file.anchor):
                self._add_rest(name, place.offset, place.line)
                return

    @property
    def seen(self) -> int:
        """A number that changes when a read found something, be it only a part of a line."""
        return sum(file.size for file in self.files)

    @property
    def dry(self) -> bool:
        """Whether it is known, without another read, that there is nothing more."""
        return not self.rests and len(self.files) == 1 and self.files[0].dry

    def silent(self, now: float) -> list[TextFile]:
        """Files that nobody writes to any more, and those too many that were rotated away and are read to their ends."""
        found = []
        for place, file in enumerate(self.files):
            if file.changed_at == float("-inf"):
                file.changed_at = now
            silence = now - file.changed_at
            if file is self.files[-1]:
                over = self.gone and silence > VANISHED
            else:
                over = silence > (VANISHED if self.files[-1].fresh else SILENT) or place < len(self.files) - MOST_OPEN
            if over and not grew(file):
                found.append(file)
        return found

    def remove(self, file: TextFile) -> None:
        self._begun_as.append(file.position())
        self.files.remove(file)
        self._late.pop(file.descriptor, None)
        file.close()

    def close(self) -> None:
        for file in self.files:
            file.close()
        for rest in self.rests:
            rest.close()


def grew(file: TextFile) -> bool:
    try:
        return file.grew()
    except OSError:
        return False


def shown_path(name: str) -> str:
    """The path of a file of the host as evidence shows it."""
    return f"host:{shown(name)}"
