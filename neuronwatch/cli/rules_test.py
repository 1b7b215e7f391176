"""`neuronwatch rules test [ID ...]`: runs each rule's samples, the rule alone and in the whole table."""

from __future__ import annotations

import argparse
import fnmatch
import sys
from collections.abc import Iterator
from typing import NamedTuple

from neuronwatch.cli import evidence
from neuronwatch.cli.main import UsageError, one_line
from neuronwatch.judge import engine
from neuronwatch.judge.rules.compiled import RuleSet
from neuronwatch.judge.rules.model import Rule, RuleSample
from neuronwatch.judge.state import State
from neuronwatch.model.diagnosis import Diagnosis
from neuronwatch.source import rule_files
from neuronwatch.source.bundled import bundled


class SampleResult(NamedTuple):
    """`ok` with the rule alone; `answer` is the fault that the whole table names first (crowd runs only)."""

    rule: Rule
    number: int
    ok: bool
    message: str


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("ids", metavar="ID", nargs="*", help="rule ids or patterns such as 'env.*' (default: all)")
    parser.add_argument("--crowd", action="store_true",
                        help="also require that the whole table answers a firing sample with the rule's fault")  # fmt: skip
    parser.add_argument("--format", choices=("text", "json"), default="text", help="how to print the result")


def run(args: argparse.Namespace) -> int:
    directories = evidence.rule_directories(args.rules) if args.rules else [bundled("rules")]
    loaded = rule_files.load_files(directories, with_samples=True)
    for text in (*loaded.problems, *loaded.notes):
        print(one_line(str(text)))
    wanted = [rule for rule in loaded.rules if _wanted(rule.id, args.ids)]
    if args.ids and not wanted and not loaded.problems:
        raise UsageError(f"no rule matches {' '.join(args.ids)}; `neuronwatch rules list` shows the ids")
    results = list(run_samples(wanted, RuleSet(loaded.rules) if args.crowd else None))
    bad = [item for item in results if not item.ok]
    if args.format == "json":
        import json

        rows = [{"rule": r.rule.id, "sample": r.number, "ok": r.ok, "message": r.message} for r in results]
        sys.stdout.write(json.dumps({"results": rows, "problems": [str(p) for p in loaded.problems]}) + "\n")
    else:
        for item in bad:
            print(f"{item.rule.path}: sample {item.number}: {item.message}")
        print(f"{len(results) - len(bad)} samples passed, {len(bad) + len(loaded.problems)} failed ({len(wanted)} rules)")
    return 1 if bad or loaded.problems else 0


def _wanted(rule_id: str, patterns: list[str]) -> bool:
    return not patterns or any(fnmatch.fnmatch(rule_id, pattern) for pattern in patterns)


def run_samples(rules: list[Rule], crowd: RuleSet | None = None) -> Iterator[SampleResult]:
    """Judges every sample with its rule alone (fired() of other rules then is false), and with `crowd` if given."""
    for rule in rules:
        alone = RuleSet([rule])
        for index, sample in enumerate(rule.samples):
            diagnosis = judge_sample(sample, alone)
            fired = any(finding.rule == rule.id for finding in diagnosis.findings)
            if crowd is None:
                yield SampleResult(rule, index + 1, fired == sample.fires,
                                   "" if fired == sample.fires else f"{'fired' if fired else 'silent'}, "
                                   f"must be {'firing' if sample.fires else 'silent'}")  # fmt: skip
                continue
            role = next((finding.role for finding in diagnosis.findings if finding.rule == rule.id), rule.role)
            yield _in_crowd(rule, index, sample, judge_sample(sample, crowd), role)


def _in_crowd(rule: Rule, index: int, sample: RuleSample, diagnosis: Diagnosis, role: str) -> SampleResult:
    """`role` is what the rule alone makes of the sample: only where that is a cause must the whole table agree."""
    causes = [finding for finding in diagnosis.findings if finding.role == "cause"]
    answer = causes[0].fault if causes else ""
    fired = any(finding.rule == rule.id for finding in diagnosis.findings)
    if role == "cause" and sample.fires:
        ok = answer == rule.fault
        message = f"the whole table answers {answer or 'nothing'} ({causes[0].rule if causes else '-'})"
    elif sample.fires:
        ok, message = fired, "silent in the whole table"
    else:
        ok, message = not any(finding.rule == rule.id and finding.role == rule.role for finding in diagnosis.findings), (
            "fires in the whole table, must be silent")  # fmt: skip
    return SampleResult(rule, index + 1, ok, "" if ok else message)


def judge_sample(sample: RuleSample, rules: RuleSet) -> Diagnosis:
    state = State()
    engine.observe(state, evidence.of_texts(sample.files.items(), rules), rules)
    return engine.conclude(state, rules)
