"""Every fault that the simulated host knows, and every way in which a source fails: the daemon, `diagnose` of its recording and
`replay` judge it alike (a few of them run in tests/test_recorded_faults.py). With `--junitxml FILE` each case says what the daemon
had forgotten by then, and whether the replay had forgotten the same."""

from __future__ import annotations

import pytest
from recorded_support import check_fault, check_source_fault

from neuronwatch.drill import faults, outages

pytestmark = pytest.mark.torture


@pytest.mark.parametrize("fault", faults.all_faults())
def test_a_fault(fault, tmp_path, record_property):
    _tell(check_fault(tmp_path, fault), record_property)


@pytest.mark.parametrize("fault", outages.names())
def test_a_source_fault(fault, tmp_path, record_property):
    _tell(check_source_fault(tmp_path, fault), record_property)


def _tell(answers, record_property):
    record_property("forgotten", answers.kind)
    record_property("replay forgot the same", answers.alike)
