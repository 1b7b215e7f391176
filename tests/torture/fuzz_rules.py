"""Fuzz target: the rule loader, expressions, and the cache of compiled rules.

A damaged rule file gives a rule or a RuleError with file and line, nothing else; a rule that was let through judges
hostile text in bounded time; a damaged cache file is rebuilt.
"""

from __future__ import annotations

import os
import random
import sys
import tempfile
from pathlib import Path

os.environ["XDG_CACHE_HOME"] = tempfile.mkdtemp(prefix="neuronwatch-fuzz-")
sys.path.insert(0, str(Path(__file__).parent))

from fuzz_support import ROOT, campaign, mutated

from neuronwatch.cli import evidence
from neuronwatch.judge import engine
from neuronwatch.judge.rules import expr
from neuronwatch.judge.rules.compiled import RuleSet
from neuronwatch.judge.rules.evaluate import RuleScope
from neuronwatch.judge.rules.load import load_rule
from neuronwatch.judge.rules.model import Rule, RuleError
from neuronwatch.judge.state import State
from neuronwatch.source import rule_files

TEXTS = [path.read_bytes() for path in sorted((ROOT / "rules").rglob("*.toml"))]
PATTERNS = ("(a+)+b", "(?:x|x)*y", "(.*)*", "(?=a)*", "\\1", "(?P<x>a)(?P=x)", "[", "a{99999}", "(?i)ſ", "(a|b|ab)*c", "(?<=a+)b", "((a{0,900}){0,900})",
            "\\d+\\d+\\d+\\d+x", "(\\w+\\s?)+:", "(" * 120 + "x" + ")" * 120, ".{0,900}.{0,900}.{0,900}abcd", "(?:a?){900}a{900}", "(?s:.)+abcd")  # fmt: skip
EXPRESSIONS = ("1/0", "9**9**9", "'a'*999999999", "(" * 200 + "1" + ")" * 200, "launch.tp % 0 == 1", "seen()", "not " * 300 + "True", "values()", "val(1)",
               "matches('a'*9, '(a+)+b')", "x.__class__", "lambda: 0", "[1][0]", "min()", "ln(0)", "int('²')", "version('')<version('1')",
               "1<2<3 in [4]", "-" * 500 + "1", "before('a')", "10" * 3000 + "> 1", "launch.tp if g.x else 0", "f'{1}'", "b'1'", "a := 1")  # fmt: skip
EVIL = (
    "a" * 5000 + "\n" + "x" * 5000 + " word" * 1000 + "\n" + "1" * 5000 + "\n" + "NRT ERROR neuron Traceback " * 100 + "\n"
).encode()


def case(rng: random.Random) -> None:
    choice = rng.randint(0, 9)
    if choice == 0:
        try_expression(rng)
    elif choice == 1:
        try_cache(rng)
    else:
        try_rule(rng)


def try_rule(rng: random.Random) -> None:
    text = rng.choice(TEXTS)
    if rng.random() < 0.3:
        text = text.replace(b"pattern = '''", b"pattern = '''" + rng.choice(PATTERNS).encode(), 1)
    if rng.random() < 0.2:
        text = text.replace(b"when = ", b"when = " + repr(rng.choice(EXPRESSIONS)).encode() + b" #", 1)
    text = mutated(text, rng, TEXTS, rng.choice((0, 1, 2, 8)))
    try:
        rule = load_rule("fuzz.toml", text.decode("utf-8", "replace"))
    except RuleError as error:
        assert error.problems and all(item.path == "fuzz.toml" and item.line >= 1 and item.message for item in error.problems)
        str(error).encode()
        return
    judge(rule)


def judge(rule: Rule) -> None:
    rules = RuleSet([rule])
    samples = [text for sample in rule.samples for text in sample.files.values()][:3]
    heads = "".join(literal * 20 for signature in rule.signatures for literal in signature.literals)[:20_000]
    state = State()
    texts = [("evil.log", EVIL.decode() + heads + "\n"), *((f"s{n}.log", text[:20_000]) for n, text in enumerate(samples))]
    engine.observe(state, evidence.of_texts(texts, rules), rules)
    with evidence.watched_judging():
        engine.conclude(state, rules)
        engine.case_of(state, rules, explain=True).outcome(rule.id)


def try_expression(rng: random.Random) -> None:
    source = mutated(rng.choice(EXPRESSIONS).encode(), rng, [item.encode() for item in EXPRESSIONS], 3)[:20_000].decode(
        "utf-8", "replace"
    )
    try:
        expr.names(source)
    except expr.ExpressionError:
        return
    rule = load_rule("x.toml", BASE)
    with evidence.watched_judging():
        expr.evaluate(source, RuleScope(engine.case_of(State(), RuleSet([rule])), rule))


BASE = TEXTS[0].decode()


def try_cache(rng: random.Random) -> None:
    """Whatever the cache holds, the rules are those of the files."""
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        for number in range(2):
            (directory / f"{number}.toml").write_bytes(TEXTS[number])
        good = rule_files.load_files([directory]).rules
        cache = rule_files.cache_directory() / rule_files.COMPILED
        data = cache.read_bytes()
        cache.write_bytes(mutated(data, rng, [data, b"[]", b"{}", b"null", b'"x"', b"1"], 4))
        again = rule_files.load_files([directory]).rules
        RuleSet(again)
        assert [rule.id for rule in again] == [rule.id for rule in good]
        cache.unlink(missing_ok=True)


if __name__ == "__main__":
    sys.exit(campaign("fuzz_rules", case))
