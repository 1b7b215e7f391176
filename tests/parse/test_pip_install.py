"""pip_install: golden records, and no input that makes it raise."""

from __future__ import annotations

from golden_support import check_golden, hostile, survive
from hypothesis import given

from neuronwatch.parse import pip_install


def test_golden() -> None:
    check_golden("pip_install", pip_install.FORMAT)


@given(hostile("pip_install"))
def test_never_raises(text: str) -> None:
    survive(pip_install.FORMAT, text)
