"""vllm_log: golden records, and no input that makes it raise."""

from __future__ import annotations

from golden_support import check_golden, hostile, survive
from hypothesis import given

from neuronwatch.parse import vllm_log


def test_golden() -> None:
    check_golden("vllm_log", *vllm_log.FORMATS)


@given(hostile("vllm_log"))
def test_never_raises(text: str) -> None:
    for format in vllm_log.FORMATS:
        survive(format, text)
