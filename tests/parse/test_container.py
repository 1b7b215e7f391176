"""container: golden records, and no input that makes it raise."""

from __future__ import annotations

from golden_support import check_golden, hostile, survive
from hypothesis import given

from neuronwatch.parse import container


def test_golden() -> None:
    check_golden("container", container.FORMAT)


@given(hostile("container"))
def test_never_raises(text: str) -> None:
    survive(container.FORMAT, text)
