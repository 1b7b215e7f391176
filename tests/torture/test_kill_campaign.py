"""kill -9 of owner, shim, command and children, 200 times at random moments."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "supervise"))
from kill_support import campaign

pytestmark = pytest.mark.torture


def test_two_hundred_kills(tmp_path):
    assert campaign(tmp_path, seed=20261202, times=200) == []
