"""host_lines: golden records, and no input that makes it raise."""

from __future__ import annotations

from golden_support import check_golden, hostile, survive
from hypothesis import given

from neuronwatch.parse import host_lines


def test_golden() -> None:
    check_golden("host_lines", host_lines.FORMAT)


@given(hostile("host_lines"))
def test_never_raises(text: str) -> None:
    survive(host_lines.FORMAT, text)
