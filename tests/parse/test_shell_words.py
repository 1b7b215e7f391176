"""Shell text as words: quotes, operators, redirections, comments; nothing is run, nothing raises."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuronwatch.parse._shell import MAX_WORDS, put_in, split_assignments, split_commands


@pytest.mark.parametrize(
    ("text", "commands"),
    [
        ("a b  c", [["a", "b", "c"]]),
        ('a \'b c\' "d \\" e" f\\ g', [["a", "b c", 'd " e', "f g"]]),
        ("a && b || c; d | e & f", [["a"], ["b"], ["c"], ["d"], ["e"], ["f"]]),
        ("a --n 2 > out.log 2>&1 rest", [["a", "--n", "2", "rest"]]),
        ("a 2>/dev/null &> x", [["a"]]),
        ("a $(b | c) ${D} `e`", [["a", "$(b | c)", "${D}", "`e`"]]),
        ("a # comment 'unclosed", [["a"]]),
        ("a x#y", [["a", "x#y"]]),
        ("(cd /x && a b)", [["cd", "/x"], ["a", "b"]]),
        ("a 'unclosed", [["a", "unclosed"]]),
        ("a ''", [["a", ""]]),
        ("X='1 2' a", [["X=1 2", "a"]]),
    ],
)
def test_words(text: str, commands: list[list[str]]) -> None:
    assert split_commands(text) == commands


def test_assignments_come_first() -> None:
    assert split_assignments(["A=1", "B=x=y", "cmd", "C=3"]) == ({"A": "1", "B": "x=y"}, ["cmd", "C=3"])


def test_literals() -> None:
    assert put_in("$A ${A}b ${B:-2} ${C-3} $D $(x)", {"A": "1", "B": "9"}) == "1 1b 9 3 $D $(x)"


@given(st.text(alphabet="ab '\"\\$(){}`#;&|<>=\n\t1", max_size=400))
def test_never_raises(text: str) -> None:
    commands = split_commands(text)
    assert all(commands)
    assert sum(len(words) for words in commands) <= MAX_WORDS
    put_in(text, {"a": "b"})
