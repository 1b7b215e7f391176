"""The watch over invented hours: conditions begin, end as their rule says, survive a restart, and group to incidents."""

from __future__ import annotations

import json

import pytest
from watch_support import Host, changes, rule, states

from neuronwatch.judge.live import Watch
from neuronwatch.judge.rules.compiled import RuleSet
from neuronwatch.model.records import Fact, Origin

NRT = "2024-Apr-05 11:41:02.0111   {pid}:{pid}    ERROR   NRT:nrt_allocate   trouble runtime.a-exit"


def test_a_line_opens_an_incident_and_quiet_ends_it():
    host = Host(rule("runtime.a-exit"))
    host.log("job.log", "trouble runtime.a-exit")
    first = host.judged()
    assert states(first) == {"runtime.a-exit": "true"} and changes([first]) == [("opened", "runtime.cores-busy")]
    assert first.verdict == "fault" and first.incidents[0].conditions[0].finding.evidence[0].line == 1
    assert changes(host.run(890)) == []
    after = host.run(20)
    assert changes(after) == [("resolved", "runtime.cores-busy")]
    assert states(after[-1]) == {"runtime.a-exit": "false"} and after[-1].verdict == "healthy"


def test_exit_waits_a_minute_after_the_process_is_gone():
    host = Host(rule("runtime.a-exit"))
    host.watch.processes("processes", {77: 0.0})
    host.log("job.log", NRT.format(pid=77))
    host.judged()
    host.watch.processes("processes", {})
    assert changes(host.run(58)) == []
    assert changes(host.run(4)) == [("resolved", "runtime.cores-busy")]


def test_exit_lasts_while_the_process_lives():
    host = Host(rule("runtime.a-exit"))
    host.watch.processes("processes", {77: 0.0})
    host.log("job.log", NRT.format(pid=77))
    host.judged()
    assert changes(host.run(4000, 10)) == []


def test_a_new_run_in_the_same_log_ends_the_old_one():
    host = Host(rule("runtime.a-exit"))
    host.log("job.log", NRT.format(pid=77))
    host.judged()
    host.mono += 30
    host.log("job.log", "2024-Apr-05 11:42:02.0111   99:99    INFO   NRT:nrt_init   hello")
    assert changes(host.run(58)) == [], "it may meet the same"
    found = host.run(4)
    assert changes(found) == [("resolved", "runtime.cores-busy")]
    assert "new run" in found[-1].conditions[0].reason


def test_ttl_counts_from_the_last_evidence():
    host = Host(rule("runtime.a-ttl", ends='how = "ttl"\nseconds = 100'))
    host.log("job.log", "trouble runtime.a-ttl")
    host.judged()
    host.run(60)
    host.log("job.log", "trouble runtime.a-ttl")
    assert changes(host.run(98)) == []
    assert changes(host.run(20)) == [("resolved", "runtime.cores-busy")]


def test_pattern_ends_at_the_later_line():
    host = Host(rule("runtime.a-pattern", ends='how = "pattern"\npattern = "all is well"'))
    host.log("job.log", "trouble runtime.a-pattern")
    host.judged()
    assert changes(host.run(4000, 10)) == []
    host.log("job.log", "all is well")
    assert changes(host.run(4)) == [("resolved", "runtime.cores-busy")]
    host.mono += 4000
    host.log("job.log", "trouble runtime.a-pattern")
    assert changes([host.judged()]) == [("opened", "runtime.cores-busy")]


def test_fact_ends_when_the_fact_is_true():
    host = Host(rule("runtime.a-fact", ends='how = "fact"\nwhen = "driver.module_listed == True"'))
    host.fact("driver.module_listed", False)
    host.log("job.log", "trouble runtime.a-fact")
    host.judged()
    assert changes(host.run(200)) == []
    host.fact("driver.module_listed", True)
    assert changes(host.run(4)) == [("resolved", "runtime.cores-busy")]


def test_manual_ends_by_acknowledgement_and_comes_back_with_new_evidence():
    host = Host(rule("runtime.a-manual", ends='how = "manual"'))
    host.log("kern.log", "trouble runtime.a-manual")
    opened = host.judged()
    assert changes(host.run(100_000, 100)) == []
    host.watch.acknowledge(opened.incidents[0].id, host.now)
    assert changes(host.run(4)) == [("acknowledged", "runtime.cores-busy"), ("resolved", "runtime.cores-busy")]
    assert states(host.judged()) == {"runtime.a-manual": "false"}
    assert changes(host.run(20)) == []
    host.log("kern.log", "trouble runtime.a-manual")
    assert changes([host.judged()]) == [("reopened", "runtime.cores-busy")]


