"""Line numbers of big files are byte offsets until somebody wants to see them; here they are counted."""

from __future__ import annotations

import itertools
import os
import stat
from collections.abc import Iterable

from neuronwatch.judge.match.confirm import line_text
from neuronwatch.model.dataclass import replace
from neuronwatch.model.diagnosis import Diagnosis, Finding
from neuronwatch.model.records import MAX_TEXT, Origin
from neuronwatch.source.lines import OFFSET_BASE
from neuronwatch.source.streams import File

BLOCK = 1024 * 1024
LONGEST = 64 * 1024


class Numbering:
    """Knows the files whose lines carry offsets."""

    def __init__(self) -> None:
        self._places: dict[str, str] = {}

    def remember(self, path: str, place: str) -> None:
        """The evidence shown as `path` is the file `place`."""
        self._places[path] = place

    def resolve(self, path: str, number: int | None) -> int | None:
        """The 1-based line number for the `number` of a Line; None when the file is gone or shorter now."""
        return self.resolve_all(path, [number])[0]

    def resolve_all(self, path: str, numbers: Iterable[int | None]) -> list[int | None]:
        """The same for several lines of one file, which is read once up to the last of them."""
        wanted = list(numbers)
        offsets = sorted({number - OFFSET_BASE for number in wanted if number is not None and number >= OFFSET_BASE})
        if not offsets:
            return wanted
        known = self._count(self._places.get(path), offsets)
        return [number if number is None or number < OFFSET_BASE else known.get(number - OFFSET_BASE) for number in wanted]

    def numbered(self, diagnosis: Diagnosis) -> Diagnosis:
        """The diagnosis with the true line numbers in its evidence, and with the texts of lines that were not kept."""
        by_path: dict[str, set[int]] = {}
        for finding in diagnosis.findings:
            for origin in finding.evidence:
                if origin.line is not None and (origin.line >= OFFSET_BASE or not origin.text):
                    by_path.setdefault(origin.path, set()).add(origin.line)
        if not by_path:
            return diagnosis
        known: dict[tuple[str, int], tuple[int | None, str]] = {}
        for path, lines in by_path.items():
            ordered = sorted(lines)
            for line, number in zip(ordered, self.resolve_all(path, ordered), strict=True):
                known[path, line] = (number, self._text(path, line))

        def fixed(origin: Origin) -> Origin:
            if (origin.path, origin.line or 0) not in known:
                return origin
            number, text = known[origin.path, origin.line or 0]
            return replace(origin, line=number, text=origin.text or text)

        def told(finding: Finding) -> Finding:
            return replace(finding, evidence=tuple(fixed(origin) for origin in finding.evidence))

        return replace(diagnosis, findings=tuple(told(finding) for finding in diagnosis.findings))

    def _text(self, path: str, line: int) -> str:
        """The text of a line, by its number or offset; "" where it cannot be had."""
        place = self._places.get(path)
        if place is None:
            return ""
        try:
            with os.fdopen(_opened(place), "rb") as handle:
                if line >= OFFSET_BASE:
                    handle.seek(line - OFFSET_BASE)
                else:
                    for _ in itertools.islice(handle, line - 1):
                        pass
                return line_text(handle.readline(LONGEST).split(b"\r", 1)[0].rstrip(b"\n"))[:MAX_TEXT]
        except OSError:
            return ""

    @staticmethod
    def _count(place: str | None, offsets: list[int]) -> dict[int, int]:
        """The number of the line at each of the rising offsets."""
        found: dict[int, int] = {}
        if place is None:
            return found
        try:
            descriptor = _opened(place)
            with os.fdopen(descriptor, "rb", buffering=0):
                size = os.fstat(descriptor).st_size
                file = File(descriptor, size, hasattr(os, "SEEK_DATA"))
                at, number, block = 0, 1, b""
                base = 0  # offset of block[0]
                for offset in offsets:
                    while base + len(block) < offset:
                        number += block.count(b"\n", max(0, at - base))
                        block = file.read(BLOCK)
                        if not block:
                            return found
                        at = base = file.place - len(block)  # behind a hole, which has no lines
                    if offset >= base:
                        number += block.count(b"\n", at - base, offset - base)
                        at = offset
                    found[offset] = number
        except OSError:
            pass
        return found


def _opened(place: str) -> int:
    """A descriptor of a regular file: a pipe that took its place since it was read is not waited for."""
    descriptor = os.open(place, os.O_RDONLY | os.O_CLOEXEC | getattr(os, "O_NONBLOCK", 0))
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    raise OSError("not a regular file any more")


NUMBERING = Numbering()
"""Of the evidence read in this process."""
