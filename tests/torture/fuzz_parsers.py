"""Fuzz target: every parser, the judge and the reports, on damaged fixtures.

Each parser gets the lines of the case and the case as a document directly (there an exception is not caught by anybody),
then the whole way from bytes to the three reports is gone with the shipped rule table.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from fuzz_support import campaign, fixture_pool, mutated

from neuronwatch.cli.report import as_json, as_markdown, as_text
from neuronwatch.judge import engine
from neuronwatch.judge.state import State
from neuronwatch.model.records import Event, Fact, Issue, Record, Sample
from neuronwatch.model.vocabulary import known
from neuronwatch.parse import registry
from neuronwatch.parse.api import Document
from neuronwatch.source import formats, reader, rule_files
from neuronwatch.source.lines import make_line

POOL = fixture_pool()
BYTES = [data for _, data in POOL]
RULES = rule_files.load_rule_set([rule_files.bundled("rules")])[0]
MAX_RECORDS = 500_000


def case(rng: random.Random) -> None:
    name, data = rng.choice(POOL)
    if rng.random() < 0.3:
        data += b"\n" + rng.choice(BYTES)
    data = mutated(data, rng, BYTES)
    try_parsers(name, data, rng)
    try_all(name, data)


def try_parsers(name: str, data: bytes, rng: random.Random) -> None:
    """A few of the line formats and all file formats that claim the case."""
    lines = [make_line(name, number, part) for number, part in enumerate(data[: 1 << 18].split(b"\n")[:2000], 1)]
    for line_format in rng.sample(registry.line_formats(), 12):
        check(line_format.name, line_format.parse(lines))
    document = Document(name, data, len(data) + rng.choice((0, 0, 1 << 40)))
    for file_format in registry.file_formats():
        sure = file_format.sniff(document._replace(data=data[: 1 << 16]))
        assert 0.0 <= sure <= 1.0, f"{file_format.name} is {sure} sure"
        if sure > 0:
            check(file_format.name, file_format.parse(document))


def check(name: str, records: Iterable[Record]) -> None:
    for count, record in enumerate(records):
        assert count < MAX_RECORDS, f"{name} makes records without end"
        assert isinstance(record, (Event, Fact, Sample, Issue)), f"{name}: {record!r}"
        assert not isinstance(record, Fact) or known(record.name), f"{name}: unknown fact {record.name}"


def try_all(name: str, data: bytes) -> None:
    state = State()
    found = reader.read_virtual(name, data, RULES.patterns, *formats.shipped())
    engine.observe(state, found, RULES)
    diagnosis = engine.conclude(state, RULES)
    failed = [item.reason for item in diagnosis.sources if "failed: " in item.reason and "parser " in item.reason]
    assert not failed, failed[0]
    assert not any(item.format == "rule" for item in diagnosis.sources), "a pattern was too slow"
    json.loads(as_json.render(diagnosis))
    for text in (as_markdown.render(diagnosis, True), as_text.render(diagnosis, True)):
        text.encode()
        assert "\x1b" not in text and "\0" not in text and "\u202e" not in text


if __name__ == "__main__":
    sys.exit(campaign("fuzz_parsers", case))
