"""The format `prometheus`: golden records, and no input that makes it raise."""

from __future__ import annotations

from golden_support import check_golden, hostile, survive
from hypothesis import given

from neuronwatch.parse import prometheus


def test_golden() -> None:
    check_golden("prometheus", prometheus.FORMAT)


@given(hostile("prometheus"))
def test_never_raises(text: str) -> None:
    survive(prometheus.FORMAT, text)
