"""Which devices, cores and ranks a finding names."""

from __future__ import annotations

import pytest
from case_support import rules
from watch_support import Host, rule

from neuronwatch.judge import engine, entities
from neuronwatch.judge.state import State
from neuronwatch.source import formats, reader

HW = "[{t}.1] 2026-08-21T05:40:12Z NEURON_HW_ERR=HBM_UNCORRECTABLE_ERROR instance-id=i-0aa hostname=ip-10 nd-id={nd} nc-id={nc} serial-num=1f action=X"


@pytest.mark.parametrize(
    ("text", "entity"),
    [
        ("[ND 5][NC 1] Uncorrectable memory error is detected", "nd5:nc1"),
        ("[MLA 0][NC 0] DMA TX engine 0 is in an abort state", "nd0:nc0"),
        ("NEURON_HW_ERR=X nd-id=3 nc-id=0 serial-num=1", "nd3:nc0"),
        ("inference timeout (1 ms) on Neuron Device 0 NC 3, waiting", "nd0:nc3"),
        ("error on Neuron device: 5:1 metadata", "nd5:nc1"),
        ("neuron:nr_reset: nd2: reset request 14 failed", "nd2"),
        ("nd0:nc0:h_model.id1001: Received notification", "nd0:nc0"),
        ("/sys/devices/virtual/neuron_device/neuron12/stats/hardware/mem_ecc_uncorrected = 3", "nd12"),
        ("second: 2, and: 3, trend5:nc1", ""),
        ("", ""),
    ],
)
def test_lines(text, entity):
    assert entities.of_line(text) == entity


def test_order_and_what_a_core_says_already():
    assert entities.in_order(["nd10", "nd2:nc1", "nd2", "", "rank0", "nd2:nc0"]) == ("nd2:nc0", "nd2:nc1", "nd10", "rank0")


def findings(text):
    state = State()
    engine.observe(state, reader.read_virtual("x.log", text.encode(), rules().patterns, *formats.shipped()), rules())
    return {finding.fault: finding for finding in engine.conclude(state, rules()).findings}


def test_all_devices_of_one_fault_are_one_finding():
    found = findings("\n".join(HW.format(t=nd, nd=nd, nc=nd % 2) for nd in range(16)))
    assert found["hw.uncorrectable-memory"].entities == tuple(f"nd{nd}:nc{nd % 2}" for nd in range(16))


def test_a_sum_of_counters_names_the_devices_that_have_errors():
    base = "/sys/devices/virtual/neuron_device/neuron{}/stats/hardware/mem_ecc_uncorrected = {}"
    found = findings("\n".join(base.format(nd, 2 if nd in (3, 11) else 0) for nd in range(16)))
    assert found["hw.uncorrectable-memory"].entities == ("nd3", "nd11")


def test_sixteen_devices_are_one_incident_that_says_who_came_later():
    host = Host(rule("hw.a", ends='how = "manual"'))
    host.log("kern.log", "[ND 0][NC 0] trouble hw.a")
    host.judged()
    for nd in range(1, 16):
        host.log("kern.log", f"[ND {nd}][NC 0] trouble hw.a")
    judged = host.judged(1)
    assert len(judged.incidents) == 1 and len(judged.incidents[0].conditions[0].finding.entities) == 16
    assert "also nd1:nc0, nd2:nc0" in judged.changes[0].text
