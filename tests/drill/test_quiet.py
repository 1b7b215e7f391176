"""A healthy host under load, with all the noise that healthy hosts make: no finding at all."""

from __future__ import annotations

from pathlib import Path

import pytest
from drill.rehearsal import Rehearsal, rule_set

from neuronwatch.drill.clock import syslog_stamp


@pytest.mark.parametrize(("instance", "load"), [("trn1.32xlarge", "train"), ("inf2.24xlarge", "serve"), ("trn1.2xlarge", "mixed")])
def test_an_hour_of_load_is_silent(tmp_path: Path, instance: str, load: str) -> None:
    host = Rehearsal(tmp_path / "host", instance, load)
    try:
        host.go(3600, step=5.0)
        diagnosis = host.diagnose(rule_set())
        assert [(item.rule, item.fault, item.evidence[:1]) for item in diagnosis.findings] == []
        assert diagnosis.verdict == "healthy"
    finally:
        host.close()


def test_runs_that_end_and_begin_anew_are_silent(tmp_path: Path) -> None:
    """Five hours at long steps: a run ends, with its teardown noise, and the next one begins."""
    host = Rehearsal(tmp_path / "host", "trn1.32xlarge", "train")
    try:
        first = host.machine.jobs[0].processes[0].pid
        host.go(5 * 3600, step=30.0)
        assert host.machine.jobs[0].processes[0].pid != first
        log = (host.root / "var/log/jobs/qwen3-sft/qwen3-sft.log").read_text()
        assert "'train_runtime':" in log and log.count("Running training") >= 2
        assert any("DEREG_MR" in line for line in host.machine.kernel.ring)
        assert "Notifications not initialized!" in (host.root / "var/log/neuron/qwen3-sft.0.log").read_text()
        assert [(item.rule, item.fault) for item in host.diagnose(rule_set()).findings] == []
    finally:
        host.close()


def test_the_logs_of_one_host_tell_one_story(tmp_path: Path) -> None:
    """Times in syslog and dmesg agree, and no line is of the future."""
    host = Rehearsal(tmp_path / "host", "trn1.2xlarge", "train")
    try:
        host.go(600, step=5.0)
        boot, now = host.machine.clock.boot, host.machine.now
        for line in (host.root / "var/log/kern.log").read_text().splitlines():
            stamp, seconds = line[:15], float(line.split("[", 1)[1].split("]")[0])
            assert stamp == syslog_stamp(boot + seconds)
            assert boot + seconds <= now + 1
    finally:
        host.close()
