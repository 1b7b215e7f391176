"""The format `df`: golden records, and no input that makes it raise."""

from __future__ import annotations

from golden_support import check_golden, hostile, survive
from hypothesis import given

from neuronwatch.parse import df


def test_golden() -> None:
    check_golden("df", df.FORMAT)


@given(hostile("df"))
def test_never_raises(text: str) -> None:
    survive(df.FORMAT, text)
