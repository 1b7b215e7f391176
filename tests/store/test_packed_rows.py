"""What the ring packed says the same as what it was given: through gaps, other shapes, clocks set back, and age."""

from __future__ import annotations

from array import array

from hypothesis import given, settings
from hypothesis import strategies as st

from neuronwatch.model.live import Reading
from neuronwatch.store.packed_rows import ROWS, Frame, Pack
from neuronwatch.store.ring import Ring

T0 = 1_700_000_000.0
METRICS = ("core.utilization", "core.executions")  # of 4 and of 8 bytes


def told(second: int, cores: int, absent: bool) -> list[Reading]:
    values = [None if absent and core == second % cores else float((second * 7 + core) % 101) for core in range(cores)]
    reason = "no runtime"
    return [
        Reading(m, f"nd0:nc{core}", value, "" if value is not None else reason)
        for m in METRICS
        for core, value in enumerate(values)
    ]


def columns(ring: Ring, metric: str, since: float = 0.0):
    series = ring.series(metric, since=since)
    return (
        list(series.times),
        {name: [None if v != v else v for v in column] for name, column in series.columns.items()},
        series.absences,
    )


@settings(deadline=None, max_examples=20)
@given(st.lists(st.tuples(st.integers(1, 90), st.integers(1, 3), st.booleans()), min_size=1, max_size=8), st.integers(0, 500))
def test_a_packed_ring_says_what_it_was_told(parts, since):
    ring, rows, second = Ring(minutes=15), [], 0
    for count, cores, absent in parts:
        for _ in range(count):
            rows.append((second, cores, absent))
            ring.add(told(second, cores, absent), T0 + second, "s")
            second += 1
    wanted = [row for row in rows if row[0] > since]
    times, found, absences = columns(ring, METRICS[0], T0 + since)
    assert times == [T0 + when for when, _, _ in wanted]
    for core in range(max((cores for _, cores, _ in wanted), default=0)):
        expected = [told(when, cores, absent)[core].value if core < cores else None for when, cores, absent in wanted]
        assert found[f"nd0:nc{core}"] == expected
        missing = sum(item.last - item.first + 1 for item in absences.get(f"nd0:nc{core}", ()))
        assert missing == expected.count(None)
    assert columns(ring, METRICS[1], T0 + since)[0] == times


def test_a_clock_that_is_set_back_far_takes_packed_rows_with_it():
    ring = Ring()
    for second in range(10 * ROWS):
        ring.add(told(second, 2, False), T0 + second)
    ring.add(told(0, 2, False), T0 + 100.5)
    times = list(ring.series(METRICS[0]).times)
    assert times[-1] == T0 + 105  # what came within the disorder of two sources stays
    assert times == sorted({*(T0 + second for second in range(106)), T0 + 100.5})


def test_age_and_number_bound_what_is_packed():
    ring = Ring(minutes=5)
    for second in range(900):
        ring.add(told(second, 2, False), T0 + second)
    assert list(ring.series(METRICS[0]).times) == [T0 + second for second in range(599, 900)]
    for row in range(4000):
        ring.add(told(row, 2, False), T0 + 900 + row / 1000)
    assert len(ring.series(METRICS[0]).times) <= 5 * 60 * 4


def test_a_pack_keeps_every_bit():
    odd = array("d", [float("nan"), -0.0, 1e308, 5e-324])
    frames = [Frame(T0 + index, ("a", "b", "c", "d"), odd, None if index % 2 else ("x", "", "", "")) for index in range(7)]
    again = list(Pack(frames).frames())
    assert [frame.values.tobytes() for frame in again] == [odd.tobytes()] * 7
    assert [frame[:2] + frame[3:] for frame in again] == [frame[:2] + frame[3:] for frame in frames]
