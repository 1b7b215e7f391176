"""Dockerfiles: base image, environment, the start command, and whether the kernel driver is installed in the image."""

from __future__ import annotations

import re
from collections.abc import Iterator

from neuronwatch.model.records import Record
from neuronwatch.parse._lazy import lazy
from neuronwatch.parse._meanings import of_environment
from neuronwatch.parse._programs import command_event, is_launch
from neuronwatch.parse._shell import ASSIGNMENT, split_commands
from neuronwatch.parse._text import document_lines, fact
from neuronwatch.parse.api import Document, FileFormat
from neuronwatch.parse.commands import list_items
from neuronwatch.parse.script import Statement, statements

_INSTRUCTION = lazy(
    r"^\s{0,8}(FROM|RUN|CMD|ENTRYPOINT|ENV|ARG|COPY|ADD|WORKDIR|EXPOSE|LABEL|USER|VOLUME|SHELL|HEALTHCHECK|STOPSIGNAL|ONBUILD)\s{1,20}(\S.{0,16000})$",
    re.I,
)


def _sniff(document: Document) -> float:
    found = statements(document_lines(document)[:400])
    kinds = [match.group(1).upper() for item in found if (match := _INSTRUCTION.match(item.text))]
    if "FROM" not in kinds[:6] or len(kinds) < 2:
        return 0.0
    return 0.9 if len(kinds) >= len(found) * 0.7 else 0.0


def _parse(document: Document) -> Iterator[Record]:
    entrypoint: list[str] = []
    start: Statement | None = None
    for item in statements(document_lines(document)):
        match = _INSTRUCTION.match(item.text)
        if not match:
            continue
        kind, rest = match.group(1).upper(), match.group(2).strip()
        if kind == "FROM":
            words = [word for word in rest.split() if not word.startswith("--")]
            if words and words[0].lower() != "scratch":
                yield fact(item.line, "launch.image", words[0])
        elif kind == "ENV":
            words = (split_commands(rest) or [[]])[0]
            if words and not ASSIGNMENT.match(words[0]) and len(words) > 1:
                words = [f"{words[0]}={' '.join(words[1:])}"]
            for word in words:
                assigned = ASSIGNMENT.match(word)
                if assigned:
                    for name, value in of_environment(assigned.group(1), assigned.group(2)):
                        yield fact(item.line, name, value)
        elif kind in ("CMD", "ENTRYPOINT"):
            words = (list_items(rest) or []) if rest.startswith("[") else (split_commands(rest) or [[]])[0]
            if kind == "ENTRYPOINT":
                entrypoint = words
                start = item
                continue
            whole = words if is_launch(words) else entrypoint + words
            start = None
            if is_launch(whole):
                yield command_event(item.line, whole, item.text)
    if start is not None and is_launch(entrypoint):
        yield command_event(start.line, entrypoint, start.text)


FORMAT = FileFormat(name="dockerfile", kind="script", sniff=_sniff, parse=_parse)
