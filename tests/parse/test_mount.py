"""Mounted file systems: `mount`, `findmnt`, /proc/mounts and /etc/fstab rows: golden records, and no input that makes it raise."""

from __future__ import annotations

from golden_support import check_golden, hostile, survive
from hypothesis import given

from neuronwatch.parse import mount


def test_golden() -> None:
    check_golden("mount", mount.FORMAT)


@given(hostile("mount"))
def test_never_raises(text: str) -> None:
    survive(mount.FORMAT, text)
