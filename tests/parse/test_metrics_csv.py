"""The format `metrics_csv`: golden records, and no input that makes it raise."""

from __future__ import annotations

from golden_support import check_golden, hostile, survive
from hypothesis import given

from neuronwatch.parse import metrics_csv


def test_golden() -> None:
    check_golden("metrics_csv", metrics_csv.FORMAT)


@given(hostile("metrics_csv"))
def test_never_raises(text: str) -> None:
    survive(metrics_csv.FORMAT, text)
