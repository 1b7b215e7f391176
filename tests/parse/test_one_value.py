"""one_value: golden records, and no input that makes it raise."""

from __future__ import annotations

import pytest
from golden_support import check_golden, document, hostile, survive
from hypothesis import given

from neuronwatch.parse import one_value


def test_golden() -> None:
    check_golden("one_value", one_value.FORMAT)


@given(hostile("one_value"))
def test_never_raises(text: str) -> None:
    survive(one_value.FORMAT, text)


@pytest.mark.parametrize(
    "name", ["count.txt", "a", "status_dir/count", "epoch", "src", "encoder", "exits/total", "neuron0/stats/x", "-"]
)
def test_a_number_alone_is_no_exit_status(name: str) -> None:
    """`echo 2 > count.txt` must not become a process that failed."""
    found = document(name, b"2\n")
    assert one_value.FORMAT.sniff(found) == 0.0
    assert list(one_value.FORMAT.parse(found)) == []


@pytest.mark.parametrize(
    "name", ["exit_code.txt", "rc", "job.rc", "EXIT", "exit-status", "exitcode", "returncode.txt", "b.tar!run/status"]
)
def test_a_telling_name_makes_it_one(name: str) -> None:
    found = document(name, b"2\n")
    assert one_value.FORMAT.sniff(found) == 0.9
    assert [record.value for record in one_value.FORMAT.parse(found)] == [2]  # type: ignore[union-attr]
