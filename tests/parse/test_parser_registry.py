"""What holds for every format of the package: names of facts, triggers, and that no parser minds foreign evidence."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from parse_support import FIXTURES, lines_of, triggered

from neuronwatch.judge.match import pattern_of
from neuronwatch.model.records import Event, Fact, Issue, Sample
from neuronwatch.model.vocabulary import known
from neuronwatch.parse.api import Document, LineFormat
from neuronwatch.parse.registry import file_formats, formats, line_formats

FILES = sorted(path for path in FIXTURES.rglob("*") if path.is_file())
OF_MODULES = {
    "neuron_ls_table": "neuron-ls",
    "neuron_ls_json": "neuron-ls-json",
    "neuron_top": "neuron-top",
    "neuron_monitor": "neuron-monitor",
    "nrt_log": "libnrt",
    "nrt_oom": "nrt-oom",
    "nrt_infodump": "nrt-infodump",
    "nccom_log": "libnccom",
    "neuron_rtd": "neuron-rtd",
    "kernel_log": "kernel-log",
    "neuronx_cc": "neuronx-cc",
    "compile_cache_log": "compile-cache-log",
    "compile_cache_listing": "compile-cache-listing",
    "sysfs_dump": "sysfs",
}


def test_names_are_unique() -> None:
    names = [item.name for item in formats()]
    assert len(names) == len(set(names))
    assert set(OF_MODULES.values()) <= set(names)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(FIXTURES)))
def test_every_fact_of_every_parser_has_a_name(path: Path) -> None:
    data = path.read_bytes()
    lines = lines_of(data.decode("utf-8", "replace"), str(path.name))
    found = [record for item in line_formats() for record in item.parse(lines)]
    document = Document(path.name, data, len(data))
    found += [record for item in file_formats() if item.sniff(document) > 0 for record in item.parse(document)]
    assert all(isinstance(record, (Event, Fact, Sample, Issue)) for record in found)
    assert not [record.name for record in found if isinstance(record, Fact) and not known(record.name)]
    assert all(record.origin.path == path.name for record in found)


@pytest.mark.parametrize("folder", sorted(OF_MODULES))
def test_own_fixtures_are_triggered(folder: str) -> None:
    format = next(item for item in line_formats() if item.name == OF_MODULES[folder])
    for path in sorted((FIXTURES / folder).iterdir()):
        assert triggered(format, path.read_text(encoding="utf-8")), path.name


@pytest.mark.parametrize("format", line_formats(), ids=lambda item: item.name)
def test_triggers(format: LineFormat) -> None:
    assert format.triggers
    for trigger in format.triggers:
        re.compile(trigger)
    assert list(format.parse([])) == []


@pytest.mark.parametrize("name", sorted(OF_MODULES.values()))
def test_triggers_are_cheap(name: str) -> None:
    """Each needs a literal that is rare in ordinary logs, for the one scan of the evidence."""
    format = next(item for item in line_formats() if item.name == name)
    for trigger in format.triggers:
        literals = pattern_of(0, trigger).literals
        assert literals and min(map(len, literals)) >= 3, (trigger, literals)
        assert not {literal.strip().lower() for literal in literals} & {"info", "error", "warn", "status", "neuron", "model."}
