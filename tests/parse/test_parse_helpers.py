from __future__ import annotations

import json
import re
import time

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from parse_support import lines_of

from neuronwatch.parse.lines import json_documents, json_value_after, segments, split_glued, walk
from neuronwatch.parse.prefix import strip_ansi
from neuronwatch.parse.table import loose_rows, tables
from neuronwatch.parse.units import indexes, number, size, whole


def test_segments() -> None:
    assert segments("  0%|\r  3%|\r") == ["  0%|", "  3%|"]
    assert segments("plain") == ["plain"]


def test_split_glued() -> None:
    assert split_glued("x ab1 ab2", re.compile("ab")) == ["ab1 ", "ab2"]
    assert split_glued("nothing", re.compile("ab")) == []


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=12,
)


_OBJECT = st.dictionaries(st.text(min_size=1, max_size=4), _JSON, min_size=1, max_size=3)


@given(st.lists(_OBJECT, max_size=4), st.sampled_from([None, 2]))
def test_documents_in_text(documents: list[object], indent: int | None) -> None:
    text = "\n".join(f"$ tool\n{json.dumps(document, indent=indent)}\ndone" for document in documents)
    assume(strip_ansi(text) == text)  # a key such as "[m" is what a colour looks like whose escape was lost in a paste
    assert [item.value for item in json_documents(lines_of(text))] == documents


def test_documents_behind_text_and_cut() -> None:
    assert [item.value for item in json_documents(lines_of('INFO [main] got {"a": [1, 2]} end'))] == [{"a": [1, 2]}]
    assert list(json_documents(lines_of('{"a": [1, 2'))) == []
    assert list(json_value_after('"a": [1, 2], "b": {"c": 1', "a")) == [[1, 2]]
    assert list(json_value_after('"a": [1, 2], "b": {"c": 1', "b")) == []


@pytest.mark.parametrize("line", ["[" * 50, '{"a": ', '{"a": "' + "x" * 60, "[1, 2"])
def test_many_cut_documents_stay_linear(line: str) -> None:
    lines = lines_of("\n".join([line] * 4000))
    start = time.perf_counter()
    assert list(json_documents(lines)) == []
    assert time.perf_counter() - start < 5


def test_walk() -> None:
    assert [sorted(item) for item in walk({"a": [{"b": {"c": 1}}]})] == [["a"], ["b"], ["c"]]
    deep: object = 1
    for _ in range(100):
        deep = [deep]
    assert list(walk(deep)) == []


def test_units() -> None:
    assert size("15.5GB") == int(15.5 * 1024**3)
    assert (size("8 GB"), size("0.0B"), size("1272"), size("41.5KB")) == (8 * 1024**3, 0, 1272, 42496)
    assert (size("n/a"), size(""), size("x")) == (None, None, None)
    assert indexes("0-3,8") == (0, 1, 2, 3, 8)
    assert indexes("12, 3, 4, 1") == (12, 3, 4, 1)
    assert indexes("0-99999999") == ()
    assert (number(True), number(float("nan")), number(10**400), number(3)) == (None, None, None, 3.0)
    assert (whole("7"), whole("x"), whole(2.0), whole(None)) == (7, None, 2, None)


def test_tables_without_a_gap_and_foreign_lines() -> None:
    text = "\n".join(
        [
            "+----+-----+", "| ID | CPU |", "|    | MEM |", "+----+-----+", "| 0  | 1   |", "other", "| 1  | 2   |", "+----+-----+",
            "+----+-----+", "| AB | CD  |", "+----+-----+", "| x  | y   |",
        ]
    )  # fmt: skip
    first, second = tables(lines_of(text))
    assert first.headings == ["ID", "CPU MEM"]
    assert [row.cells for row in first.rows] == [{"ID": "0", "CPU MEM": "1"}, {"ID": "1", "CPU MEM": "2"}]
    assert (first.closed, second.closed) == (True, False)
    assert [cells for _, cells in loose_rows(lines_of("| 0 | a |\n| AB | CD |"))] == [["0", "a"]]
