"""Line numbers of big files are byte offsets until somebody wants to see them; here they are counted."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from neuronwatch.model.diagnosis import Diagnosis, Finding
from neuronwatch.model.records import Origin
from neuronwatch.source.lines import OFFSET_BASE

BLOCK = 1024 * 1024


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
        return [
            number if number is None or number < OFFSET_BASE else known.get(number - OFFSET_BASE) for number in wanted
        ]

    def numbered(self, diagnosis: Diagnosis) -> Diagnosis:
        """The diagnosis with the true line numbers in its evidence."""
        by_path: dict[str, set[int]] = {}
        for finding in diagnosis.findings:
            for origin in finding.evidence:
                if origin.line is not None and origin.line >= OFFSET_BASE:
                    by_path.setdefault(origin.path, set()).add(origin.line)
        if not by_path:
            return diagnosis
        known: dict[tuple[str, int], int | None] = {}
        for path, lines in by_path.items():
            ordered = sorted(lines)
            known.update(((path, line), number) for line, number in zip(ordered, self.resolve_all(path, ordered), strict=True))

        def fixed(origin: Origin) -> Origin:
            key = (origin.path, origin.line or 0)
            return dataclasses.replace(origin, line=known[key]) if key in known else origin

        def told(finding: Finding) -> Finding:
            return dataclasses.replace(finding, evidence=tuple(fixed(origin) for origin in finding.evidence))

        return dataclasses.replace(diagnosis, findings=tuple(told(finding) for finding in diagnosis.findings))

    @staticmethod
    def _count(place: str | None, offsets: list[int]) -> dict[int, int]:
        """The number of the line at each of the rising offsets."""
        found: dict[int, int] = {}
        if place is None:
            return found
        try:
            with open(place, "rb", buffering=0) as handle:
                at, number, block = 0, 1, b""
                base = 0  # offset of block[0]
                for offset in offsets:
                    while base + len(block) < offset:
                        number += block.count(b"\n", at - base)
                        base += len(block)
                        at = base
                        block = handle.read(BLOCK)
                        if not block:
                            return found
                    number += block.count(b"\n", at - base, offset - base)
                    at = offset
                    found[offset] = number
        except OSError:
            pass
        return found


NUMBERING = Numbering()
"""Of the evidence read in this process."""
