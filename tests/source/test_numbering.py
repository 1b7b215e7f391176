"""Line numbers and texts that are looked up at the end."""

from __future__ import annotations

from pathlib import Path

from reading_support import FAULT, matches, read

from neuronwatch.model.diagnosis import Diagnosis, Finding
from neuronwatch.model.records import Origin
from neuronwatch.source.limits import Limits
from neuronwatch.source.lines import OFFSET_BASE
from neuronwatch.source.numbering import NUMBERING


def finding(*evidence: Origin) -> Finding:
    return Finding("x.y", "", "note", "info", 0.5, "title", "cause", evidence=evidence)


def test_offsets_become_numbers_and_texts(tmp_path: Path) -> None:
    path = tmp_path / "n.log"
    path.write_text("".join(f"line {n}\n" for n in range(1, 5000)) + f"{FAULT}\n")
    ((_, shown, number),) = matches(read(path, limits=Limits(number_at_once=0)))
    assert number is not None and number > OFFSET_BASE
    place = len("".join(f"line {n}\n" for n in range(1, 700)))
    given = Diagnosis("unknown", (finding(
        Origin(shown, number, FAULT), Origin(shown, OFFSET_BASE + place), Origin(shown, 12), Origin(shown, 13, "kept"), Origin("other", 3)
    ),))  # fmt: skip
    (told,) = NUMBERING.numbered(given).findings
    assert told.evidence == (
        Origin(shown, 5000, FAULT), Origin(shown, 700, "line 700"), Origin(shown, 12, "line 12"), Origin(shown, 13, "kept"),
        Origin("other", 3),
    )  # fmt: skip


def test_a_file_that_is_gone_has_no_number(tmp_path: Path) -> None:
    path = tmp_path / "gone.log"
    path.write_text("x\n" * 10)
    read(path)
    path.unlink()
    assert NUMBERING.resolve("gone.log", OFFSET_BASE + 4) is None
    assert NUMBERING.resolve("never read", OFFSET_BASE) is None
    assert NUMBERING.resolve("gone.log", 7) == 7
    assert NUMBERING.resolve("gone.log", None) is None
