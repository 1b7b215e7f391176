"""Tests are collected by their file's name alone: two of one name would end the whole run."""

from __future__ import annotations

from collections import Counter
from pathlib import Path


def test_no_two_test_files_have_one_name() -> None:
    names = Counter(path.name for path in Path(__file__).parent.rglob("test_*.py"))
    assert [name for name, count in names.items() if count > 1] == []
