"""The shipped rule table: every fault has a rule, every sample holds, alone and in the whole table, the docs are fresh."""

from __future__ import annotations

from functools import lru_cache

import pytest

from neuronwatch.cli.main import main
from neuronwatch.cli.rules_test import run_samples
from neuronwatch.data import taxonomy
from neuronwatch.judge.rules.compiled import RuleSet
from neuronwatch.source import rule_files


@lru_cache(maxsize=1)
def loaded():
    return rule_files.load_files([rule_files.bundled("rules")], with_samples=True)


@lru_cache(maxsize=1)
def crowd():
    return RuleSet(loaded().rules)


def ids():
    return sorted(rule.id for rule in loaded().rules)


def test_no_problems():
    assert not loaded().problems


def test_every_fault_has_a_rule():
    assert not set(taxonomy.faults()) - {rule.fault for rule in loaded().rules}


def test_faults_of_the_article_have_three_wordings():
    rules = loaded().rules
    for fault, row in taxonomy.faults().items():
        if row["article"]:
            firing = sum(sample.fires for rule in rules if rule.fault == fault for sample in rule.samples)
            assert firing >= 3, fault


@pytest.mark.parametrize("rule_id", ids())
def test_samples_alone_and_in_the_table(rule_id):
    rule = crowd().rules[rule_id]
    bad = [item.message for item in run_samples([rule]) if not item.ok]
    bad += [f"in the table: sample {item.number}: {item.message}" for item in run_samples([rule], crowd()) if not item.ok]
    assert not bad


def test_yields_to_names_exist():
    rules = loaded().rules
    names = {rule.id for rule in rules} | {rule.fault for rule in rules}
    for rule in rules:
        for name in rule.yields_to:
            assert name.endswith(".*") or name in names, f"{rule.path}: yields_to {name}"


def test_reference_is_fresh(capsys):
    assert main(["rules", "docs", "docs/rules", "--check"]) == 0, capsys.readouterr().out
