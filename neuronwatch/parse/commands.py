"""Launch commands inside any text: shell traces (`+ torchrun ...`), prompts (`$ vllm serve ...`), container specs
(`CMD [...]`, `ENTRYPOINT`), lists that tools print (`Running cmd: ['torchrun', ...]`) and bare lines."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Sequence

from neuronwatch.model.records import Event, Record
from neuronwatch.parse._lazy import lazy
from neuronwatch.parse._programs import LAUNCHERS, WRAPPERS, base, command_event, is_launch, is_python, looks_typed
from neuronwatch.parse._shell import split_commands
from neuronwatch.parse._text import prompt_command
from neuronwatch.parse.api import Line, LineFormat

MAX_JOINED = 120
"""Continuation lines of one command."""

_NOTEBOOK = lazy(r"^\s{0,8}[!%](?=[\w./])")
_TRACE = lazy(r"^\s{0,8}\+{1,4} (\S.{0,8000})$")
_EXEC_FORM = lazy(r"^\s{0,8}(?:CMD|ENTRYPOINT)\s{1,8}(\S.{0,8000})$")
_PRINTED = lazy(
    r"(?i)\b(?:running(?: the)?|executing|launch(?:ing)?|exec|run)?\s{0,2}(?:cmd|command(?: line)?)"
    r"\s?(?:is)?\s?:\s{1,3}(\[.{2,8000}\]|\S.{3,8000})$"
)
_LIST = lazy(r"^\s{0,12}(?:-\s{1,4})?(?:command|args|cmd|entrypoint)\s?:\s{0,4}(\[.{2,4000}\])\s{0,8}$", re.I)
_BARE = lazy(
    r"^\s{0,12}(?:[A-Z_][A-Z0-9_]{1,60}=\S{0,300}\s{1,4}){0,20}(?:sudo |nohup |time |exec |env |xvfb-run )?[\w./\-]{2,200}(?:\s|$)"
)


def _continued(lines: Sequence[Line], index: int, text: str) -> tuple[str, int]:
    """`text` joined with the lines that a trailing backslash continues, and the index of the last of them."""
    joined = [text]
    while joined[-1].rstrip().endswith("\\") and index + 1 < len(lines) and len(joined) < MAX_JOINED:
        following = lines[index + 1].body
        joined[-1] = joined[-1].rstrip()[:-1]
        joined.append(re.sub(r"^\s{0,8}>\s", "", following))
        index += 1
    return " ".join(part.strip() for part in joined), index


def list_items(text: str) -> list[str] | None:
    """A JSON or Python list of words."""
    for read in (json.loads, ast.literal_eval):
        try:
            value = read(text[:8000])
        except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
            continue
        if isinstance(value, (list, tuple)) and value and all(isinstance(item, (str, int, float)) for item in value):
            return [str(item) for item in value]
    return None


def _from_words(line: Line, words: list[str], raw: str) -> Iterator[Event]:
    if words[:1] in (["/bin/sh"], ["sh"], ["bash"], ["/bin/bash"]) and len(words) > 2 and words[1] in ("-c", "-lc", "-ec"):
        yield from _from_text(line, words[2], raw, typed=True)
    elif is_launch(words):
        yield command_event(line, words, raw)


def _from_text(line: Line, text: str, raw: str, typed: bool) -> Iterator[Event]:
    for words in split_commands(text):
        if is_launch(words) and (typed or looks_typed(words)):
            yield command_event(line, words, raw)


def _begins(text: str) -> bool:
    """Whether the first word that is no assignment can start a command (cheap: most lines of a log do not)."""
    for word in text.split(None, 24)[:24]:
        if "=" in word and word[0].isalpha():
            continue
        first = base(word)
        return (
            first in LAUNCHERS or first in WRAPPERS or is_python(word) or first in ("bash", "sh") or first.endswith((".sh", ".py"))
        )
    return False


def _one(line: Line, text: str) -> Iterator[Event]:
    text = _NOTEBOOK.sub("", text)
    trace = _TRACE.match(text)
    prompt = prompt_command(text)
    if trace or prompt:
        yield from _from_text(line, trace.group(1) if trace else str(prompt), text.strip(), typed=True)
        return
    form = _EXEC_FORM.match(text) or _LIST.match(text)
    if form:
        items = list_items(form.group(1)) if form.group(1).startswith("[") else None
        if items:
            yield from _from_words(line, items, text.strip())
        elif not form.group(1).startswith("["):
            yield from _from_text(line, form.group(1), text.strip(), typed=True)
        return
    low = text[:8200].lower()
    printed = _PRINTED.search(text) if "cmd" in low or "command" in low else None
    if printed:
        items = list_items(printed.group(1)) if printed.group(1).startswith("[") else None
        if items:
            yield from _from_words(line, items, text.strip())
        elif not printed.group(1).startswith("["):
            yield from _from_text(line, printed.group(1), text.strip(), typed=False)
        return
    if _BARE.match(text) and _begins(text):
        yield from _from_text(line, text, text.strip(), typed=False)


def _parse(lines: Sequence[Line]) -> Iterator[Record]:
    index = 0
    while index < len(lines):
        line = lines[index]
        text, index = _continued(lines, index, line.body)
        index += 1
        # the wrapper's own compile commands are many, and its parser reads them
        if "NEURON_CC_WRAPPER" in text or "Call compiler with cmd" in text:
            continue
        yield from _one(line, text)


FORMAT = LineFormat(
    name="command",
    wide=True,
    kind="script",
    triggers=(
        r"(?:^|[\s/!'\"])(?:torchrun|accelerate launch|optimum-cli|vllm serve|neuron_parallel_compile|inference_demo|deepspeed)\s",
        r"(?:^|[\s/'\"])(?:docker|podman|nerdctl) (?:container )?run\s",
        r"(?:^|[\s/'\"])(?:srun|sbatch|mpirun|mpiexec|text-generation-launcher|djl-serving|torchserve|tritonserver)\s",
        r"(?:^|[\s/'\"])python[0-9.]{0,5} (?:-[a-zA-Z]{1,3} ){0,3}(?:-m \S|\S{1,200}\.py\b)",
        r"(?:^|[\s/'\"])neuronx?-cc compile\s",
        r"(?:CMD|ENTRYPOINT)\s{1,8}\S",
        r"(?i)(?:cmd|command(?: line)?)\s?:\s{1,3}\S",
        r"^\s{0,8}\+{1,4} (?:\S{1,200} ){0,6}\S{0,200}\.(?:sh|py)",
        r"['\"](?:torchrun|accelerate|vllm|neuron_parallel_compile|optimum-cli|python3?)['\"]",
    ),
    parse=_parse,
    before=4,
    after=60,
)
