"""A Python script or module of the user's: its flags as `arg.*`, and the meanings that tools share."""

from __future__ import annotations

from collections.abc import Sequence

from neuronwatch.dialect._argv import COMMON_SWITCHES, after_module, argument_facts, collect, module_of, program_of, read_flags
from neuronwatch.dialect._spelling import Own, Spelling, shared
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


SPELLINGS = {
    concept: shared(concept)
    for concept in (
        "per_device_batch", "grad_accum", "batch_size", "num_proc", "num_workers", "tp", "num_cores", "max_num_seqs",
        "max_model_len", "sequence_length", "cache_dir", "rope_theta", "workers", "output_dir",
    )
}  # fmt: skip
SPELLINGS["port"] = Spelling(("master_port",))
"""Flags of an unknown script are changed where they stand; none is added to it."""


def own(argv: Sequence[str]) -> Own:
    """The words after the script or module; the end of the line where there is none (`python -c`)."""
    entry, words = script_words(argv)
    return Own(len(argv) - len(words) if entry else len(argv), COMMON_SWITCHES, {})


def speaks(argv: Sequence[str]) -> bool:
    return bool(argv) and (is_python(argv[0]) or program_of(argv).endswith(".py"))


def facts_of(argv: Sequence[str]) -> dict[str, Value]:
    entry, words = script_words(argv)
    pairs: list[tuple[str, Value]] = [("launch.entry", entry)] if entry else []
    return collect([*pairs, *argument_facts(read_flags(words).options)])
