"""The format `kernel_module`: golden records, and no input that makes it raise."""

from __future__ import annotations

from golden_support import check_golden, hostile, survive
from hypothesis import given

from neuronwatch.parse import kernel_module


def test_golden() -> None:
    check_golden("kernel_module", kernel_module.FORMAT)


@given(hostile("kernel_module"))
def test_never_raises(text: str) -> None:
    survive(kernel_module.FORMAT, text)
