"""py_stack: golden records, and no input that makes it raise."""

from __future__ import annotations

from golden_support import check_golden, hostile, survive
from hypothesis import given

from neuronwatch.parse import py_stack


def test_golden() -> None:
    check_golden("py_stack", py_stack.FORMAT)


@given(hostile("py_stack"))
def test_never_raises(text: str) -> None:
    survive(py_stack.FORMAT, text)
