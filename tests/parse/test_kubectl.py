"""kubectl: golden records, and no input that makes it raise."""

from __future__ import annotations

from golden_support import check_golden, hostile, survive
from hypothesis import given

from neuronwatch.parse import kubectl


def test_golden() -> None:
    check_golden("kubectl", kubectl.FORMAT)


@given(hostile("kubectl"))
def test_never_raises(text: str) -> None:
    survive(kubectl.FORMAT, text)
