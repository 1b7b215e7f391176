"""env_dump: golden records, and no input that makes it raise."""

from __future__ import annotations

from golden_support import check_golden, hostile, survive
from hypothesis import given

from neuronwatch.parse import env_dump


def test_golden() -> None:
    check_golden("env_dump", *env_dump.FORMATS)


@given(hostile("env_dump"))
def test_never_raises(text: str) -> None:
    for format in env_dump.FORMATS:
        survive(format, text)
