"""A recording of a case is judged as the case itself."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from case_support import CASES, NAMES, diagnose, essence
from live_case_support import deliveries

from neuronwatch.model.diagnosis import SourceReport
from neuronwatch.model.live import Delivery, Whole
from neuronwatch.store.capture import Recorder
from neuronwatch.store.recording import Recording

SOME = random.Random(3).sample(NAMES, 12)
BEGIN = 1_780_000_000.0


def recorded(directory: Path, target: Path, seed: object) -> list[Delivery]:
    """Records a case as live sources deliver it and returns the deliveries."""
    recorder, given, reports = Recorder(target, BEGIN, threaded=False), [], []
    for number, item in enumerate(deliveries(directory, random.Random(f"{seed}"))):
        time = BEGIN + number / 3
        if isinstance(item, SourceReport):
            reports.append(item)
            given.append(Delivery("files", time, reports=tuple(reports)))
        elif isinstance(item, Whole):
            given.append(Delivery("files", time, wholes=(item,)))
        else:
            given.append(Delivery("logs", time, appended=(item,)))
        recorder.add(given[-1])
    recorder.close()
    return given


def judged(target: Path, case: Path) -> tuple[list[tuple[object, ...]], list[tuple[object, ...]]]:
    """Findings of recording and case, both with the case's own paths, without the order of equally good ones."""
    manifest = json.loads((target / "manifest.json").read_bytes())
    original = {item["path"]: item["original"] for item in manifest["files"]}
    found = [(*rest, original.get(str(path), path), line) for *rest, path, line in essence(diagnose(target))]
    return sorted(found, key=repr), sorted(essence(diagnose(case)), key=repr)


def check(name: str, target: Path, seed: object) -> None:
    case = CASES / name / "evidence"
    given = recorded(case, target, seed)
    assert list(Recording(target).play()) == given
    of_recording, of_case = judged(target, case)
    assert of_recording == of_case


@pytest.mark.parametrize("name", SOME)
def test_a_recording_is_judged_as_the_case(name, tmp_path):
    check(name, tmp_path / "r", name)
