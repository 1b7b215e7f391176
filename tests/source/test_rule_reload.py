"""Hot reload of rules: what changed is told, what is bad leaves the last good set in place."""

from __future__ import annotations

from pathlib import Path

import pytest

from neuronwatch.source import rule_files
from neuronwatch.source.rule_reload import reload

RULE = """
id = "site.{name}"
fault = "site.{name}"
title = "title"
stage = "site"
severity = "warning"
cause = "because"
fix = ["mend"]
[ends]
how = "exit"
[[signature]]
name = "line"
pattern = '''{pattern}'''
[[sample]]
expect = "fires"
text = '''{sample}'''
[[sample]]
expect = "silent"
text = "nothing"
"""


def write(directory: Path, name: str, pattern: str = "trouble here", sample: str = "trouble here") -> Path:
    path = directory / f"{name}.toml"
    path.write_text(RULE.format(name=name, pattern=pattern, sample=sample))
    return path


@pytest.fixture
def rules(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    directory = tmp_path / "rules"
    directory.mkdir()
    write(directory, "one")
    write(directory, "two")
    return directory, rule_files.load_rule_set([directory])[0]


def test_nothing_changed_is_the_same_set(rules):
    directory, before = rules
    found = reload(before, [directory])
    assert found.rules is before and not found.is_new and not found.problems


def test_changes_are_told_and_taken(rules):
    directory, before = rules
    write(directory, "two", "other trouble", "other trouble")
    write(directory, "three")
    (directory / "one.toml").unlink()
    found = reload(before, [directory])
    assert (found.added, found.changed, found.removed) == (("site.three",), ("site.two",), ("site.one",))
    assert found.is_new and set(found.rules.rules) == {"site.two", "site.three"} and not found.problems


def test_a_moved_rule_is_no_change(rules):
    directory, before = rules
    (directory / "one.toml").rename(directory / "uno.toml")
    assert not reload(before, [directory]).is_new


@pytest.mark.parametrize("damage", ["id = ", 'colour = "red"', "\x00"])
def test_a_bad_file_keeps_the_last_good_set(rules, damage):
    directory, before = rules
    path = write(directory, "three")
    path.write_text(damage + path.read_text())
    found = reload(before, [directory])
    assert found.rules is before and not found.is_new
    assert any("three.toml" in text for text in (*found.problems, *found.notes))


def test_a_rule_that_fails_its_own_sample_keeps_the_last_good_set(rules):
    directory, before = rules
    write(directory, "two", "other trouble", "trouble of another kind")
    found = reload(before, [directory])
    assert found.rules is before and found.changed == ("site.two",)
    assert found.problems == ("site.two: sample 1: silent, must be firing",)


def test_the_same_id_twice_keeps_the_last_good_set(rules):
    directory, before = rules
    (directory / "copy.toml").write_text((directory / "one.toml").read_text())
    found = reload(before, [directory])
    assert found.rules is before and "already" in found.problems[0]


def test_an_empty_directory_keeps_the_last_good_set(rules):
    directory, before = rules
    for path in directory.iterdir():
        path.unlink()
    assert reload(before, [directory]).rules is before
