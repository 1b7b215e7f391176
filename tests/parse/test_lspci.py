"""lspci: golden records, and no input that makes it raise."""

from __future__ import annotations

from golden_support import check_golden, hostile, survive
from hypothesis import given

from neuronwatch.parse import lspci


def test_golden() -> None:
    check_golden("lspci", lspci.FORMAT)


@given(hostile("lspci"))
def test_never_raises(text: str) -> None:
    survive(lspci.FORMAT, text)
