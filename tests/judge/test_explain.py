"""How rules stand: true, held back, blind, never seen; and the conditions of one of them."""

from __future__ import annotations

from neuronwatch.judge import explain
from neuronwatch.judge.live import Watch
from neuronwatch.judge.rules.compiled import RuleSet
from neuronwatch.model.live import Now
from neuronwatch.model.records import Fact, Origin
from neuronwatch.source import rule_files

NOW = Now(1_780_000_000.0, 100.0)


def bundled() -> RuleSet:
    return rule_files.load_rule_set(None)[0]


def test_states_come_from_the_last_judgement() -> None:
    watch = Watch(bundled())
    assert watch.standings(NOW) == {} and watch.why("hw.uncorrectable-memory") is None
    watch.facts("sysfs", [Fact("neuron.mem_ecc_uncorrected", 3, Origin("host:/sys/x"))], NOW)
    watch.conclude(NOW, ())
    stands = watch.standings(NOW)
    assert set(stands) == set(bundled().rules)
    assert {stand.state for stand in stands.values()} >= {"never seen", "blind"}
    assert all(stand.reason for stand in stands.values() if stand.state == "blind")


def test_why_tells_every_condition_and_changes_nothing() -> None:
    watch = Watch(bundled())
    watch.conclude(NOW, ())
    before = watch.standings(NOW)
    for rule in bundled().rules.values():
        out = watch.why(rule.id)
        assert out is not None
        assert len(out.checks) >= len(rule.signatures) + len(rule.joins) or out.triggers
    assert watch.standings(NOW) == before
    assert watch.why("no.such-rule") is None


def test_words_for_what_is_blind_are_short() -> None:
    assert explain._named({f"fact.{number:02}" for number in range(9)}).endswith("and 3 more")
