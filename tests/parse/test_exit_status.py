"""exit_status: golden records, and no input that makes it raise."""

from __future__ import annotations

from golden_support import check_golden, hostile, survive
from hypothesis import given

from neuronwatch.parse import exit_status


def test_golden() -> None:
    check_golden("exit_status", exit_status.FORMAT)


@given(hostile("exit_status"))
def test_never_raises(text: str) -> None:
    survive(exit_status.FORMAT, text)
