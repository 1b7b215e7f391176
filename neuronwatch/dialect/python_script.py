"""A Python script or module of the user's: its flags as `arg.*`, and the meanings that tools share."""

from __future__ import annotations

from collections.abc import Sequence

from neuronwatch.dialect._argv import after_module, argument_facts, collect, module_of, program_of, read_flags
from neuronwatch.model.records import Value
from neuronwatch.parse._programs import is_python


def script_words(argv: Sequence[str]) -> tuple[str, Sequence[str]]:
    """The script or module and the words after it."""
    module = module_of(argv)
    if module:
        return module, after_module(argv)
    if argv and program_of(argv).endswith(".py"):
        return argv[0], argv[1:]
    words = argv[1:]
    for index, word in enumerate(words[:12]):
        if word == "-c":
            return "", ()
        if not word.startswith("-"):
            return word, words[index + 1 :]
    return "", ()


def speaks(argv: Sequence[str]) -> bool:
    return bool(argv) and (is_python(argv[0]) or program_of(argv).endswith(".py"))


def facts_of(argv: Sequence[str]) -> dict[str, Value]:
    entry, words = script_words(argv)
    pairs: list[tuple[str, Value]] = [("launch.entry", entry)] if entry else []
    return collect([*pairs, *argument_facts(read_flags(words).options)])
