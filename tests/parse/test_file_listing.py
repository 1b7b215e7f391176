"""file_listing: golden records, and no input that makes it raise."""

from __future__ import annotations

from golden_support import check_golden, hostile, survive
from hypothesis import given

from neuronwatch.parse import file_listing


def test_golden() -> None:
    check_golden("file_listing", file_listing.FORMAT)


@given(hostile("file_listing"))
def test_never_raises(text: str) -> None:
    survive(file_listing.FORMAT, text)
