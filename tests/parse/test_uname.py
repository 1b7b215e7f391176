"""The format `uname`: golden records, and no input that makes it raise."""

from __future__ import annotations

from golden_support import check_golden, hostile, survive
from hypothesis import given

from neuronwatch.parse import uname


def test_golden() -> None:
    check_golden("uname", uname.FORMAT)


@given(hostile("uname"))
def test_never_raises(text: str) -> None:
    survive(uname.FORMAT, text)
