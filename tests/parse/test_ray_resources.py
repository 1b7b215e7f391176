"""ray_resources: golden records, and no input that makes it raise."""

from __future__ import annotations

from golden_support import check_golden, hostile, survive
from hypothesis import given

from neuronwatch.parse import ray_resources


def test_golden() -> None:
    check_golden("ray_resources", ray_resources.FORMAT)


@given(hostile("ray_resources"))
def test_never_raises(text: str) -> None:
    survive(ray_resources.FORMAT, text)
