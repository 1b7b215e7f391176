"""Polls, health and recovery of sources: with a clock that the test sets, and with real threads and descriptors."""

from __future__ import annotations

import contextlib
import itertools
import os
import select
import threading

import pytest
from source_support import EPOCH, Made, RealClock, SetClock, alive, health, turned_until, until

from neuronwatch.model.live import Delivery, Reading
from neuronwatch.source.live.api import Absent, Broken, Now
from neuronwatch.source.live.runner import PATIENT, TOGETHER, Runner


def run(runner: Runner, clock: SetClock, seconds: float, step: float = 0.5) -> None:
    end = clock.at + seconds
    while clock.at < end:
        clock.at += step
        runner.turn(clock.now())


def test_polls_on_its_grid_and_makes_up_for_nothing() -> None:
    clock, times = SetClock(), []
    runner = Runner([Made(lambda now: times.append(now.mono) or alive(now), interval=2.0)], clock, lambda _: None)
    run(runner, clock, 5.0)
    assert times == [100.5, 102.0, 104.0]
    assert runner.next_due() == 106.0 + PATIENT
    clock.at = 1000.7
    runner.turn(clock.now())
    assert times[3:] == [1000.7]
    assert runner.next_due() == 1002.0 + PATIENT
    runner.close()


@pytest.mark.parametrize("begin", [100.1, 100.37, 100.7, 100.97])
def test_what_is_read_each_second_is_read_when_a_tool_speaks_that_tells_readings(begin: float) -> None:
    """One wake takes all along, at whatever moment of the second it speaks, and goes on doing so though its second is another one."""
    clock, times = SetClock(), []
    read_end, write_end = os.pipe()
    os.set_blocking(read_end, False)

    def spoken(now: Now) -> Delivery | None:
        with contextlib.suppress(BlockingIOError):
            return Delivery("tool", now.wall, [Reading("x", "", 1.0)]) if os.read(read_end, 100) else None
        return None

    tool = Made(spoken, interval=4.0, name="tool")
    tool.watched = [read_end]
    slower = Made(alive, interval=5.0, budget=15.0, name="slower")
    often = Made(lambda now: times.append(now.mono) or alive(now), interval=1.0)
    runner = Runner([often, slower, tool], clock, lambda _: None)
    runner.turn(clock.now())
    turns, told = 0, begin
    while clock.at < 300.0:
        clock.at = min(runner.next_due(), told)
        if clock.at == told:
            os.write(write_end, b"x")
            told += 1.004
        runner.turn(clock.now())
        turns += 1
    assert turns < 208, turns  # each on its own would be 440
    gaps = [after - before for before, after in itertools.pairwise(times)]
    assert min(gaps) > 0.5 and max(gaps) < 1.51 and 198 <= len(times) <= 202
    assert max(gaps[3:]) < 1.06
    runner.close()
    for descriptor in (read_end, write_end):
        os.close(descriptor)


def test_a_tool_that_speaks_more_often_makes_nobody_be_read_more_often() -> None:
    clock, times = SetClock(), []
    read_end, write_end = os.pipe()
    os.write(write_end, b"x")  # readable for ever
    tool = Made(lambda now: Delivery("tool", now.wall, [Reading("x", "", 1.0)]), interval=0.0, name="tool")
    tool.watched = [read_end]
    runner = Runner([Made(lambda now: times.append(now.mono) or alive(now)), tool], clock, lambda _: None)
    run(runner, clock, 100.0, step=0.5)
    assert 99 <= len(times) <= 101
    runner.close()
    for descriptor in (read_end, write_end):
        os.close(descriptor)


@pytest.mark.parametrize("hung", [False, True])
def test_threads_asked_in_one_turn_are_taken_in_one_turn_and_none_waits_for_a_hung_one(hung: bool) -> None:
    clock, taken, gate, free = SetClock(), [], threading.Event(), {"a", "b", "c"}
    sources = [Made(lambda now, name=name: Delivery(name, now.wall), name=name, blocking=True) for name in sorted(free)]
    slow = Made(lambda now: Delivery("slow", now.wall) if gate.wait(30) else None, name="slow", blocking=True)
    runner = Runner([*sources, slow], clock, lambda item: taken.append(item.source))
    runner.turn(clock.now())
    until(lambda: len(runner._results) == 3)
    assert not select.select([runner.fileno()], [], [], 0.0)[0]
    assert runner.next_due() == clock.at + TOGETHER
    if hung:
        clock.at += TOGETHER
        runner.turn(clock.now())
        assert {*taken} == free
    gate.set()
    assert select.select([runner.fileno()], [], [], 10.0)[0]
    runner.turn(clock.now())
    assert {*taken} == {*free, "slow"}
    assert runner.next_due() == 101.0 + PATIENT
    runner.close()


