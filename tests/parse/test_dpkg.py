"""The format `dpkg`: golden records, and no input that makes it raise."""

from __future__ import annotations

from golden_support import check_golden, hostile, survive
from hypothesis import given

from neuronwatch.parse import dpkg


def test_golden() -> None:
    check_golden("dpkg", dpkg.FORMAT)


@given(hostile("dpkg"))
def test_never_raises(text: str) -> None:
    survive(dpkg.FORMAT, text)
