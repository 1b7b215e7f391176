"""Any life of a watch: whatever comes in whatever order, what it says holds together, and a restart changes nothing of it."""

from __future__ import annotations

import json
import random
from functools import lru_cache

import pytest
from watch_support import Host, rule

from neuronwatch.judge.live import Judged, Watch

LOGS = ("a.log", "b.log", "kern.log")
NRT = "2024-Apr-05 11:41:02.0111   {pid}:{pid}    ERROR   NRT:x   {text}"


@lru_cache(maxsize=1)
def rules():
    return (
        rule("runtime.exit"),
        rule("runtime.second", yields='["hw.root"]'),
        rule("env.pattern", ends='how = "pattern"\npattern = "all is well"', fault="env.path-incomplete", severity="warning"),
        rule("env.fact", ends='how = "fact"\nwhen = "driver.module_listed == True"', fault="env.disk-full"),
        rule("env.ttl", ends='how = "ttl"\nseconds = 100', fault="env.repo-key-expired"),
        rule("hw.root", ends='how = "manual"', fault="hw.uncorrectable-memory", severity="critical"),
        rule("symptom.one", role="symptom", fault=""),
        rule("symptom.two", role="symptom", fault=""),
        rule("note.one", role="note", fault=""),
    )


NAMES = [item.id for item in rules()]


def act(host: Host, chance: random.Random) -> None:
    """One thing that may happen."""
    name, log, pid = chance.choice(NAMES), chance.choice(LOGS), chance.randrange(3)
    what = chance.randrange(12)
    if what <= 3:
        text = chance.choice((f"trouble {name}", f"trouble {name}", "all is well", "hello"))
        line = chance.choice((text, NRT.format(pid=pid, text=text), f"[ND {pid}][NC 0] {text}"))
        host.log(log, line, fresh=chance.random() < 0.1)
    elif what <= 5:
        host.whole(f"host:/{pid}", chance.choice((f"trouble {name}", "fine", None)))
    elif what == 6:
        host.fact("driver.module_listed", chance.random() < 0.5)
    elif what == 7:
        host.watch.processes("processes", {number: 0.0 for number in range(3) if chance.random() < 0.5})
    elif what == 8:
        source = chance.choice(("sysfs", "logs", "processes"))
        host.health(source, chance.choice(("fresh", "fresh", "stale", "failed", "missing")), "because", source == "sysfs")
    elif what == 9:
        host.watch.forget(log, host.now)
    elif what == 10:
        for incident in host.watch._incidents.told():
            if incident.state == "open" and chance.random() < 0.3:
                host.watch.acknowledge(incident.id, host.now)
    else:
        host.mono += chance.choice((30.0, 100.0, 1000.0, 5000.0))


def check(before: Judged | None, now: Judged, life: dict[str, str]) -> None:
    """What always holds. `life`: the last change of each incident."""
    conditions = {item.key: item for item in now.conditions}
    open_ones = [incident for incident in now.incidents if incident.state != "resolved"]
    for incident in now.incidents:
        assert incident.root == incident.conditions[0].key
        assert (incident.resolved is None) == (incident.state != "resolved")
        assert 1 <= len(incident.revisions) <= 50
    for incident in open_ones:
        assert any(item.state != "false" for item in incident.conditions), incident
        for item in incident.conditions:
            if item.state != "false":
                assert conditions[item.key] == item
    members = [item.key for incident in open_ones for item in incident.conditions if item.state != "false"]
    assert len(members) == len(set(members)), "in one incident only"
    accusing = {item.key for item in now.conditions if item.state != "false" and item.finding.role != "note"}
    assert set(members) <= accusing
    alone = accusing - set(members)
    causes = [item.key for item in now.conditions if item.state != "false" and item.finding.role == "cause"]
    assert all(conditions[key].finding.role == "symptom" for key in alone) and not (alone and causes), "waits for its cause only"
    faults = [incident.fault for incident in open_ones if incident.fault]
    assert len(faults) == len(set(faults)), "one fault, one incident"
    for key, item in conditions.items():
        old = {} if before is None else {condition.key: condition for condition in before.conditions}
        if key in old and old[key].state != "false" and item.state != "false":
            assert old[key].since == item.since
        assert item.reason or item.state == "true"
    for change in now.changes:
        known = life.get(change.incident.id)
        assert (change.what in ("opened", "resolved")) if known is None else change.what != "opened"
        assert change.what != "reopened" or known == "resolved"
        life[change.incident.id] = change.what
    if any(item.state == "true" and item.finding.role == "cause" and item.finding.severity != "warning" for item in now.conditions):
        assert now.verdict == "fault"
    else:
        assert now.verdict != "fault"
    assert now.verdict != "healthy" or not accusing


@pytest.mark.parametrize("seed", range(12))
def test_any_life_holds_together(seed):
    chance = random.Random(seed)
    host, life = Host(*rules()), {}
    host.log("a.log", "hello")
    before = None
    for _ in range(150):
        act(host, chance)
        judged = host.judged(chance.choice((0.01, 1.0, 10.0)))
        check(before, judged, life)
        before = judged
        if chance.random() < 0.03:
            before = restarted(host, judged)
    assert list(life) == sorted(life), "ids sort by age"


def restarted(host: Host, before: Judged) -> Judged:
    """The same host with a watch that took up the memory of the one before."""
    plain = json.loads(json.dumps(host.watch.dump(host.now)))
    host.watch = Watch(host.rules)
    host.watch.load(plain, host.now)
    assert json.loads(json.dumps(host.watch.dump(host.now))) == plain
    after = host.watch.conclude(host.now, host.healths.values())
    assert [(item.key, item.since) for item in after.conditions if item.state != "false"] == [
        (item.key, item.since) for item in before.conditions if item.state != "false"]  # fmt: skip
    assert [item.id for item in after.incidents] == [item.id for item in before.incidents]
    return after
