"""hf_config: golden records, and no input that makes it raise."""

from __future__ import annotations

from golden_support import check_golden, hostile, survive
from hypothesis import given

from neuronwatch.parse import hf_config


def test_golden() -> None:
    check_golden("hf_config", hf_config.FORMAT)


@given(hostile("hf_config"))
def test_never_raises(text: str) -> None:
    survive(hf_config.FORMAT, text)
