"""step_lines: golden records, and no input that makes it raise."""

from __future__ import annotations

from golden_support import check_golden, hostile, survive
from hypothesis import given

from neuronwatch.parse import step_lines


def test_golden() -> None:
    check_golden("step_lines", step_lines.FORMAT)


@given(hostile("step_lines"))
def test_never_raises(text: str) -> None:
    survive(step_lines.FORMAT, text)