def test_a_whole_text_clears_when_it_no_longer_says_so():
    host = Host(rule("runtime.a-manual", ends='how = "manual"'))
    host.whole("host:/sys/x", "trouble runtime.a-manual")
    host.judged()
    assert changes(host.run(3000, 10)) == []
    host.whole("host:/sys/x", "fine")
    assert changes(host.run(8)) == []
    assert changes(host.run(6)) == [("resolved", "runtime.cores-busy")]


def test_a_fault_that_comes_and_goes_is_one_incident_and_ends_ever_later():
    host = Host(rule("runtime.a-manual", ends='how = "manual"'))
    seen = []
    for _ in range(40):
        host.whole("host:/sys/x", "trouble runtime.a-manual")
        seen += host.run(14)
        host.whole("host:/sys/x", "fine")
        seen += host.run(14)
    kinds = [what for what, _ in changes(seen)]
    assert kinds.count("opened") == 1 and len(kinds) < 8
    assert len({incident.id for judged in seen for incident in judged.incidents}) == 1


def test_a_blind_source_makes_it_unknown_and_keeps_it():
    host = Host(rule("runtime.a-manual", ends='how = "manual"'))
    host.health("sysfs")
    host.whole("host:/sys/x", "trouble runtime.a-manual")
    since = host.judged().conditions[0].since
    host.health("sysfs", "failed", "Input/output error")
    host.whole("host:/sys/x", None)
    blind = host.run(2000, 10)
    assert states(blind[-1]) == {"runtime.a-manual": "unknown"} and "Input/output error" in blind[-1].conditions[0].reason
    assert blind[-1].verdict == "unknown" and [what for what, _ in changes(blind)] == ["updated"]
    host.health("sysfs")
    host.whole("host:/sys/x", "trouble runtime.a-manual")
    again = host.judged()
    assert states(again) == {"runtime.a-manual": "true"} and again.conditions[0].since == since


def test_a_mandatory_source_that_is_lost_is_an_outage_of_ours():
    host = Host(rule("env.source-unavailable", fault="env.source-unavailable", severity="warning",
                     more='[[join]]\nwhen = "len(source.unavailable) > 0"', ends='how = "fact"\nwhen = "len(source.unavailable) == 0"'))  # fmt: skip
    host.health("sysfs", mandatory=True)
    host.log("x.log", "hello")
    assert host.judged().verdict == "healthy"
    host.health("sysfs", "missing", "no tree", mandatory=True)
    lost = host.judged(2)
    assert not lost.changes and lost.verdict == "unknown", "perhaps the driver is being reloaded"
    host.run(86)
    lost = host.judged(4)
    assert changes([lost]) == [("opened", "env.source-unavailable")] and lost.verdict == "unknown"
    assert "sysfs is missing: no tree" in lost.reasons[0]
    host.health("sysfs", mandatory=True)
    assert changes(host.run(14)) == [("resolved", "env.source-unavailable")]


def test_a_source_that_only_starts_is_no_health():
    host = Host(rule("runtime.a-exit"))
    host.health("sysfs", "starting", mandatory=True)
    assert host.judged().verdict == "unknown"


def test_nothing_read_is_unknown():
    assert Host(rule("runtime.a-exit")).judged().verdict == "unknown"


def test_rotation_keeps_what_was_said_and_its_order():
    host = Host(rule("runtime.a-pattern", ends='how = "pattern"\npattern = "all is well"'))
    host.log("job.log", "hello", "trouble runtime.a-pattern")
    host.judged()
    host.log("job.log", "new file", fresh=True)
    after = host.judged(2)
    assert states(after) == {"runtime.a-pattern": "true"}
    assert after.conditions[0].finding.evidence[0].line is None
    host.log("job.log", "all is well")
    assert changes(host.run(4)) == [("resolved", "runtime.cores-busy")]


