"""Every fault of the simulated host and every near miss against the real daemon: named, over, silent. Half an hour."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.torture
BENCH = Path(__file__).parents[2] / "bench" / "faults.py"


def test_every_fault_is_seen_named_and_over_and_its_near_miss_silent() -> None:
    done = subprocess.run([sys.executable, str(BENCH), "--rate", "20", "--jobs", "2"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
