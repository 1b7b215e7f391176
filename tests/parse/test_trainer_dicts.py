"""trainer_dicts: golden records, and no input that makes it raise."""

from __future__ import annotations

from golden_support import check_golden, hostile, survive
from hypothesis import given

from neuronwatch.parse import trainer_dicts


def test_golden() -> None:
    check_golden("trainer_dicts", trainer_dicts.FORMAT)


@given(hostile("trainer_dicts"))
def test_never_raises(text: str) -> None:
    survive(trainer_dicts.FORMAT, text)
