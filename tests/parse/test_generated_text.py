"""generated_text: golden records, and no input that makes it raise."""

from __future__ import annotations

from golden_support import check_golden, hostile, survive
from hypothesis import given

from neuronwatch.parse import generated_text


def test_golden() -> None:
    check_golden("generated_text", *generated_text.FORMATS)


@given(hostile("generated_text"))
def test_never_raises(text: str) -> None:
    for format in generated_text.FORMATS:
        survive(format, text)