def test_starting_fresh_stale_and_fresh_again() -> None:
    clock, given, taken = SetClock(), [True], []
    runner = Runner([Made(lambda now: alive(now) if given[0] else None, mandatory=True)], clock, taken.append)
    assert (health(runner).state, health(runner).last, health(runner).mandatory) == ("starting", None, True)
    runner.turn(clock.now())
    assert (health(runner).state, health(runner).last) == ("fresh", EPOCH + 100)
    given[0] = False
    run(runner, clock, 5.0)
    assert health(runner).state == "fresh"  # within its budget
    run(runner, clock, 0.5)
    stale = health(runner)
    assert (stale.state, stale.since, stale.last) == ("stale", EPOCH + 105.5, EPOCH + 100)
    assert stale.reason == "nothing came within 5 s"
    given[0] = True
    run(runner, clock, 1.0)
    assert (health(runner).state, health(runner).reason) == ("fresh", "")
    runner.close()


def test_one_that_never_delivers_does_not_start_for_ever() -> None:
    clock = SetClock()
    runner = Runner([Made(lambda now: None)], clock, lambda _: None)
    run(runner, clock, 4.0)
    assert health(runner).state == "starting"
    run(runner, clock, 2.0)
    assert health(runner).state == "stale"
    runner.close()


@pytest.mark.parametrize(
    ("error", "state", "reason"),
    [
        (Absent("no tool\n  here"), "missing", "no tool here"),
        (Broken("garbage"), "failed", "garbage"),
        (KeyError("x"), "failed", "a defect of neuronwatch: KeyError: 'x'"),
    ],
)
def test_retries_grow_to_thirty_seconds_and_it_recovers(error: Exception, state: str, reason: str) -> None:
    clock, times, down = SetClock(), [], [True]

    def read(now: Now) -> Delivery:
        times.append(now.mono)
        if down[0]:
            raise error
        return alive(now)

    runner = Runner([Made(read, interval=60.0, budget=90.0)], clock, lambda _: None)
    run(runner, clock, 150.0)
    gaps = [after - before for before, after in itertools.pairwise(times)]
    assert gaps == [1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0, 30.0]
    assert (health(runner).state, health(runner).reason, health(runner).since) == (state, reason, EPOCH + 100.5)
    down[0] = False
    run(runner, clock, 30.0)
    assert (health(runner).state, health(runner).reason) == ("fresh", "")
    run(runner, clock, 120.0)
    assert (health(runner).state, times[-1] - times[-2]) == ("fresh", 60.0)
    runner.close()


def test_flapping_is_said_while_up_and_while_down() -> None:
    clock, count = SetClock(), [0]

    def read(now: Now) -> Delivery:
        count[0] += 1
        if count[0] % 2:
            raise Broken("again")
        return alive(now)

    runner = Runner([Made(read)], clock, lambda _: None)
    seen = set()
    for _ in range(20):
        run(runner, clock, 0.5)
        seen.add((health(runner).state, health(runner).reason))
    words = "flapping: 3 outages within 5 minutes"
    assert {("fresh", words), ("failed", f"{words}; again"), ("failed", "again"), ("fresh", "")} == seen
    count[0] = 0
    runner._runs[0].source.read = alive  # type: ignore[attr-defined]
    run(runner, clock, 400.0)
    assert health(runner).reason == ""
    runner.close()


def test_a_hung_read_is_stale_with_the_time_and_comes_back() -> None:
    clock, gate, polls, taken = SetClock(), threading.Event(), [], []

    def read(now: Now) -> Delivery:
        polls.append(now)
        if len(polls) == 2:
            gate.wait(20.0)
        return alive(now)

    other = Made(lambda now: Delivery("other", now.wall), name="other")
    runner = Runner([Made(read, blocking=True), other], clock, taken.append)
    turned_until(runner, clock, lambda: health(runner).state == "fresh")
    clock.at += 1.0
    runner.turn(clock.now())
    until(lambda: len(polls) == 2)
    run(runner, clock, 5.5)
    stale = health(runner)
    assert stale.state == "stale"
    assert stale.reason == "a read that began at 14:15:01 UTC has not come back"
    assert health(runner, "other").state == "fresh"
    run(runner, clock, 100.0)
    assert len(polls) == 2  # no second one
    assert len([item for item in taken if item.source == "other"]) > 90
    gate.set()
    turned_until(runner, clock, lambda: health(runner).state == "fresh")
    runner.close()


