"""The format `load-test`: golden records, and no input that makes it raise."""

from __future__ import annotations

from golden_support import check_golden, hostile, survive
from hypothesis import given

from neuronwatch.parse import load_test


def test_golden() -> None:
    check_golden("load_test", load_test.FORMAT)


@given(hostile("load_test"))
def test_never_raises(text: str) -> None:
    survive(load_test.FORMAT, text)
