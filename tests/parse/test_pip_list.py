"""pip_list: golden records, and no input that makes it raise."""

from __future__ import annotations

from golden_support import check_golden, hostile, survive
from hypothesis import given

from neuronwatch.parse import pip_list


def test_golden() -> None:
    check_golden("pip_list", pip_list.FORMAT)


@given(hostile("pip_list"))
def test_never_raises(text: str) -> None:
    survive(pip_list.FORMAT, text)
