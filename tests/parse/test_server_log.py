"""server_log: golden records, and no input that makes it raise."""

from __future__ import annotations

from golden_support import check_golden, hostile, survive
from hypothesis import given

from neuronwatch.parse import server_config


def test_golden() -> None:
    check_golden("server_log", *server_config.FORMATS[1:])


@given(hostile("server_log"))
def test_never_raises(text: str) -> None:
    for fmt in server_config.FORMATS[1:]:
        survive(fmt, text)
