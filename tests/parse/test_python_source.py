"""python_source: golden records, and no input that makes it raise."""

from __future__ import annotations

from golden_support import check_golden, hostile, survive
from hypothesis import given

from neuronwatch.parse import python_source


def test_golden() -> None:
    check_golden("python_source", python_source.FORMAT)


@given(hostile("python_source"))
def test_never_raises(text: str) -> None:
    survive(python_source.FORMAT, text)
