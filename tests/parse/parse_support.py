"""Builds lines from text as the reader does, and finds the fixtures."""

from __future__ import annotations

import json
import os
import random
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from hypothesis import strategies as st

from neuronwatch.model.records import Event, Fact, Issue, Record, Sample
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
    """Lines as the reader makes them: numbered from 1, without ANSI escapes, NULs and what `\\r` overwrote, prefixes
    peeled."""
    found = []
    for number, raw in enumerate(text.split("\n"), start=1):
        raw = raw.rstrip("\r").rpartition("\r")[2].replace("\0", "")
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
    """The first value of each fact, as the judge takes it where none is taken back."""
    values: dict[str, object] = {}
    for record in found:
        if isinstance(record, Fact):
            assert known(record.name), record.name
            if record.value is not None or not record.past:
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
    patterns = [re.compile(trigger) for trigger in format.triggers]
    lines = lines_of(text)
    wanted: set[int] = set()
    for index, line in enumerate(lines):
        if any(pattern.search(line.text) for pattern in patterns):
            wanted.update(range(max(0, index - format.before), min(len(lines), index + format.after + 1)))
    return [lines[index] for index in sorted(wanted)]


# ------------------------------------------------------------------------------------------------------ golden results


def summary(found: Iterable[Record]) -> dict[str, object]:
    """What a golden file holds of the records of one fixture."""
    found = list(found)
    kinds: dict[str, int] = {}
    series: dict[str, list[object]] = {}
    for record in found:
        if isinstance(record, Event):
            kinds[record.kind] = kinds.get(record.kind, 0) + 1
        elif isinstance(record, Sample):
            series.setdefault(record.name, []).append([record.entity, record.value])
    return {
        "facts": [
            [record.name, _plain(record.value), record.entity, record.origin.line] for record in found if isinstance(record, Fact)
        ],
        "events": kinds,
        "samples": {name: [len(values), *values[:4]] for name, values in series.items()},
        "issues": sum(isinstance(record, Issue) for record in found),
    }


def _plain(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value


def check_golden(format: LineFormat, folder: str) -> None:
    """Compares the records of every fixture in a folder with `golden/<folder>.json`. After a deliberate change, run the
    test with NEURONWATCH_WRITE_GOLDEN=1 and read the diff."""
    path = Path(__file__).parent / "golden" / f"{folder}.json"
    actual = {item.name: summary(format.parse(triggered(format, item.read_text(encoding="utf-8")))) for item in fixtures(folder)}
    text = json.dumps(actual, indent=1, sort_keys=True, ensure_ascii=False)
    text = re.sub(r"\[\s+([^\[\]{}]*?)\s+\]", lambda found: "[" + re.sub(r"\n\s+", " ", found.group(1)) + "]", text)
    if os.environ.get("NEURONWATCH_WRITE_GOLDEN"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text + "\n", encoding="utf-8")
    assert json.loads(text) == json.loads(path.read_text(encoding="utf-8"))


# -------------------------------------------------------------------------------------------------------- any evidence

_NOISE = st.text(st.characters(codec="utf-8", exclude_categories=("Cs",)), max_size=80)


@st.composite
def damaged(draw: st.DrawFn, folder: str) -> str:
    """Lines of the fixtures of a folder: some lines, cut at both ends, glued, prefixed, overwritten, mixed with noise."""
    pool = [line for item in fixtures(folder) for line in item.read_text(encoding="utf-8").split("\n")[:120]]
    lines = []
    for _ in range(draw(st.integers(0, 14))):
        line = draw(st.sampled_from(pool))
        action = draw(st.integers(0, 7))
        if action == 1:
            line = line[: draw(st.integers(0, len(line)))]
        elif action == 2:
            line = line[draw(st.integers(0, len(line))) :]
        elif action == 3:
            line += draw(st.sampled_from(pool))
        elif action == 4:
            line = draw(st.sampled_from(PREFIXES)) + line
        elif action == 5:
            line = draw(_NOISE)
        elif action == 6:
            at = draw(st.integers(0, len(line)))
            line = line[:at] + draw(st.sampled_from(["\r", "\x1b[31m", "\x00", "�", "9" * 40, "|", "{", '"', " "])) + line[at:]
        lines.append(line)
    return "\n".join(lines)


def check_never_raises(format: LineFormat, text: str) -> None:
    """Any text gives records with known names, whole or in chunks."""
    lines = lines_of(text)
    for chunk in (lines, lines[1:], lines[: len(lines) // 2], lines[len(lines) // 2 :], lines[::2], []):
        for record in format.parse(chunk):
            assert isinstance(record, (Event, Fact, Sample, Issue))
            assert not isinstance(record, Fact) or known(record.name), record


def check_prefixes(format: LineFormat, text: str, ignore: Sequence[str] = ()) -> None:
    """A launcher prefix on every line changes no fact."""
    plain = facts(format.parse(lines_of(text)))
    for prefix in PREFIXES:
        found = facts(format.parse(lines_of(prefixed(text, prefix))))
        assert {k: v for k, v in found.items() if k not in ignore} == {k: v for k, v in plain.items() if k not in ignore}, prefix


FOREIGN = """{'loss': 2.31, 'grad_norm': 0.91, 'learning_rate': 1e-05, 'epoch': 0.02}
  3%|███▏      | 31/1000 [02:11<1:08:11,  4.22s/it]
INFO 07-24 10:11:12 [metrics.py:455] Avg prompt throughput: 0.0 tokens/s, Running: 1 reqs, Waiting: 0 reqs
Traceback (most recent call last):
  File "/opt/venv/bin/train.py", line 3, in <module>"""


def check_interleaving(format: LineFormat, text: str) -> None:
    """Lines of another writer in between change no fact."""
    plain = facts(format.parse(lines_of(text)))
    for seed in range(5):
        assert facts(format.parse(lines_of(interleaved(text, FOREIGN, seed)))) == plain
