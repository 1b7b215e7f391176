"""The format `free`: golden records, and no input that makes it raise."""

from __future__ import annotations

from golden_support import check_golden, hostile, survive
from hypothesis import given

from neuronwatch.parse import free


def test_golden() -> None:
    check_golden("free", free.FORMAT)


@given(hostile("free"))
def test_never_raises(text: str) -> None:
    survive(free.FORMAT, text)
