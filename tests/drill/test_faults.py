"""Each fault of the simulated host: seen and named, gone when it is cleared, and its near miss silent."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from drill.rehearsal import Rehearsal, causes, rule_set

from neuronwatch.data import taxonomy
from neuronwatch.drill import faults
from neuronwatch.drill.host import Refused
from neuronwatch.judge.rules.compiled import RuleSet

ALL = faults.all_faults()
LEAVES_A_TRACE = {"hw.device-missing", "runtime.dma-abort"}
"""The near miss is a real time-out of the driver that passed: shown as a symptom, without a cause."""
RECOVERED = 200.0
LIVE = {"env.host-memory-growth", "runtime.not-on-device", "serve.single-core-used"}
"""What one look cannot show: it takes the series of the daemon (bench/faults.py)."""


@pytest.fixture(scope="module")
def rules() -> RuleSet:
    return rule_set()


@pytest.fixture
def host(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Rehearsal]:
    name = request.node.callspec.params["fault"]
    needs = faults.needs(ALL[name])
    made = Rehearsal(tmp_path / "host", needs.instance, needs.load or None, needs.driver or None)
    yield made
    made.close()


@pytest.mark.parametrize("fault", ALL)
def test_a_fault_is_named_and_gone_when_it_is_cleared(host: Rehearsal, fault: str, rules: RuleSet) -> None:
    assert not causes(host.diagnose(rules)), "the host must be healthy before"
    host.host.inject(fault)
    host.go(faults.needs(ALL[fault]).shows)
    found = host.diagnose(rules)
    assert causes(found)[:1] == ([] if fault in LIVE else [fault]), [(item.rule, item.role) for item in found.findings]
    host.host.clear(fault)
    host.go(RECOVERED)
    host.forget()
    host.go(30)
    found = host.diagnose(rules)
    assert not causes(found), [(item.rule, item.evidence[:2]) for item in found.findings if item.role == "cause"]
    assert fault not in host.host.running, "it has ended"


@pytest.mark.parametrize("fault", ALL)
def test_its_near_miss_is_silent(host: Rehearsal, fault: str, rules: RuleSet) -> None:
    host.host.inject(fault, near_miss=True)
    host.go(faults.needs(ALL[fault]).shows)
    found = host.diagnose(rules)
    wanted = "unknown" if fault in LEAVES_A_TRACE else "healthy"
    assert (causes(found), found.verdict) == ([], wanted), [(item.rule, item.role, item.evidence[:2]) for item in found.findings]
    host.host.clear(fault)
    host.go(RECOVERED)
    assert not causes(host.diagnose(rules))
    assert all(job.processes for job in host.machine.jobs), "the jobs run"


@pytest.mark.parametrize("fault", ALL)
def test_a_fault_says_what_it_is(fault: str) -> None:
    assert fault in taxonomy.faults()
    for text in (ALL[fault].WHAT, ALL[fault].NEAR_MISS):
        assert text.endswith(".") and len(text) > 20


def test_a_host_without_the_job_refuses_the_fault(tmp_path: Path) -> None:
    idle = Rehearsal(tmp_path / "host", load="idle")
    with pytest.raises(Refused, match="--load serve"):
        idle.host.inject("serve.max-batch-size-unset")
    idle.close()
