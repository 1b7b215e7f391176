"""Months of a watch: what it keeps stays bounded, and counts and conditions stay right."""

from __future__ import annotations

from watch_support import Host, changes, rule, states

from neuronwatch.judge.live import Watch

DAY = 86_400.0


def size(watch: Watch) -> int:
    """How many things a watch keeps."""
    kept = 0
    for file in watch._state.parts():
        kept += sum(len(hits.lines) + 1 for hits in file.hits.values()) + len(file.facts) + file.series.count + len(file.issues)
    kept += sum(len(item.processes) + len(item.starts) for item in watch._writers.values())
    kept += sum(len(values) for values in watch._news._told.values())
    kept += sum(len(item.mark.items) + len(item.writing) for item in watch._conditions.memories.values())
    return kept + sum(len(item.revisions) + len(item.conditions) for item in watch._incidents.told())


def line(pid: int, text: str) -> str:
    return f"2024-Apr-05 11:41:02.0111   {pid}:{pid}    ERROR   NRT:x   {text}"


def live_a_day(host: Host, day: int) -> None:
    """A job an hour in one log, each with an error and its losses; the log rotates at noon; a file of its own for each day."""
    for hour in range(0, 24, 4):
        pid = 1000 + day * 24 + hour
        host.watch.processes("processes", {pid: 0.0})
        for part in range(3):
            host.log("job.log", line(pid, f"trouble runtime.a-exit {day} {hour}"), f"{{'loss': {1 + part}.5, 'epoch': 0.{part}}}",
                     f"Using a cached neff at /tmp/{day}/{hour}/{part}", fresh=hour == 12 and part == 0)  # fmt: skip
            host.log(f"day{day}.log", line(pid, "trouble runtime.b-manual") if part == 0 else "nothing")
            host.judged(4800)
    host.watch.forget(f"day{day}.log", host.now)


def test_two_months_are_as_big_as_one_week():
    host = Host(rule("runtime.a-exit"), rule("runtime.b-manual", ends='how = "manual"', fault="hw.uncorrectable-memory"))
    sizes = []
    for day in range(40):
        live_a_day(host, day)
        sizes.append(size(host.watch))
    assert max(sizes[30:]) <= 1.2 * max(sizes[3:10]), sizes
    assert len(host.watch._state.files) < 6 and len(host.watch._owners) < 6
    assert states(host.judged())["runtime.b-manual"] == "true", "it lasts until a person has seen it"


def test_a_job_of_weeks_keeps_its_start():
    """Facts of the start of a run are needed to its end, however often its log rotates."""
    host = Host(rule("runtime.a-exit", more='[[signature]]\nname = "weak"\npattern = "only when it trains"\nweak = true\n'
                     '[[join]]\nwhen = "launch.tp == 8 and seen(\'weak\')"'))  # fmt: skip
    host.watch.processes("processes", {77: 0.0})
    host.log("job.log", line(77, "hello"), "> initializing tensor model parallel with size 8")
    for day in range(20):
        host.mono += DAY / 2
        host.log("job.log", line(77, f"still here {day}"), fresh=True)
        host.judged()
    host.log("job.log", line(77, "only when it trains"))
    judged = host.judged(1)
    assert states(judged) == {"runtime.a-exit": "true"}
    host.watch.processes("processes", {})
    assert changes(host.run(130)) == [("resolved", "runtime.cores-busy")]
    host.watch.processes("processes", {99: 0.0})
    host.log("job.log", line(99, "only when it trains"))
    assert states(host.judged(1)) == {"runtime.a-exit": "false"}, "another job has not said tp 8"


def test_a_silent_log_is_forgotten_and_a_condition_that_waits_for_it_ends():
    host = Host(rule("runtime.a-pattern", ends='how = "pattern"\npattern = "all is well"'))
    host.log("job.log", "trouble runtime.a-pattern")
    host.judged()
    assert changes(host.run(DAY - 100, 100)) == []
    assert changes(host.run(400, 100)) == [("resolved", "runtime.cores-busy")]


def test_old_hits_leave_but_a_manual_condition_stays_until_it_is_seen():
    host = Host(rule("runtime.b-manual", ends='how = "manual"'))
    host.log("kern.log", "trouble runtime.b-manual")
    opened = host.judged()
    for _ in range(50):
        host.log("kern.log", "something else")
        host.judged(3600)
    assert not any(file.hits for file in host.watch._state.files.values())
    assert states(host.judged()) == {"runtime.b-manual": "true"}
    host.watch.acknowledge(opened.incidents[0].id, host.now)
    assert states(host.judged(2)) == {"runtime.b-manual": "false"}
    assert host.judged(4000).conditions == ()


def test_a_storm_of_one_line_counts_exactly_and_keeps_its_ends():
    host = Host(rule("runtime.a-exit"))
    for _ in range(50):
        host.log("job.log", *["trouble runtime.a-exit"] * 100)
        host.judged(0.01)
    hits = next(iter(host.watch._state.files["job.log"].hits.values()))
    assert hits.count == 5000 and hits.lines[0].number == 1 and hits.last.number == 5000 and len(hits.lines) == 64
