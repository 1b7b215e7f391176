"""kill -9 of anything at random moments (200 times in tests/torture)."""

from __future__ import annotations

from kill_support import campaign


def test_no_lost_job_no_double_start_no_orphan(tmp_path):
    assert campaign(tmp_path, seed=20261201, times=8) == []
