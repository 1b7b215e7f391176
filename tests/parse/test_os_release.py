"""The format `os_release`: golden records, and no input that makes it raise."""

from __future__ import annotations

from golden_support import check_golden, hostile, survive
from hypothesis import given

from neuronwatch.parse import os_release


def test_golden() -> None:
    check_golden("os_release", os_release.FORMAT)


@given(hostile("os_release"))
def test_never_raises(text: str) -> None:
    survive(os_release.FORMAT, text)
