"""ps: golden records, and no input that makes it raise."""

from __future__ import annotations

from golden_support import check_golden, hostile, survive
from hypothesis import given

from neuronwatch.parse import ps


def test_golden() -> None:
    check_golden("ps", ps.FORMAT)


@given(hostile("ps"))
def test_never_raises(text: str) -> None:
    survive(ps.FORMAT, text)
