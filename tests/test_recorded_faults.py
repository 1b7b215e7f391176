"""Live and offline judge the same, also of what a host does: a fault is injected while the daemon records, and at the moment when its
incident opens the daemon, `diagnose` of the recording and `replay` find the same. All faults run in tests/torture."""

from __future__ import annotations

import pytest
from recorded_support import check_fault, check_source_fault


@pytest.mark.parametrize("fault", ["hw.uncorrectable-memory", "compile.stale-lock"])
def test_a_fault_is_judged_alike(fault, tmp_path):
    check_fault(tmp_path, fault)


@pytest.mark.parametrize("fault", ["source.sysfs.garbled", "source.neuron-ls.killed"])
def test_a_source_that_fails_is_judged_alike(fault, tmp_path):
    check_source_fault(tmp_path, fault)
