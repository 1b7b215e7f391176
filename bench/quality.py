"""Prints how good the diagnosis is: the article's faults as a table, and the figures over the public cases.

    python bench/quality.py             # article table, case figures, rule samples (Markdown on stdout)
    python bench/quality.py --article   # the article table alone (a few seconds)
    python bench/quality.py --write     # the same, written between the markers of docs/quality.md
    python bench/quality.py --check     # exit 1 if the article table in docs/quality.md is not today's

Everything is judged by the shipped rule table alone; drop-in rules of the user take no part.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from neuronwatch.cli.rules_test import run_samples
from neuronwatch.judge import engine
from neuronwatch.judge.rules.compiled import RuleSet
from neuronwatch.judge.state import State
from neuronwatch.model.diagnosis import Diagnosis, Finding
from neuronwatch.source import formats, reader, rule_files
from neuronwatch.source.bundled import bundled

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parent.parent
ARTICLE = ROOT / "fixtures" / "article"
CASES = ROOT / "fixtures" / "cases"
PAGE = ROOT / "docs" / "quality.md"
WORDINGS = ("article", "today", "other", "twin")


@lru_cache(maxsize=1)
def rules() -> RuleSet:
    return rule_files.load_rule_set([bundled("rules")])[0]


def diagnose(paths: Sequence[Path]) -> Diagnosis:
    state = State()
    found = reader.read_evidence(list(paths), rules().patterns, *formats.shipped())
    engine.observe(state, found, rules())
    return engine.conclude(state, rules())


def first_cause(diagnosis: Diagnosis) -> Finding | None:
    return next((finding for finding in diagnosis.findings if finding.role == "cause"), None)


def toml(path: Path) -> dict[str, Any]:
    parsed: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    return parsed


# --- the article's faults


@dataclass(frozen=True)
class Row:
    """One directory under fixtures/article/: what must be answered and what is."""

    fault: str
    wording: str
    row: bool
    expected: str
    answer: str
    confidence: float | None
    verdict: str
    expected_verdict: str

    @property
    def right(self) -> bool:
        return self.answer == self.expected and self.expected_verdict in ("", self.verdict)


def article_rows(judge: Callable[[Sequence[Path]], Diagnosis] = diagnose) -> Iterator[Row]:
    for path in sorted(ARTICLE.glob("*/expected.toml")):
        expected = toml(path)
        for wording in WORDINGS:
            entry = expected[wording]
            diagnosis = judge([path.parent / wording])
            cause = first_cause(diagnosis)
            yield Row(expected["fault"], wording, expected["row"], entry["fault"], cause.fault if cause else "",
                      cause.confidence if cause else None, diagnosis.verdict, entry.get("verdict", ""))  # fmt: skip


def article_table(rows: Sequence[Row]) -> str:
    """Markdown: one line for each fault and wording, the rows of the article's own table in bold."""
    lines = ["| fault | wording | answer | confidence | right |", "|---|---|---|---|---|"]
    for row in rows:
        name = f"**{row.fault}**" if row.row else row.fault
        answer = row.answer or f"no cause ({row.verdict})"
        confidence = "" if row.confidence is None else f"{row.confidence:.2f}"
        lines.append(f"| {name} | {row.wording} | {answer} | {confidence} | {'yes' if row.right else 'NO'} |")
    faults = [row for row in rows if row.wording != "twin"]
    twins = [row for row in rows if row.wording == "twin"]
    lines += ["", f"{sum(row.right for row in faults)} of {len(faults)} wordings answered with their fault, "
                  f"{sum(row.right for row in twins)} of {len(twins)} twins without a cause."]  # fmt: skip
    return "\n".join(lines)


# --- the public cases


@dataclass
class Figures:
    """Counts over fixtures/cases; the lists hold case names."""

    settled: int = 0
    right: list[str] = field(default_factory=list)
    missed: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    misled: list[str] = field(default_factory=list)
    proven: list[str] = field(default_factory=list)
    quiet: int = 0
    quiet_right: int = 0
    healthy: int = 0
    false_alarms: list[str] = field(default_factory=list)
    skipped: int = 0

    def add(self, name: str, case: dict[str, Any], diagnosis: Diagnosis) -> None:
        cause = first_cause(diagnosis)
        answer = cause.fault if cause else ""
        good = {case["fault"], *case["accept"]} - {""}
        if answer and answer in case["never"]:
            self.misled.append(name)
        if case["answer"] == "healthy":
            self.healthy += 1
            if cause or diagnosis.verdict != "healthy":
                self.false_alarms.append(name)
        elif case["answer"] == "fault" and case["settled"]:
            self.settled += 1
            (self.right if answer in good else self.wrong if answer else self.missed).append(name)
            if cause and answer in good and shows_proof(cause, case["proof"]):
                self.proven.append(name)
        else:  # no settled cause in the public thread: silence or an accepted answer is right
            self.quiet += 1
            self.quiet_right += answer in good | {""}


