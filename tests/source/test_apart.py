"""Tables compiled in a process of its own."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from neuronwatch.judge.match import matcher_for, pattern_of
from neuronwatch.judge.match.compile import answer, request
from neuronwatch.judge.match.superset import supersets
from neuronwatch.source import apart as module
from neuronwatch.source.apart import apart

pytest.importorskip("hyperscan")


def test_the_answer_comes_back() -> None:
    asked = request([b"needle", b"\xff\x00caf\xe9"], supersets(r"Model \S{1,60} loaded"), 20)
    made = apart(asked)
    assert made is not None and len(made) == len(answer(asked))


def test_failures_leave_it_to_the_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    assert apart(b"no request") is None
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    assert apart(request([b"needle"], (), 0)) is None
    monkeypatch.setattr(sys, "executable", "")
    assert apart(request([b"needle"], (), 0)) is None


def test_a_program_that_hangs_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "hangs.py").write_text("import time; time.sleep(60)")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(module, "PROGRAM", "hangs")
    monkeypatch.setattr(module, "TIMEOUT", 0.5)
    begun = time.monotonic()
    assert apart(b"") is None
    assert 0.4 < time.monotonic() - begun < 30


def test_a_matcher_compiled_apart_is_the_same() -> None:
    patterns = [pattern_of(0, r"Model \S{1,60} loaded"), pattern_of(1, r"(?i)(?<!prefix )hit rate \d+"), pattern_of(2, r"needle")]
    sample = b"the model is loaded\nPrefix hit rate none\nPrefix hit rate 3\n" * 500
    text = b"needle\nModel qwen loaded\nhit rate 12\nPrefix hit rate 12\nmodel x loaded\n"
    plain = matcher_for(patterns)
    for made in (matcher_for(patterns, None, apart), matcher_for(patterns)):
        lean = made.lean(frozenset(), (), sample)
        assert lean.scan(text, 0) == plain.scan(text, 0)
        assert [hit.pattern_id for hit in lean.lean(frozenset({2})).scan(text, 0)] == [0, 1]
