"""A lock file of `neuronwatch lock write` (TOML): what kernel, driver, packages and model were when it was written.

Each entry becomes a fact `locked.<name of the fact>`, with the entry's line; `judge/derive/lock` compares them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from neuronwatch.model.records import MAX_TEXT, Fact, Issue, Origin, Record, Value
from neuronwatch.parse import _toml
from neuronwatch.parse._text import package_fact
from neuronwatch.parse.api import Document, FileFormat

SCHEMA = "neuronwatch.lock/1"
HEAD = ("schema", "written", "hostname")

LAYOUT: dict[str, dict[str, str]] = {
    "host": {
        "kernel": "host.kernel", "os": "host.os", "os_version": "host.os_version", "image": "host.image",
        "instance_type": "host.instance_type",
    },
    "driver": {"loaded": "driver.loaded", "package": "driver.package"},
    "runtime": {"version": "runtime.version", "collectives": "runtime.collectives_version"},
    "python": {"version": "python.version"},
    "model": {
        "name": "config.name", "model_type": "config.model_type", "rope_theta": "config.rope_theta",
        "rope_form": "config.rope_form", "rope_scaling": "config.rope_scaling",
        "rope_scaling_factor": "config.rope_scaling_factor", "max_position_embeddings": "config.max_position_embeddings",
        "vocab_size": "config.vocab_size", "hidden_size": "config.hidden_size",
        "num_hidden_layers": "config.num_hidden_layers", "num_attention_heads": "config.num_attention_heads",
        "num_key_value_heads": "config.num_key_value_heads", "head_dim": "config.head_dim",
        "intermediate_size": "config.intermediate_size", "dtype": "config.dtype", "quantization": "config.quantization",
        "transformers_version": "config.transformers_version", "weights_bytes": "weights.bytes",
        "adapter_base_model": "adapter.base_model", "adapter_r": "adapter.r", "adapter_alpha": "adapter.alpha",
        "artifact_batch_size": "artifact.batch_size", "artifact_num_cores": "artifact.num_cores",
        "artifact_sequence_length": "artifact.sequence_length", "artifact_compiler_version": "artifact.compiler_version",
    },
}  # fmt: skip
"""Section -> key -> fact. `[packages]` and `[tools]` hold package names as pip and the system write them."""
PACKAGE_SECTIONS = ("packages", "tools")


class Entry(NamedTuple):
    """One locked value; `line` is 1-based."""

    section: str
    key: str
    fact: str
    value: Value
    line: int | None
    text: str


class LockError(ValueError):
    """A lock file that cannot be used, with the line where that is known."""

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.line = line


def entries(text: str) -> list[Entry]:
    """The entries of a lock. Raises LockError for what is no lock of this version or has a key that does not exist."""
    try:
        data = _toml.loads(text)
    except _toml.TomlError as error:
        raise LockError(str(error), error.line) from error
    schema = data.get("schema")
    if schema != SCHEMA:
        newer = isinstance(schema, str) and schema.startswith("neuronwatch.lock/")
        raise LockError(f"schema {schema!r} is newer than this neuronwatch" if newer else f"`schema` must be {SCHEMA!r}", 1)
    lines = _lines(text)
    return [entry for section, content in data.items() for entry in _section(section, content, lines)]


def _section(section: str, content: object, lines: dict[tuple[str, str], tuple[int, str]]) -> Iterator[Entry]:
    if section in HEAD:
        return
    where = lines.get((section, ""), (None, ""))[0]
    known = LAYOUT.get(section)
    if known is None and section not in PACKAGE_SECTIONS:
        raise LockError(f"no section `{section}`{_near(section, (*LAYOUT, *PACKAGE_SECTIONS, *HEAD))}", where)
    if not isinstance(content, dict):
        raise LockError(f"`{section}` must be a section", where)
    for key, value in content.items():
        line, shown = lines.get((section, key), (None, ""))
        if known is not None and key not in known:
            raise LockError(f"no key `{key}` in [{section}]{_near(key, known)}", line)
        if known is None and not re.fullmatch(r"[A-Za-z0-9][\w.-]{0,100}", key):
            raise LockError(f"`{key}` is no package name", line)
        if not isinstance(value, (str, int, float)):
            raise LockError(f"`{key}` must be a text or a number", line)
        yield Entry(section, key, known[key] if known is not None else package_fact(key), value, line, shown)


def _near(name: str, known: object) -> str:
    from difflib import get_close_matches

    close = get_close_matches(name, list(known), 1)  # type: ignore[call-overload]  # names are str
    return f", did you mean `{close[0]}`?" if close else ""


def _lines(text: str) -> dict[tuple[str, str], tuple[int, str]]:
    """(section, key) -> (line, its text), ("section", "") for the header; TOML parsers tell no places."""
    found: dict[tuple[str, str], tuple[int, str]] = {}
    section = ""
    for number, line in enumerate(text.splitlines(), start=1):
        header = re.match(r"^\s*\[\s*\"?([\w.-]{1,100})\"?\s*\]", line)
        pair = re.match(r"^\s*\"?([\w.-]{1,120})\"?\s*=", line)
        if header:
            section = header.group(1)
            found[section, ""] = (number, line)
        elif pair:
            found.setdefault((section, pair.group(1)), (number, line))
            if not section:
                found.setdefault((pair.group(1), ""), (number, line))
    return found


def _sniff(document: Document) -> float:
    return 1.0 if SCHEMA.encode() in document.data[:4096] and b"schema" in document.data[:4096] else 0.0


def _parse(document: Document) -> Iterator[Record]:
    try:
        found = entries(document.text)
    except LockError as error:
        yield Issue(Origin(document.path, error.line), f"lock not used: {error}")
        return
    yield Fact("lock.file", document.path, Origin(document.path))
    for entry in found:
        yield Fact(f"locked.{entry.fact}", entry.value, Origin(document.path, entry.line, entry.text[:MAX_TEXT]))


FORMAT = FileFormat(name="neuronwatch-lock", kind="config", sniff=_sniff, parse=_parse)
