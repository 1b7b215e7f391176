"""Facts of a command line written as one would type it."""

from __future__ import annotations

from neuronwatch.dialect import facts_of_argv
from neuronwatch.model.records import Value
from neuronwatch.model.vocabulary import known
from neuronwatch.parse._shell import split_words


def facts(command: str) -> dict[str, Value]:
    """The first value of each fact, as the judge takes it; all names are in the vocabulary."""
    found: dict[str, Value] = {}
    for name, value in facts_of_argv(split_words(command)):
        assert known(name), name
        found.setdefault(name, value)
    return found


def values(command: str, name: str) -> list[Value]:
    return [value for key, value in facts_of_argv(split_words(command)) if key == name]