def test_symptom_without_cause_is_taken_over_by_the_root_that_turns_up():
    host = Host(rule("symptom.wrap", role="symptom", fault=""), rule("runtime.a-exit"))
    host.log("job.log", "trouble symptom.wrap")
    first = host.judged()
    assert not first.incidents and first.verdict == "unknown", "its cause may still come; what is not known is said at once"
    first = host.run(12)[-1]
    assert [item.fault for item in first.incidents] == [""]
    host.log("job.log", "trouble runtime.a-exit")
    second = host.judged(2)
    assert changes([second]) == [("updated", "runtime.cores-busy")]
    assert [incident.id for incident in second.incidents] == [first.incidents[0].id]
    assert second.incidents[0].root == "runtime.a-exit" and second.verdict == "fault"
    assert [item.key for item in second.incidents[0].conditions] == ["runtime.a-exit", "symptom.wrap"]


def test_a_symptom_and_its_cause_a_moment_later_are_one_stable_incident():
    host = Host(rule("symptom.wrap", role="symptom", fault=""), rule("runtime.a-exit"))
    host.log("job.log", "trouble symptom.wrap")
    seen = host.run(6)
    host.log("job.log", "trouble runtime.a-exit")
    seen += host.run(20)
    assert changes(seen) == [("opened", "runtime.cores-busy")]
    assert {item.key for item in seen[-1].incidents[0].conditions} == {"runtime.a-exit", "symptom.wrap"}


def test_a_symptom_waits_for_a_cause_that_must_still_last():
    gone = '[[join]]\nname = "gone"\nwhen = "driver.module_listed == False"'
    host = Host(rule("symptom.wrap", role="symptom", fault=""), rule("env.gone", fault="env.driver-module-not-built", more=gone))
    host.fact("driver.module_listed", False)
    host.log("job.log", "trouble symptom.wrap")
    assert changes(host.run(120)) == [("opened", "env.driver-module-not-built")]


def test_what_flaps_every_four_seconds_is_told_now_and_then():
    """A source that comes and goes makes what it shows unknown and true; the incident's state is right all the time."""
    host = Host(rule("runtime.a-manual", ends='how = "manual"'), rule("runtime.b", ends='how = "manual"'))
    host.whole("host:/sys/x", "trouble runtime.a-manual\ntrouble runtime.b")
    seen = []
    for _ in range(450):
        host.health("sysfs", "failed", "Input/output error")
        seen += host.run(2, 1)
        assert {item.state for item in seen[-1].conditions} == {"unknown"}
        host.health("sysfs")
        seen += host.run(2, 1)
        assert {item.state for item in seen[-1].conditions} == {"true"}
    told = changes(seen)
    assert told[0] == ("opened", "runtime.cores-busy") and {what for what, _ in told[1:]} == {"updated"}
    assert 20 <= len(told) <= 45, "eight at once, then one a minute"
    assert len(seen[-1].incidents[0].revisions) <= 50


def test_a_better_root_takes_over_the_incident_of_what_follows_from_it():
    host = Host(
        rule("runtime.a-follower", yields='["runtime.b-root"]'),
        rule("runtime.b-root", fault="hw.uncorrectable-memory", severity="critical"),
    )
    host.log("job.log", "trouble runtime.a-follower")
    first = host.judged()
    host.log("kern.log", "trouble runtime.b-root")
    second = host.judged(2)
    assert [item.id for item in second.incidents] == [first.incidents[0].id]
    assert second.incidents[0].fault == "hw.uncorrectable-memory" and second.incidents[0].severity == "critical"
    assert any("root cause" in item.what for item in second.incidents[0].revisions)


def test_independent_roots_are_separate_and_one_fault_is_one():
    host = Host(rule("runtime.a-one"), rule("runtime.a-two"), rule("runtime.b-other", fault="hw.uncorrectable-memory"))
    host.log("job.log", "trouble runtime.a-one", "trouble runtime.a-two", "trouble runtime.b-other")
    judged = host.judged()
    assert sorted((item.fault, len(item.conditions)) for item in judged.incidents) == [
        ("hw.uncorrectable-memory", 1), ("runtime.cores-busy", 2)]  # fmt: skip


