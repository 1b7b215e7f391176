"""The format `network`: golden records, and no input that makes it raise."""

from __future__ import annotations

from golden_support import check_golden, hostile, survive
from hypothesis import given

from neuronwatch.parse import network


def test_golden() -> None:
    check_golden("network", network.FORMAT)


@given(hostile("network"))
def test_never_raises(text: str) -> None:
    survive(network.FORMAT, text)
