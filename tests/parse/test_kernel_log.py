from __future__ import annotations

import pytest
from hypothesis import given
from parse_support import (
    check_golden,
    check_interleaving,
    check_never_raises,
    check_prefixes,
    damaged,
    events,
    facts,
    fixture,
    fixtures,
    readings,
    records,
    summary,
    triggered,
)

from neuronwatch.parse.kernel_log import FORMAT

FOLDER = "kernel_log"


def test_golden() -> None:
    check_golden(FORMAT, FOLDER)


@given(damaged(FOLDER))
def test_never_raises(text: str) -> None:
    check_never_raises(FORMAT, text)


def test_driver_banner() -> None:
    assert facts(records(FORMAT, fixture("kernel_log/driver-load-trn2-2.25.txt"))) == {
        "driver.loaded": "2.25.4.0",
        "neuron.kernel_devices": 2,
    }
    bare = "Neuron Driver Started with Version:2.2.6.0-8a6fdf292607dccc3b7059ebbe2fb24c60dfc7c4"
    assert facts(records(FORMAT, bare)) == {"driver.loaded": "2.2.6.0"}


def test_kill_is_told_once() -> None:
    found = records(FORMAT, fixture("kernel_log/oom-kill.txt"))
    (event,) = events(found, "kernel.oom_kill")
    assert (event.fields["process"], event.fields["pid"], event.entity) == ("walrus_driver", 9120, "pid9120")
    assert facts(found)["kernel.oom_cgroup"] is False
    assert facts(found)["kernel.oom_rss"] == 121190112 * 1024


def test_kill_in_a_cgroup() -> None:
    found = facts(records(FORMAT, fixture("kernel_log/oom-kill-cgroup-journal.txt")))
    assert (found["kernel.oom_process"], found["kernel.oom_cgroup"]) == ("python3", True)
    text = "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=x,task_memcg=/kubepods,task=python,pid=12,uid=0"
    assert facts(records(FORMAT, text))["kernel.oom_cgroup"] is True


def test_hardware_errors() -> None:
    found = records(FORMAT, fixture("kernel_log/neuron-hw-err.txt"))
    assert readings(found, "kernel.hw_error")[:2] == ["SRAM_UNCORRECTABLE_ERROR", "HBM_UNCORRECTABLE_ERROR"]
    assert events(found, "kernel.hw_error")[0].entity == "nd3:nc0"
    assert facts(records(FORMAT, "kernel: NEURON_HW_ERR=DMA_ERROR affecting neuron devices")) == {"kernel.hw_error": "DMA_ERROR"}


def test_forms_of_the_kernel_log() -> None:
    kmsg = facts(records(FORMAT, fixture("kernel_log/kmsg.txt")))
    assert kmsg["host.kernel"] == "6.1.112-122.189.amzn2023.x86_64"
    assert kmsg["neuron.kernel_devices"] == 2
    found = records(FORMAT, fixture("kernel_log/dmesg-ctime.txt"))
    assert facts(found)["kernel.reset_incomplete"] == "nd0"
    assert events(found, "kernel.reset")[0].time == 1787127100.0


def test_old_wording_of_a_dma_timeout() -> None:
    assert facts(records(FORMAT, "[ 1.2] neuron:x: DMA completion timeout for UDMA_ENG_33 q0")) == {
        "kernel.dma_timeout": "UDMA_ENG_33"
    }


@pytest.mark.parametrize("name", [item.name for item in fixtures(FOLDER)])
def test_prefixes_interleaving_and_windows(name: str) -> None:
    text = fixture(f"{FOLDER}/{name}")
    check_prefixes(FORMAT, text)
    check_interleaving(FORMAT, text)
    assert summary(FORMAT.parse(triggered(FORMAT, text))) == summary(records(FORMAT, text))


def test_other_kernel_lines_are_left_alone() -> None:
    assert records(FORMAT, "[ 1.0] usb 1-1: new device\n[ 2.0] python3[12]: segfault at 0 ip 0") == []
