"""The format `date_line`: golden records, and no input that makes it raise."""

from __future__ import annotations

from golden_support import check_golden, hostile, survive
from hypothesis import given

from neuronwatch.parse import date_line


def test_golden() -> None:
    check_golden("date_line", date_line.FORMAT)


@given(hostile("date_line"))
def test_never_raises(text: str) -> None:
    survive(date_line.FORMAT, text)