def test_restart_keeps_conditions_and_incidents():
    rules = (rule("runtime.a-exit"), rule("runtime.b-manual", ends='how = "manual"', fault="hw.uncorrectable-memory"))
    host = Host(*rules)
    host.health("sysfs")
    host.health("logs")
    host.watch.processes("processes", {77: 0.0})
    host.log("job.log", NRT.format(pid=77))
    host.whole("host:/sys/x", "trouble runtime.b-manual")
    before = host.judged()
    text = json.dumps(host.watch.dump(host.now))

    again = Host(*rules, at=5.0)
    again.health("sysfs", "starting")
    again.health("logs", "starting")
    again.watch.load(json.loads(text), again.now)
    first = again.judged()
    assert states(first) == {"runtime.a-exit": "unknown", "runtime.b-manual": "unknown"}
    assert [item.id for item in first.incidents] == [item.id for item in before.incidents]
    again.health("sysfs")
    again.health("logs")
    again.watch.processes("processes", {77: 0.0})
    again.whole("host:/sys/x", "trouble runtime.b-manual")
    second = again.judged(2)
    assert states(second) == {"runtime.a-exit": "true", "runtime.b-manual": "true"}
    assert [item.since for item in second.conditions] == [item.since for item in before.conditions]
    again.whole("host:/sys/x", "fine")
    again.watch.processes("processes", {})
    later = again.run(100)
    assert sorted(changes(later)) == [("resolved", "hw.uncorrectable-memory"), ("resolved", "runtime.cores-busy")]


@pytest.mark.parametrize(
    "damage", [None, [], {}, {"schema": "neuronwatch.judge/2"}, {"schema": "neuronwatch.judge/1", "conditions": 3}]
)
def test_a_damaged_memory_is_refused(damage):
    with pytest.raises(ValueError):
        Watch(RuleSet(())).load(damage, Host().now)


def test_a_removed_rule_leaves_no_condition_and_a_kept_one_its_evidence():
    host = Host(rule("runtime.a-exit"), rule("runtime.b-stays", fault="hw.uncorrectable-memory"))
    host.log("job.log", "trouble runtime.a-exit", "trouble runtime.b-stays")
    host.judged()
    host.rules = RuleSet(
        [rule("runtime.a-new", fault="env.path-incomplete"), rule("runtime.b-stays", fault="hw.uncorrectable-memory")]
    )
    host.watch.reload(host.rules, host.now)
    judged = host.judged(2)
    assert states(judged) == {"runtime.a-exit": "false", "runtime.b-stays": "true"}
    assert changes([judged]) == [("resolved", "runtime.cores-busy")]
    host.log("job.log", "trouble runtime.a-new")
    assert states(host.judged(2))["runtime.a-new"] == "true"


ECC = '[[join]]\nname = "counter"\nwhen = "neuron.ecc_uncorrected > 0"'
SYSFS = "/sys/devices/virtual/neuron_device/neuron3/stats/hardware/mem_ecc_uncorrected = {}"


def test_a_device_fault_ends_when_its_counters_are_gone_though_the_log_still_has_its_line():
    """The device was replaced: nobody has to say so."""
    host = Host(rule("hw.a", ends='how = "manual"', more=ECC))
    host.health("sysfs")
    host.whole("host:/sys/x", SYSFS.format(0))
    host.log("kern.log", "trouble hw.a")
    host.judged()
    assert changes(host.run(300)) == [], "a counter that never rose says nothing"
    host.whole("host:/sys/x", SYSFS.format(2))
    host.run(300)
    host.health("sysfs", "failed", "Input/output error")
    host.whole("host:/sys/x", None)
    assert [what for what, _ in changes(host.run(300))] == [], "nobody looks, and the log still says so"
    host.health("sysfs")
    host.whole("host:/sys/x", SYSFS.format(0))
    assert changes(host.run(28)) == []
    assert changes(host.run(6)) == [("resolved", "runtime.cores-busy")]
    host.log("kern.log", "trouble hw.a")
    assert changes([host.judged(1)]) == [("reopened", "runtime.cores-busy")]


def test_a_device_fault_ends_when_the_driver_is_loaded_anew():
    host = Host(rule("runtime.a", ends='how = "manual"'), rule("env.b", ends='how = "manual"', fault="env.path-incomplete"))
    started = "[    8.21] Neuron Driver Started with Version:2.24.7.0 at: 2026-nov-28 01:09:57"
    host.log("kern.log", started, "trouble runtime.a", "trouble env.b", source="kernel-log")
    host.judged()
    assert changes(host.run(500)) == []
    host.log("kern.log", started, source="kernel-log")
    assert changes(host.run(4)) == [("resolved", "runtime.cores-busy")]
    assert changes(host.run(500)) == []


