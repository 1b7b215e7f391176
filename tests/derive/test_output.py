"""Nonsense by form: word salad, repetition, digits glued to words; short or dull but well-formed text is not it."""

from __future__ import annotations

import pytest

from neuronwatch.judge.derive import output
from neuronwatch.judge.facts import FactsView
from neuronwatch.model.records import Fact, Origin

NONSENSE = [
    "the capital of : : : in of in the the the the the",
    "My favorite place on earth is the the and the of the, 2.\n the  the\n\n",
    "078\nI think9193).210 6747138398\n\n0\n\nSo6\n\n *.2010006,529551561524279",
    "One of my fondest memory is a a a a a a a a a a",
    "\n" * 512,
]
SENSE = [
    " Paris.",
    "The capital of France is Paris, a city on the river Seine with about two million inhabitants.",
    "def f(x):\n    return [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]",
    "It is what it is, and that is that; so be it, as he said, and I do not mind it at all, to be honest with you.",
    "| 2024-01-01 | 1,204.50 | 88 |\n| 2024-01-02 | 1,304.50 | 91 |",
    "",
]


@pytest.mark.parametrize("text", NONSENSE)
def test_nonsense(text: str) -> None:
    assert output.is_nonsense(text)


@pytest.mark.parametrize("text", SENSE)
def test_sense(text: str) -> None:
    assert not output.is_nonsense(text)


def test_one_reading_for_each_text() -> None:
    facts = FactsView([Fact("output.text", text, Origin("r", line)) for line, text in enumerate((SENSE[1], NONSENSE[0]), 1)])
    assert [fact.value for fact in output.derive(facts)] == [False, True]
