"""What most changes of a spec have in common."""

from __future__ import annotations

from neuronwatch.dialect import rewrite
from neuronwatch.remedy.api import Answer, Case, Refusal, changed


def stated(case: Case, concept: str) -> int | None:
    """A whole number that the command states, else what the evidence says of it."""
    number = rewrite.number(rewrite.read(case.spec, concept))
    return number if number is not None else fact(case, f"launch.{concept}")


def fact(case: Case, name: str) -> int | None:
    """A fact that is a whole number."""
    value = case.facts.get(name)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return rewrite.number(value)


def argument(case: Case, concept: str, value: int | float | str | bool, words: str) -> Answer:
    """One argument gets another value; a command that is not known is told what would be right."""
    made = rewrite.write(case.spec, concept, value, words)
    return Refusal(f"{made.why}; do it there: {words}") if isinstance(made, Refusal) else changed(words, made)


def variable(case: Case, name: str, value: str | None, words: str) -> Answer:
    """One environment variable is set, or removed (None)."""
    if rewrite.read_variable(case.spec, name, case.environ) == value:
        return Refusal(f"{name} is {'not set' if value is None else repr(value)} already")
    return changed(words, rewrite.write_variable(case.spec, name, value, words))
