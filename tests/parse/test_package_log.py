"""package_log: golden records, and no input that makes it raise."""

from __future__ import annotations

from golden_support import check_golden, hostile, survive
from hypothesis import given

from neuronwatch.parse import package_log


def test_golden() -> None:
    check_golden("package_log", package_log.FORMAT)


@given(hostile("package_log"))
def test_never_raises(text: str) -> None:
    survive(package_log.FORMAT, text)
