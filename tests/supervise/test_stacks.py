"""Stacks of processes that hang: real ones, by the real py-spy."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from neuronwatch.supervise import profiling, stacks
from neuronwatch.supervise.tree import processes

SCRIPT = "import time\ndef wait_for_the_others():\n    time.sleep(600)\nwait_for_the_others()"
needs_tool = pytest.mark.skipif(stacks.tool() is None, reason="py-spy is not installed")


@pytest.fixture
def child():
    process = subprocess.Popen([sys.executable, "-c", SCRIPT])
    yield process
    process.kill()
    process.wait()


def members(*pids: int):
    everybody = processes()
    return [everybody[pid] for pid in pids]


@needs_tool
def test_a_process_that_waits_is_shown_where_it_stands(child):
    end = time.monotonic() + 30
    before = stacks.Stacks("", {})
    while "wait_for_the_others" not in (found := stacks.dump(members(child.pid))).text or not stacks.equal(before, found):
        assert time.monotonic() < end, found
        before = found


@needs_tool
def test_a_stopped_process_is_no_trap(child):
    time.sleep(1.0)
    os.kill(child.pid, signal.SIGSTOP)
    begun = time.monotonic()
    found = stacks.dump(members(child.pid))
    assert found.parts.keys() == {child.pid} and time.monotonic() - begun < stacks.ALL + stacks.EACH


def test_a_tool_that_hangs_or_lies_is_not_waited_for(child, tmp_path, monkeypatch):
    monkeypatch.setattr(stacks, "EACH", 0.5)
    lazy = tmp_path / "py-spy"
    lazy.write_text("#!/bin/sh\nexec sleep 600\n")
    lazy.chmod(0o755)
    assert "did not come to an end" in stacks.dump(members(child.pid), str(lazy)).text
    lazy.write_text("#!/bin/sh\nhead -c 3000000 /dev/urandom\n")
    assert len(stacks.dump(members(child.pid), str(lazy)).text) < 2 * stacks.SIZE
    assert "No such file" in stacks.dump(members(child.pid), str(tmp_path / "none")).text


def test_without_python_there_is_nothing_to_show():
    process = subprocess.Popen(["sleep", "600"])
    try:
        assert stacks.pythons(members(process.pid)) == []
    finally:
        process.kill()
        process.wait()


def test_dumps_are_equal_when_all_stand_still():
    one = stacks.Stacks("", {7: 'Process 7: python\nThread 7 (active): "MainThread"\n    f (a.py:1)\n'})
    same = stacks.Stacks("", {7: 'Process 7: python\nThread 7 (idle): "MainThread"\n    f (a.py:1)\n'})
    moved = stacks.Stacks("", {7: 'Process 7: python\nThread 7 (idle): "MainThread"\n    f (a.py:2)\n'})
    assert stacks.equal(one, same) is True and stacks.equal(one, moved) is False
    assert stacks.equal(one, stacks.Stacks("", {8: ""})) is None and stacks.equal(stacks.Stacks("", {}), one) is None


def test_a_profile_is_asked_for_where_there_is_a_device(tmp_path):
    device = tmp_path / "neuron0"
    assert profiling.environment(tmp_path, {}, str(device)) == {}
    device.touch()
    asked = profiling.environment(tmp_path, {}, str(device))
    assert asked["NEURON_RT_INSPECT_ENABLE"] == "1" and asked["NEURON_RT_INSPECT_OUTPUT_DIR"] == str(tmp_path / "profile")
    assert profiling.environment(tmp_path, {"NEURON_RT_INSPECT_ENABLE": "0"}, str(device)) == {}
