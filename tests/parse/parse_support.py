"""Builds lines from text as the reader does, and finds the fixtures."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from pathlib import Path

from neuronwatch.model.records import Event, Fact, Record, Sample
from neuronwatch.model.vocabulary import known
from neuronwatch.parse.api import Line, LineFormat
from neuronwatch.parse.prefix import peel, strip_ansi

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures" / "formats"

PREFIXES = (
    "[rank3]: ",
    "(EngineCore_0 pid=22) ",
    "(RayTrainWorker pid=123, ip=10.0.0.1) ",
    "2026-08-21T10:14:02.883112Z ",
    "Nov 13 00:24:25 ip-10-1-22-7 job[321]: ",
    "[pod/llm-0/server] ",
    "llm-1  | ",
    "[1,3]<stderr>:",
    "2026-08-21T10:14:02,883 [WARN ] W-9000-model_1.0-stderr MODEL_LOG - ",
    "[INFO ] PyProcess - W-100-model-stdout: ",
)


def lines_of(text: str, path: str = "evidence.txt", year: int | None = None) -> list[Line]:
    """Lines as the reader makes them: numbered from 1, without ANSI escapes, prefixes peeled."""
    found = []
    for number, raw in enumerate(text.split("\n"), start=1):
        clean = strip_ansi(raw.rstrip("\r"))
        peeled = peel(clean, year)
        found.append(Line(path, number, clean, peeled.body, peeled.rank, peeled.time, peeled.host))
    return found


def fixture(name: str) -> str:
    return (FIXTURES / name).read_text(encoding="utf-8")


def fixtures(folder: str) -> list[Path]:
    return sorted((FIXTURES / folder).iterdir())


def records(format: LineFormat, text: str, **options: int) -> list[Record]:
    return list(format.parse(lines_of(text, **options)))


def facts(found: Iterable[Record]) -> dict[str, object]:
    """The first value of each fact, as the judge takes it."""
    values: dict[str, object] = {}
    for record in found:
        if isinstance(record, Fact):
            assert known(record.name), record.name
            values.setdefault(record.name, record.value)
    return values


def readings(found: Iterable[Record], name: str) -> list[object]:
    return [record.value for record in found if isinstance(record, Fact) and record.name == name]


def events(found: Iterable[Record], kind: str) -> list[Event]:
    return [record for record in found if isinstance(record, Event) and record.kind == kind]


def samples(found: Iterable[Record], name: str) -> list[Sample]:
    return [record for record in found if isinstance(record, Sample) and record.name == name]


def prefixed(text: str, prefix: str) -> str:
    return "\n".join(prefix + line for line in text.split("\n"))


def interleaved(first: str, second: str, seed: int) -> str:
    """Two writers in one file: the order of each is kept."""
    chooser = random.Random(seed)
    streams: list[list[str]] = [first.split("\n"), second.split("\n")]
    mixed: list[str] = []
    while any(streams):
        stream = chooser.choice([item for item in streams if item])
        mixed.append(stream.pop(0))
    return "\n".join(mixed)


def triggered(format: LineFormat, text: str) -> Sequence[Line]:
    """The lines that the scan would hand to the format: windows around its triggers."""
    import re

    patterns = [re.compile(trigger) for trigger in format.triggers]
    lines = lines_of(text)
    wanted: set[int] = set()
    for index, line in enumerate(lines):
        if any(pattern.search(line.text) for pattern in patterns):
            wanted.update(range(max(0, index - format.before), min(len(lines), index + format.after + 1)))
    return [lines[index] for index in sorted(wanted)]
