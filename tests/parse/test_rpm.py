"""The format `rpm`: golden records, and no input that makes it raise."""

from __future__ import annotations

from golden_support import check_golden, hostile, survive
from hypothesis import given

from neuronwatch.parse import rpm


def test_golden() -> None:
    check_golden("rpm", rpm.FORMAT)


@given(hostile("rpm"))
def test_never_raises(text: str) -> None:
    survive(rpm.FORMAT, text)
