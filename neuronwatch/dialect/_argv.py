"""Words of a command line as flags and positionals. Tools differ in which flags take a value, so each dialect names its
switches; everything else takes the next word unless that is a flag."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from neuronwatch.model.records import Value
from neuronwatch.parse._lazy import lazy
from neuronwatch.parse._meanings import flag_name, of_argument
from neuronwatch.parse._programs import base, is_python
from neuronwatch.parse._text import scalar

MAX_WORDS = 2_000

_NUMBER = lazy(r"^-[0-9.]")
_BOOL = lazy(r"^(?:true|false|yes|no|0|1)$", re.IGNORECASE)

COMMON_SWITCHES = frozenset(
    [
        "do_train",
        "do_eval",
        "do_predict",
        "overwrite_output_dir",
        "gradient_checkpointing",
        "trust_remote_code",
        "enforce_eager",
        "enable_prefix_caching",
        "push_to_hub",
        "use_cache",
        "verbose",
        "disable_embeddings",
        "debug",
        "resume",
        "no_cache",
        "async_save",
        "save_compiled",
        "pre_compile_graphs",
        "enable_chunked_prefill",
        "disable_log_requests",
        "disable_log_stats",
        "allow_non_cached_model",
        "dynamic_batch_size",
        "inline_weights_neff",
        "disable_neuron_cache",
        "bf16",
        "fp16",
        "tf32",
        "zero_1",
        "use_zero_1",
        "use_meta_device_init",
        "sequence_parallel_enabled",
        "selective_checkpoint_enabled",
        "use_mix_precision",
    ]
)
"""Flags that may stand without a value before a positional; a following `true` or `1` still belongs to them."""


class Flags(NamedTuple):
    """`options` in order, names as fact names; a bare switch is True. `rest` are the words from the first positional on when
    `stop` was asked for, else all positionals."""

    options: tuple[tuple[str, Value], ...]
    rest: tuple[str, ...]

    def get(self, *names: str) -> Value:
        """The last value of the first of these flags that is present, else None."""
        for name in names:
            found = [value for key, value in self.options if key == name]
            if found:
                return found[-1]
        return None

    def all(self, *names: str) -> list[Value]:
        return [value for key, value in self.options if key in names]


class Slot(NamedTuple):
    """A flag where it stands: `at`, the place of its word; its `name` as a fact name; the `text` of its value (None: bare),
    and whether that is `joined` to it by `=` (else it is the next word)."""

    at: int
    name: str
    text: str | None
    joined: bool


def slots(
    words: Sequence[str],
    switches: Collection[str] = COMMON_SWITCHES,
    short: Mapping[str, str] | None = None,
    stop: bool = False,
) -> tuple[list[Slot], list[int]]:
    """The flags of `read_flags` where they stand, and the places of the positionals. With `stop` the first positional ends the
    flags, and it and all that follow are positionals."""
    found: list[Slot] = []
    positionals: list[int] = []
    short = short or {}
    index, end = 0, min(len(words), MAX_WORDS)
    while index < end:
        word = words[index]
        index += 1
        if word == "--":
            positionals.extend(range(index, end))
            break
        if not word.startswith("-") or len(word) < 2 or _NUMBER.match(word):
            if stop:
                return found, list(range(index - 1, end))
            positionals.append(index - 1)
            continue
        key, joined, text = word.partition("=")
        name = flag_name(short.get(key, key))
        if joined:
            found.append(Slot(index - 1, name, text, True))
            continue
        following = words[index] if index < end else None
        takes = following is not None and not (following.startswith("-") and len(following) > 1 and not _NUMBER.match(following))
        if name in switches or key in switches:
            takes = takes and bool(_BOOL.match(following or "")) and not stop
        if takes and following is not None:
            found.append(Slot(index - 1, name, following, False))
            index += 1
        else:
            found.append(Slot(index - 1, name, None, False))
    return found, positionals


def read_flags(
    words: Sequence[str],
    switches: Collection[str] = COMMON_SWITCHES,
    short: Mapping[str, str] | None = None,
    stop: bool = False,
) -> Flags:
    """Reads `--name value`, `--name=value`, `-x value` (`short` gives long names; "-it" of several letters is one switch where
    it is named in `switches`). With `stop`, the first positional ends the flags: what follows belongs to another program."""
    found, positionals = slots(words, switches, short, stop)
    options = tuple((slot.name, True if slot.text is None else scalar(slot.text)) for slot in found)
    return Flags(options, tuple(words[index] for index in positionals))


def argument_facts(options: Sequence[tuple[str, Value]]) -> Iterator[tuple[str, Value]]:
    """`arg.*` of every flag, and the `launch.*` facts of those whose meaning tools share."""
    for name, value in options:
        if not name:
            continue
        yield f"arg.{name}", value
        yield from of_argument(name, value)


def collect(pairs: Iterator[tuple[str, Value]] | Sequence[tuple[str, Value]]) -> dict[str, Value]:
    """One value a name: a later flag overrides an earlier one, as it does for the tool."""
    return dict(pairs)


def module_of(argv: Sequence[str]) -> str:
    """The module of `python -m MODULE`, else ""."""
    if not argv or not is_python(argv[0]):
        return ""
    for index, word in enumerate(argv[1:8], start=1):
        if word == "-m" and index + 1 < len(argv):
            return argv[index + 1]
        if not word.startswith("-"):
            return ""
    return ""


def after_module(argv: Sequence[str]) -> Sequence[str]:
    """The words after `python -m MODULE`."""
    return argv[argv.index("-m") + 2 :] if "-m" in argv else ()


def program_of(argv: Sequence[str]) -> str:
    return base(argv[0]) if argv else ""
