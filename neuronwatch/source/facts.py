"""Facts alone, without rules: of a host, of files, and of a lock file. For verbs that compare and do not judge."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from neuronwatch.judge import engine
from neuronwatch.judge.evidence import Evidence
from neuronwatch.judge.facts import FactsView
from neuronwatch.judge.match import Pattern
from neuronwatch.judge.rules.compiled import RuleSet
from neuronwatch.judge.state import State
from neuronwatch.model.diagnosis import SourceReport
from neuronwatch.model.records import Fact
from neuronwatch.source import formats, reader
from neuronwatch.source.host import HostRoot, host_sources

MODEL_FILES = (
    "config.json", "adapter_config.json", "tokenizer_config.json", "neuron_config.json", "model.safetensors.index.json",
)  # fmt: skip
"""What is read of a model directory: small files, never the weights."""


def of_host(root: HostRoot, python: str | None = None, patterns: Sequence[Pattern] = ()) -> Iterator[Evidence]:
    """The live host: its virtual files go through the same parsers as evidence from disk. With the `patterns` of rules it
    is what is judged."""
    for item in host_sources(root, python):
        if isinstance(item, (Fact, SourceReport)):
            yield item
        else:
            yield from reader.read_virtual(item.path, item.data, patterns, *formats.shipped())


def of_paths(paths: Sequence[Path]) -> Iterator[Evidence]:
    yield from reader.read_evidence(paths, (), *formats.shipped())


def of_model(directory: Path) -> Iterator[Evidence]:
    """Model facts of a directory, each file under its own name."""
    for name in MODEL_FILES:
        path = directory / name
        if path.is_file():
            yield from of_paths([path])


def of_bytes(path: str, data: bytes) -> Iterator[Evidence]:
    yield from reader.read_virtual(path, data, (), *formats.shipped())


def gather(evidence: Iterable[Evidence]) -> FactsView:
    """All facts of the evidence with what is derived from them."""
    state = State()
    rules = RuleSet(())
    engine.observe(state, evidence, rules)
    return engine.gather(state)[0]