def test_a_fast_crash_loop_is_one_condition():
    host = Host(rule("runtime.a-exit"))
    seen = []
    for turn in range(30):
        host.watch.processes("processes", {100 + turn: 0.0})
        host.log("job.log", NRT.format(pid=100 + turn))
        seen += host.run(50)
    assert changes(seen) == [("opened", "runtime.cores-busy")]


def test_a_crash_loop_is_one_incident_that_does_not_flutter():
    host = Host(rule("runtime.a-exit"))
    seen = []
    for turn in range(60):
        pid = 100 + turn
        host.watch.processes("processes", {pid: 0.0})
        host.log("job.log", NRT.format(pid=pid))
        seen += host.run(30)
        host.watch.processes("processes", {})
        seen += host.run(70)
    kinds = [what for what, _ in changes(seen)]
    assert kinds.count("opened") == 1 and len(kinds) <= 10, kinds


def test_a_note_that_would_wait_for_a_person_ends_by_itself():
    host = Host(rule("note.a", ends='how = "manual"', role="note", fault=""))
    host.log("job.log", "trouble note.a")
    judged = host.judged()
    assert states(judged) == {"note.a": "true"} and not judged.incidents and judged.verdict == "healthy"
    assert states(host.run(910, 10)[-1]) == {"note.a": "false"}


def test_symptoms_end_with_their_root_unless_they_go_on():
    host = Host(rule("symptom.one", role="symptom", fault=""), rule("symptom.two", role="symptom", fault=""),
                rule("runtime.a", ends='how = "pattern"\npattern = "all is well"'))  # fmt: skip
    host.log("job.log", "trouble runtime.a", "trouble symptom.one", "trouble symptom.two")
    host.judged()
    host.run(100)
    host.log("job.log", "all is well", "trouble symptom.two")
    after = host.run(4)
    assert states(after[-1]) == {"runtime.a": "false", "symptom.one": "false", "symptom.two": "true"}
    assert after[-1].verdict == "unknown" and len(after[-1].incidents) == 1, "a failure whose cause is over"
    assert states(host.run(1000, 10)[-1])["symptom.two"] == "false"


def test_what_a_root_held_back_is_not_a_cause_when_it_ended():
    host = Host(
        rule("runtime.a-root", ends='how = "pattern"\npattern = "all is well"'),
        rule(
            "runtime.b-gated",
            fault="runtime.exec-timeout",
            more='[[unless]]\nwhen = "fired(\'runtime.a-root\')"\nwhy = "it is the other"',
        ),
    )
    host.log("job.log", "trouble runtime.a-root")
    host.log("rank0.log", "trouble runtime.b-gated")
    host.judged()
    host.log("job.log", "all is well")
    after = host.run(100)
    assert changes(after) == [("resolved", "runtime.cores-busy")] and after[-1].verdict == "healthy"
    host.log("rank0.log", "trouble runtime.b-gated")
    assert changes([host.judged(1)]) == [("opened", "runtime.exec-timeout")]


def test_lines_without_a_process_go_with_the_run_that_has_one():
    """The kernel and the launcher tell of the same failure; the rank's process is the one that can be watched."""
    host = Host(rule("runtime.a-exit"))
    host.watch.processes("processes", {77: 0.0})
    host.log("rank0.log", NRT.format(pid=77))
    host.log("kern.log", "[12.5] neuron:ncdev_mem: trouble runtime.a-exit", source="kernel-log")
    host.log("job.log", "trouble runtime.a-exit")
    host.judged()
    assert changes(host.run(300)) == []
    host.watch.processes("processes", {})
    assert changes(host.run(4)) == [("resolved", "runtime.cores-busy")]


def test_what_is_so_for_a_moment_is_no_condition_yet():
    """Between two steps all workers sleep."""
    asleep = '[[join]]\nname = "asleep"\nwhen = "process.workers > 0 and process.workers_idle == process.workers"'
    host = Host(rule("data.a", more=asleep, fault="data.fork-deadlock"))
    host.log("job.log", "hello")
    seen = []
    for _ in range(10):
        host.watch.facts("processes", [fact("process.workers", 4), fact("process.workers_idle", 4)], host.now)
        seen += host.run(40)
        host.watch.facts("processes", [fact("process.workers", 4), fact("process.workers_idle", 3)], host.now)
        seen += host.run(10)
    assert changes(seen) == []
    host.watch.facts("processes", [fact("process.workers", 4), fact("process.workers_idle", 4)], host.now)
    assert changes(host.run(130)) == [("opened", "data.fork-deadlock")]


