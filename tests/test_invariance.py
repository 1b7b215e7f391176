"""One engine: neither the order of files, nor chunking, nor a bundle in between changes what is found."""

from __future__ import annotations

import pytest
from case_support import CASES, NAMES, diagnose, essence, items, judge, rules

from neuronwatch.collect import bundle, pieces
from neuronwatch.judge import engine
from neuronwatch.judge.state import State
from neuronwatch.source import chunks


def by_file(evidence):
    """Evidence in groups of one file."""
    groups, current, last = [], [], None
    for item in evidence:
        path = _path(item)
        if path != last and current:
            groups.append(current)
            current = []
        current.append(item)
        last = path
    return [*groups, current]


def _path(item):
    if hasattr(item, "line"):
        return item.line.path
    if hasattr(item, "lines"):
        return item.lines[0].path
    if hasattr(item, "document"):
        return item.document.path
    return getattr(item, "path", "")


@pytest.mark.parametrize("name", NAMES[::2])
def test_order_of_files(name):
    evidence = items(CASES / name / "evidence")
    expected = essence(judge(evidence))
    backwards = [item for group in reversed(by_file(evidence)) for item in group]
    assert essence(judge(backwards)) == expected


@pytest.mark.parametrize("name", NAMES[::8])
def test_live_path(name):
    """Concluding after every batch, as the daemon does, leads to the same end."""
    state = State()
    for group in by_file(items(CASES / name / "evidence")):
        engine.observe(state, group, rules())
        live = engine.conclude(state, rules())
    assert essence(live) == essence(diagnose(CASES / name / "evidence"))


@pytest.mark.parametrize("name", NAMES[::5])
def test_chunking(name, monkeypatch):
    expected = essence(diagnose(CASES / name / "evidence"))
    monkeypatch.setattr(chunks, "CHUNK", 8192)
    monkeypatch.setattr(chunks, "CONTEXT", 4096)
    assert essence(diagnose(CASES / name / "evidence")) == expected


@pytest.mark.parametrize("name", NAMES[1::2])
def test_bundle_says_the_same(name, tmp_path):
    """collect, then diagnose of the bundle: equal findings (redaction may change the text, never the judgement)."""
    caps = bundle.Caps()
    target = tmp_path / "bundle.tar.gz"
    facts, notes = [], []
    bundle.write(target, pieces.of_directory(CASES / name / "evidence", caps, facts, notes), facts, caps, notes=notes)
    expected = essence(diagnose(CASES / name / "evidence"))
    assert essence(diagnose(target), strip="bundle.tar.gz!evidence/") == expected
