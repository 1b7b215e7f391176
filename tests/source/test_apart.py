"""Work done by a forked child."""

from __future__ import annotations

import os
import threading

import pytest

from neuronwatch.judge.match import matcher_for, pattern_of
from neuronwatch.source.apart import apart

CHILDREN = hasattr(os, "fork") and threading.active_count() == 1


@pytest.mark.skipif(not CHILDREN, reason="forks only where there is one thread")
def test_the_result_comes_back() -> None:
    home = os.getpid()
    assert apart(lambda: str(os.getpid() != home).encode() * 100_000) == b"True" * 100_000


@pytest.mark.skipif(not CHILDREN, reason="forks only where there is one thread")
def test_failures_leave_it_to_the_caller(capfd: pytest.CaptureFixture[str]) -> None:
    def fails() -> bytes:
        os._exit(3)

    assert apart(fails) is None
    assert apart(lambda: b"") is None


def test_not_with_threads() -> None:
    waiting = threading.Event()
    thread = threading.Thread(target=waiting.wait)
    thread.start()
    try:
        assert apart(lambda: b"x") is None
    finally:
        waiting.set()
        thread.join()


def test_a_matcher_compiled_apart_is_the_same() -> None:
    pytest.importorskip("hyperscan")
    patterns = [pattern_of(0, r"Model \S{1,60} loaded"), pattern_of(1, r"(?i)(?<!prefix )hit rate \d+"), pattern_of(2, r"needle")]
    sample = b"the model is loaded\nPrefix hit rate none\nPrefix hit rate 3\n" * 500
    text = b"needle\nModel qwen loaded\nhit rate 12\nPrefix hit rate 12\nmodel x loaded\n"
    plain = matcher_for(patterns)
    for made in (matcher_for(patterns, None, apart), matcher_for(patterns)):
        lean = made.lean(frozenset(), (), sample)
        assert lean.scan(text, 0) == plain.scan(text, 0)
        assert [hit.pattern_id for hit in lean.lean(frozenset({2})).scan(text, 0)] == [0, 1]
