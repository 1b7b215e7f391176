"""argument_dump: golden records, and no input that makes it raise."""

from __future__ import annotations

from golden_support import check_golden, hostile, survive
from hypothesis import given

from neuronwatch.parse import key_values


def test_golden() -> None:
    check_golden("argument_dump", key_values.FORMAT)


@given(hostile("argument_dump"))
def test_never_raises(text: str) -> None:
    survive(key_values.FORMAT, text)
