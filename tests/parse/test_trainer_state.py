"""The format `trainer_state`: golden records, and no input that makes it raise."""

from __future__ import annotations

from golden_support import check_golden, hostile, survive
from hypothesis import given

from neuronwatch.parse import trainer_state


def test_golden() -> None:
    check_golden("trainer_state", trainer_state.FORMAT)


@given(hostile("trainer_state"))
def test_never_raises(text: str) -> None:
    survive(trainer_state.FORMAT, text)
