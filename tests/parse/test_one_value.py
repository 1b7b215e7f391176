"""one_value: golden records, and no input that makes it raise."""

from __future__ import annotations

from golden_support import check_golden, hostile, survive
from hypothesis import given

from neuronwatch.parse import one_value


def test_golden() -> None:
    check_golden("one_value", one_value.FORMAT)


@given(hostile("one_value"))
def test_never_raises(text: str) -> None:
    survive(one_value.FORMAT, text)
