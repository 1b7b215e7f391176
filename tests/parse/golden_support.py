"""Golden records and hostile input for the formats of listings, configurations and logs.

`fixtures/formats/<folder>/_expected.json` holds, for each file of the folder, what its format yields, one short line a
record. `NEURONWATCH_GOLDEN=write pytest tests/parse` writes it anew; the difference is then read in review."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path

from hypothesis import strategies as st
from parse_support import FIXTURES, PREFIXES, lines_of, prefixed, triggered

from neuronwatch.model.records import Event, Fact, Issue, Record, Sample
from neuronwatch.model.vocabulary import known
from neuronwatch.parse.api import Document, FileFormat, Format

EXPECTED = "_expected.json"
NOISE = ("0", "9", "-", "=", ":", '"', "'", "{", "}", "[", "(", ")", "\\", "\0", "\x1b[31m", "\u202e", "nan", "1e999", "9" * 20)


def document(name: str, data: bytes) -> Document:
    return Document(name, data, len(data))


def read(format: Format, name: str, data: bytes) -> list[Record]:
    """What the scan would get from one file: the whole document, or the windows around the triggers."""
    if isinstance(format, FileFormat):
        return list(format.parse(document(name, data)))
    return list(format.parse(triggered(format, data.decode("utf-8", "replace"))))


def told(record: Record) -> str:
    """A record as one line: what a reviewer must see and nothing that changes with the path."""
    place = f" :{record.origin.line}" if record.origin.line else ""
    if isinstance(record, Fact):
        return f"{record.name} = {record.value!r}{place}"
    if isinstance(record, Sample):
        index = "" if record.index is None else f" @{record.index:g}"
        return f"~{record.name} {record.value!r}{index} {record.entity}".rstrip() + place
    if isinstance(record, Event):
        return f"!{record.kind} {dict(record.fields)!r}{place}"
    return f"?{record.message}"


def files(folder: str) -> list[Path]:
    return sorted(path for path in (FIXTURES / folder).iterdir() if path.name != EXPECTED)


def check_golden(folder: str, *formats: Format) -> None:
    """Every file of the folder yields what `_expected.json` says, and only facts of the vocabulary."""
    found: dict[str, list[str]] = {}
    for path in files(folder):
        records = [record for format in formats if wants(format, path) for record in read(format, path.name, path.read_bytes())]
        assert all(known(record.name) for record in records if isinstance(record, Fact)), path
        found[path.name] = [told(record) for record in records]
    target = FIXTURES / folder / EXPECTED
    if os.environ.get("NEURONWATCH_GOLDEN") == "write":
        target.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    assert found == json.loads(target.read_text(encoding="utf-8"))


def wants(format: Format, path: Path) -> bool:
    """A file format reads only what it recognises."""
    if not isinstance(format, FileFormat):
        return True
    data = path.read_bytes()
    return format.sniff(Document(path.name, data[:65_536], len(data))) >= 0.5


def texts(folder: str) -> list[str]:
    return [path.read_bytes().decode("utf-8", "replace") for path in files(folder)]


def hostile(folder: str) -> st.SearchStrategy[str]:
    """Real lines of the format mixed with noise, cut, glued, repeated and behind launcher prefixes."""
    real = [line for text in texts(folder) for line in text.split("\n")][:400]
    line = st.one_of(
        st.sampled_from(real),
        st.sampled_from(real).flatmap(lambda text: st.integers(0, len(text)).map(lambda at: text[:at])),
        st.sampled_from(real).flatmap(lambda text: st.integers(0, len(text)).map(lambda at: text[at:])),
        st.tuples(st.sampled_from(real), st.sampled_from(real)).map("".join),
        st.tuples(st.sampled_from(real), st.sampled_from(NOISE)).map(" ".join),
        st.text(max_size=60),
        st.sampled_from(("$ ", "# x", "$ ls", "Traceback (most recent call last):", "{", "}", "[" * 300, "\t" * 50, "a" * 3000)),
    )  # fmt: skip
    body = st.lists(line, max_size=40).map("\n".join)
    return st.tuples(body, st.sampled_from(("", *PREFIXES))).map(lambda pair: prefixed(*pair))


def survive(format: Format, text: str) -> None:
    """The format does not raise, and keeps to the vocabulary, on a whole text and on its raw bytes."""
    data = text.encode("utf-8", "surrogatepass")
    if isinstance(format, FileFormat):
        item = document("evidence.txt", data)
        assert 0.0 <= format.sniff(item) <= 1.0
        records: Iterable[Record] = format.parse(item)
    else:
        records = format.parse(lines_of(text))
    for record in records:
        assert isinstance(record, (Fact, Event, Sample, Issue))
        assert not isinstance(record, Fact) or known(record.name), record
        assert len(record.origin.text) <= 2000
