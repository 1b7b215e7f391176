"""Who holds /dev/neuron*: `lsof` and `fuser` output: golden records, and no input that makes it raise."""

from __future__ import annotations

from golden_support import check_golden, hostile, survive
from hypothesis import given

from neuronwatch.parse import device_holders


def test_golden() -> None:
    check_golden("device_holders", device_holders.FORMAT)


@given(hostile("device_holders"))
def test_never_raises(text: str) -> None:
    survive(device_holders.FORMAT, text)