def fact(name, value):
    return Fact(name, value, Origin("host:ps", None, f"{name}={value}"))


def test_a_compile_that_begins_is_not_one_that_ended():
    """The log tells of it before the listing shows its compiler; and what was over before it had lasted never began."""
    gate = '[[unless]]\nwhen = "process.compilers > 0"\nwhy = "it runs"'
    host = Host(rule("symptom.a", role="symptom", fault="", more=gate, ends='how = "pattern"\npattern = "all is well"'))
    host.fact("process.compilers", 0, source="processes")
    host.log("job.log", "trouble symptom.a")
    seen = host.run(10)
    host.fact("process.compilers", 2, source="processes")
    seen += host.run(100)
    host.log("job.log", "all is well")
    seen += host.run(4)
    host.fact("process.compilers", 0, source="processes")
    assert changes(seen + host.run(200)) == []
    host.log("job.log", "trouble symptom.a again")
    assert changes(host.run(60)) == [("opened", "")]


def test_a_run_that_names_no_process_ends_when_its_banner_comes_again():
    banner = "***** Running training *****"
    host = Host(rule("runtime.a-pattern", ends='how = "pattern"\npattern = "all is well"'))
    host.log("job.log", banner, "trouble runtime.a-pattern")
    host.judged()
    assert changes(host.run(200)) == []
    host.log("job.log", banner)
    assert changes(host.run(70)) == [("resolved", "runtime.cores-busy")]


def test_a_judgement_that_is_revised_forgets_nothing():
    """The better cause came later: what both stand on is still so."""
    gate = '[[unless]]\nwhen = "fired(\'runtime.b-better\')"\nwhy = "it is the other"'
    host = Host(rule("symptom.one", role="symptom", fault=""), rule("runtime.a-first", more=gate),
                rule("runtime.b-better", fault="hw.uncorrectable-memory", ends='how = "fact"\nwhen = "driver.module_listed == True"',
                     more='[[join]]\nwhen = "driver.module_listed == False"'))  # fmt: skip
    host.log("job.log", "trouble runtime.a-first", "trouble symptom.one")
    host.judged()
    host.fact("driver.module_listed", False)
    after = host.run(70)[-1]
    assert states(after) == {"runtime.a-first": "false", "runtime.b-better": "true", "symptom.one": "true"}
    assert next(item for item in after.conditions if item.state == "false").reason == "judged otherwise now"
    assert {item.rule for item in after.diagnosis.findings} == {"runtime.b-better", "symptom.one"}
    assert len([item for item in after.incidents if item.state == "open"]) == 1


def test_facts_of_another_time_do_not_join_lines_of_a_run_that_is_over():
    """The driver is back: what its absence made the job say is no fault of its container."""
    joined = """[[join]]
name = "in-container"
when = ["seen('weak')", "driver.module_listed == True"]
[[signature]]
name = "weak"
pattern = 'no device here'
weak = true"""
    host = Host(rule("env.other", fault="env.device-not-in-container", more=joined), rule("runtime.a-exit"))
    host.fact("driver.module_listed", False)
    host.watch.processes("processes", {77: 0.0})
    host.log("job.log", NRT.format(pid=77), "no device here")
    host.judged()
    host.watch.processes("processes", {})
    assert changes(host.run(70)) == [("resolved", "runtime.cores-busy")]
    host.fact("driver.module_listed", True)
    assert changes(host.run(70)) == []


def test_a_tool_that_fails_is_said_and_one_that_never_was_is_not():
    """Only what is told by no other source makes the answer unknown."""
    host = Host(rule("runtime.a-exit"))
    host.health("sysfs", mandatory=True)
    host.log("job.log", "hello")
    host.health("neuron-ls", "missing", "not installed")
    host.health("kernel-log", "missing", "permission denied")
    assert host.run(300)[-1].verdict == "healthy"
    host.health("neuron-monitor", "failed", "exited with status 1")
    assert host.run(60)[-1].verdict == "healthy", "it is started anew"
    after = host.run(60)[-1]
    assert after.verdict == "warning" and after.reasons == ("source neuron-monitor is failed: exited with status 1",)
    host.health("processes", "stale", "nothing came")
    assert host.run(120)[-1].verdict == "unknown"
    host.health("processes")
    host.health("neuron-monitor")
    assert host.run(10)[-1].verdict == "healthy"