def test_close_does_not_wait_for_a_hung_read_but_closes_the_others() -> None:
    clock, gate, hanging = RealClock(), threading.Event(), threading.Event()

    def hang(now: Now) -> Delivery:
        hanging.set()
        gate.wait(20.0)
        return alive(now)

    hung, free, plain = Made(hang, name="hung", blocking=True), Made(alive, name="free", blocking=True), Made(alive, name="plain")
    runner = Runner([hung, free, plain], clock, lambda _: None)
    turned_until(runner, clock, lambda: health(runner, "free").state == "fresh" and hanging.is_set())
    runner.close()
    assert (hung.closed, free.closed, plain.closed) == (0, 1, 1)
    gate.set()
    until(lambda: hung.closed)  # in its own thread, when the read came back


@pytest.mark.parametrize("blocking", [False, True])
def test_a_readable_descriptor_is_polled_at_once(blocking: bool) -> None:
    read_end, write_end = os.pipe()
    os.set_blocking(read_end, False)
    clock, taken = RealClock(), []

    def read(now: Now) -> Delivery | None:
        try:
            data = os.read(read_end, 100)
        except BlockingIOError:
            return None
        return Delivery("made", now.wall, reports=(data,))  # type: ignore[arg-type]

    source = Made(read, interval=0.0, blocking=blocking)
    source.watched = [read_end]
    runner = Runner([source], clock, taken.append)
    for number in (b"1", b"2", b"3"):
        turned_until(runner, clock, lambda: runner._runs[0].watched)
        while select.select([runner.fileno()], [], [], 0.02)[0]:
            runner.turn(clock.now())
        os.write(write_end, number)
        assert select.select([runner.fileno()], [], [], 10.0)[0]
        turned_until(runner, clock, lambda number=number: taken and taken[-1].reports == (number,))
    runner.close()
    os.close(read_end)
    os.close(write_end)


def test_a_source_that_fails_on_its_descriptor_does_not_spin() -> None:
    read_end, write_end = os.pipe()
    os.close(write_end)  # readable for ever: end of file
    clock, polls = SetClock(), []

    def read(now: Now) -> Delivery:
        polls.append(now)
        raise Broken("ended")

    source = Made(read, interval=0.0)
    source.watched = [read_end]
    runner = Runner([source], clock, lambda _: None)
    for _ in range(50):
        runner.turn(clock.now())
    assert len(polls) == 1
    assert not select.select([runner.fileno()], [], [], 0.0)[0]
    assert runner.next_due() == 101.0
    runner.close()
    os.close(read_end)


def test_a_descriptor_number_that_stands_for_a_new_file_is_watched() -> None:
    clock, taken = SetClock(), []
    ends = list(os.pipe())
    source = Made(lambda now: taken.append(now), interval=1.0)
    source.watched = [ends[0]]
    runner = Runner([source], clock, lambda _: None)
    runner.turn(clock.now())
    number = ends[0]
    os.close(ends[0])
    os.close(ends[1])
    ends = list(os.pipe())
    os.dup2(ends[0], number)
    clock.at += 1.0
    runner.turn(clock.now())
    before = len(taken)
    os.write(ends[1], b"x")
    assert select.select([runner.fileno()], [], [], 5.0)[0]
    runner.turn(clock.now())
    assert len(taken) == before + 1
    runner.close()
    for descriptor in {*ends, number}:
        os.close(descriptor)


def test_at_accelerated_time_a_blink_is_not_stale() -> None:
    clock = SetClock(rate=1000.0)
    runner = Runner([Made(lambda now: None)], clock, lambda _: None)
    run(runner, clock, 1500.0, step=100.0)  # 1.5 s of the machine
    assert health(runner).state == "starting"
    run(runner, clock, 700.0, step=100.0)
    assert health(runner).state == "stale"
    runner.close()


def test_two_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="two sources are called made"):
        Runner([Made(alive), Made(alive)], SetClock(), lambda _: None)


def test_a_loop_that_was_stopped_blames_no_source() -> None:
    """After SIGSTOP, or without a processor for a while: who could not be heard was not silent."""
    clock, gate = SetClock(), threading.Event()
    gate.set()
    slow = Made(lambda now: alive(now) if gate.wait(30) else None, name="slow", blocking=True)
    runner = Runner([slow, Made(alive)], clock, lambda _: None)
    until(lambda: runner.turn(clock.now()) or all(item.state == "fresh" for item in runner.health()))
    clock.at += 1.0
    gate.clear()
    runner.turn(clock.now())  # asks the slow one
    clock.at += 600.0
    runner.turn(clock.now())
    assert [item.state for item in runner.health()] == ["fresh", "fresh"]
    run(runner, clock, 6.0)  # now somebody looks, and it is silent still
    assert [item.state for item in runner.health()] == ["stale", "fresh"]
    gate.set()
    runner.close()
