"""When a run that ended is started again."""

from __future__ import annotations

from neuronwatch.model.job import Exit
from neuronwatch.supervise.restarts import MOST, Again, Ended, Enough, after

FAILED, KILLED, DONE = Exit(1, None, 0.0), Exit(None, 9, 0.0), Exit(0, None, 0.0)


def test_what_is_done_or_was_told_to_end_stays_so():
    assert isinstance(after([Ended(DONE, 5)], "act"), Enough)
    assert isinstance(after([Ended(KILLED, 500, asked=True)], "act"), Enough)
    assert isinstance(after([Ended(FAILED, 500)], "observe"), Enough) and isinstance(after([Ended(FAILED, 500)], "ask"), Enough)


def test_the_first_restart_is_at_once_and_twice_the_same_before_a_step_is_enough():
    assert after([Ended(FAILED, 2)], "act") == Again(0.0, "status 1")
    assert isinstance(after([Ended(FAILED, 2), Ended(FAILED, 2)], "act"), Enough)
    assert isinstance(after([Ended(FAILED, 2), Ended(KILLED, 2)], "act"), Again)
    assert isinstance(after([Ended(FAILED, 900, stepped=False), Ended(FAILED, 900, stepped=False)], "act"), Enough)


def test_steps_between_forgive_and_fruitless_ones_wait_longer():
    stepped = Ended(FAILED, 3, stepped=True)
    assert after([stepped] * 50, "act") == Again(0.0, "status 1")
    turns = [Ended(FAILED if number % 2 else KILLED, 2) for number in range(MOST + 1)]
    delays = [after(turns[: number + 1], "act") for number in range(len(turns))]
    assert [item.delay for item in delays[:4]] == [0.0, 1.0, 2.0, 4.0] and isinstance(delays[-1], Enough)


def test_a_status_that_nobody_knows_is_no_success():
    assert not Exit(None, None, 0.0).ok and Exit(None, None, 0.0).code == 125
