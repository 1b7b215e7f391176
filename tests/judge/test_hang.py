"""A hang, and what only looks like one: hours of a slow healthy job on a simulated clock."""

from __future__ import annotations

import pytest

from neuronwatch.judge.detectors.hang import LIMITS, Signs, stalled

HOUR = 3600.0


def signs(phase: str, **more: object) -> Signs:
    return Signs(phase, 0.0, 0.0, 0.0)._replace(**more)  # type: ignore[arg-type]


@pytest.mark.parametrize("phase", [phase for phase, limit in LIMITS.items() if limit is not None])
def test_nothing_moves_for_longer_than_the_limit(phase: str) -> None:
    limit = LIMITS[phase]
    assert limit is not None and limit >= 1800.0
    assert stalled(signs(phase), limit - 1) is None
    found = stalled(signs(phase), limit + 1)
    assert found is not None and (found.phase, found.limit) == (phase, limit)


def test_a_long_compile_is_never_a_hang() -> None:
    assert stalled(signs("compile", compilers=1), 24 * HOUR) is None
    assert stalled(signs("step", compilers=2), 24 * HOUR) is None
    assert stalled(signs("compile"), 24 * HOUR) is not None


def test_who_waits_for_a_lock_whose_holder_lives_does_not_hang() -> None:
    assert stalled(signs("compile", waits="lock of pid 7"), 24 * HOUR) is None


@pytest.mark.parametrize("phase", ["data", "load", "trace", "checkpoint", "warmup", "import"])
def test_work_without_a_word_is_work_while_data_is_prepared(phase: str) -> None:
    assert stalled(signs(phase, worked=10 * HOUR - 60), 10 * HOUR) is None


def test_in_a_step_processor_time_is_no_move() -> None:
    assert stalled(signs("step", worked=HOUR), HOUR) is not None


def test_what_cannot_be_seen_is_no_hang() -> None:
    assert stalled(signs("data", worked=None), 10 * HOUR) is None


def test_a_gap_that_went_on_before_is_none_now() -> None:
    assert stalled(signs("step", longest=1500.0), 4000.0) is None
    assert stalled(signs("step", longest=1500.0), 4600.0) is not None


def test_a_spec_may_set_its_own_limits() -> None:
    assert stalled(signs("step"), 61.0, {"step": 60.0}) is not None
    assert stalled(signs("step"), 9 * HOUR, {"step": None}) is None
    assert stalled(signs("serve"), 99 * HOUR) is None


def test_a_slow_healthy_job_is_left_alone() -> None:
    """Data for 50 minutes of work, a compile of three hours, steps of 20 minutes with an evaluation of 28: no word of a hang."""
    clock = 0.0

    def silent(phase: str, seconds: float, works: bool, compilers: int = 0) -> None:
        nonlocal clock
        began = clock
        for minute in range(int(seconds // 60)):
            now = began + 60.0 * minute
            seen = Signs(phase, began, began, now if works else began, compilers)  # type: ignore[arg-type]
            assert stalled(seen, now) is None, (phase, minute)
        clock += seconds

    silent("import", 900, True)
    silent("data", 3000, True)
    silent("load", 2400, True)
    silent("compile", 3 * HOUR, True, 1)
    silent("warmup", 5400, False)
    for _ in range(5):
        silent("step", 1200, True)
    silent("evaluate", 1680, True)
    silent("checkpoint", 2400, True)
    silent("serve", 48 * HOUR, False)
