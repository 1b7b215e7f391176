"""How a tool spells a setting: its flags, the one to add where none stands, and what it takes without one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from neuronwatch.model.records import Value
from neuronwatch.parse._meanings import ARGUMENTS


class Spelling(NamedTuple):
    """`names`: flags that set it, in the form of `flag_name`. `add`: the flag that may be added, "" where that is not known to be
    understood. `default`: what holds without the flag, None where it is not known. `switch`: the bare flag means true."""

    names: tuple[str, ...]
    add: str = ""
    default: Value = None
    switch: bool = False


class Own(NamedTuple):
    """The words of a command line that are the tool's own: from `start` on, with its switches and short flags; `stop`: up to the
    first word that is no flag, where the next program begins."""

    start: int
    switches: frozenset[str]
    short: Mapping[str, str]
    stop: bool = False


Spellings = Mapping[str, Spelling]


def shared(concept: str) -> Spelling:
    """The flags that mean it in any tool (`launch.<concept>`); none of them is added to a program that is not known."""
    return Spelling(tuple(name for name, (fact, _) in ARGUMENTS.items() if fact == f"launch.{concept}"))