def shows_proof(cause: Finding, proof: Sequence[str]) -> bool:
    """Whether a line that the answer shows holds one of the case's proving strings, blanks aside."""
    shown = [squeeze(origin.text) for origin in cause.evidence]
    return any(squeeze(item) in text for item in proof for text in shown)


def squeeze(text: str) -> str:
    return " ".join(text.split())


def case_figures(logs_only: bool = False) -> Figures:
    """`logs_only`: each case with its *.log files alone, as if nothing but logs had been kept."""
    figures = Figures()
    for path in sorted(CASES.glob("*/case.toml")):
        evidence = path.parent / "evidence"
        paths = sorted(evidence.rglob("*.log")) if logs_only else [evidence]
        if not paths:
            figures.skipped += 1
            continue
        figures.add(path.parent.name, toml(path), diagnose(paths))
    return figures


def share(part: int, whole: int) -> str:
    return f"{part} of {whole} ({100 * part / whole:.1f} %)" if whole else "-"


def figures_table(full: Figures, logs: Figures) -> str:
    def both(name: str, value: Callable[[Figures], str]) -> str:
        return f"| {name} | {value(full)} | {value(logs)} |"

    return "\n".join([
        "| figure | all evidence | only `*.log` |",
        "|---|---|---|",
        both("settled faults: first cause right (top-1)", lambda f: share(len(f.right), f.settled)),
        both("settled faults: no cause named", lambda f: share(len(f.missed), f.settled)),
        both("settled faults: wrong cause", lambda f: share(len(f.wrong), f.settled)),
        both("any case: answer among its known misleading ones", lambda f: str(len(f.misled))),
        both("right answers that show a proving line", lambda f: share(len(f.proven), len(f.right))),
        both("unsettled threads: silent or an accepted answer", lambda f: share(f.quiet_right, f.quiet)),
        both("healthy runs: false alarms", lambda f: f"{len(f.false_alarms)} of {f.healthy}"),
        both("cases without such a file, left out", lambda f: str(f.skipped)),
    ])  # fmt: skip


def samples_line() -> str:
    loaded = rule_files.load_files([bundled("rules")], with_samples=True).rules
    alone = [result.ok for result in run_samples(loaded)]
    crowd = [result.ok for result in run_samples(loaded, RuleSet(loaded))]
    return (f"{len(loaded)} rules with {len(alone)} samples: {share(sum(alone), len(alone))} hold with the rule alone, "
            f"{share(sum(crowd), len(crowd))} in the whole table.")  # fmt: skip


# --- the page


def section(page: str, name: str) -> str:
    match = re.search(f"<!-- {name} -->\n(.*?)\n<!-- /{name} -->", page, re.DOTALL)
    if match is None:
        raise SystemExit(f"{PAGE}: no markers <!-- {name} --> and <!-- /{name} -->")
    return match[1]


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--article", action="store_true", help="the article table alone")
    parser.add_argument("--write", action="store_true", help="write the tables into docs/quality.md")
    parser.add_argument("--check", action="store_true", help="exit 1 if the article table in docs/quality.md is old")
    args = parser.parse_args(argv)
    texts = {"article": article_table(list(article_rows()))}
    if args.check:
        fresh = section(PAGE.read_text(encoding="utf-8"), "article") == texts["article"]
        print("fresh" if fresh else "docs/quality.md is old: run `python bench/quality.py --write`")
        return 0 if fresh else 1
    if not args.article:
        full, logs = case_figures(), case_figures(logs_only=True)
        texts["figures"] = figures_table(full, logs)
        texts["samples"] = samples_line()
        for label, names in (("wrong", full.wrong), ("no cause", full.missed), ("false alarms", full.false_alarms),
                             ("wrong, logs only", logs.wrong), ("no cause, logs only", logs.missed)):  # fmt: skip
            if names:
                print(f"{label}: {', '.join(names)}", file=sys.stderr)
    if args.write:
        page = PAGE.read_text(encoding="utf-8")
        for name, text in texts.items():
            page = page.replace(f"<!-- {name} -->\n{section(page, name)}\n", f"<!-- {name} -->\n{text}\n")
        PAGE.write_text(page, encoding="utf-8")
    print("\n\n".join(texts.values()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
