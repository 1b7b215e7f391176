"""The loader names file, line and mend for every mistake."""

from __future__ import annotations

import pytest

from neuronwatch.judge.rules.lint import pattern_problems
from neuronwatch.judge.rules.load import load_rule
from neuronwatch.judge.rules.model import RuleError

GOOD = """\
id = "env.test"
fault = "env.disk-full"
title = "t"
stage = "env"
severity = "error"
cause = "c"
fix = ["f"]
[ends]
how = "exit"
[[signature]]
name = "s"
pattern = '''No space left on device'''
[[sample]]
expect = "fires"
text = "No space left on device"
[[sample]]
expect = "silent"
text = "plenty"
"""


def problems(text):
    with pytest.raises(RuleError) as caught:
        load_rule("x.toml", text)
    return [str(item) for item in caught.value.problems]


def test_good():
    rule = load_rule("x.toml", GOOD)
    assert rule.signatures[0].literals == ("No space left on device",)
    assert rule.role == "cause"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("fault =", "falut =", 'x.toml:2: unknown key "falut", did you mean "fault"?'),
        ('severity = "error"', 'severity = "errors"', 'x.toml:5: severity "errors" is not one of'),
        ('how = "exit"', 'how = "never"', "x.toml:9: ends.how must be one of"),
        ("No space left on device'''", "(unclosed'''", "not a regular expression"),
        ("No space left on device'''", ".*'''", "no literal of 4 characters"),
        ("No space left on device'''", "(a+)+ device'''", "unbounded repeat inside an unbounded repeat"),
        ('name = "s"', 'name = "s"\nwhen = "launch.tpp > 1"', "unknown fact launch.tpp, did you mean launch.tp?"),
        ('name = "s"', 'name = "s"\nwhen = "__import__(1)"', "no function __import__()"),
        ('expect = "silent"', 'expect = "quiet"', 'expect must be "fires" or "silent"'),
        ('id = "env.test"', "id = ", "x.toml:1: not TOML"),
        ('title = "t"', "title = 5", '"title" must be a str, not int'),
        ('[ends]\nhow = "exit"', "", 'missing key "ends"'),
        ('fix = ["f"]', "", "a cause needs a fix"),
    ],
)
def test_mistakes(old, new, said):
    assert any(said in item for item in problems(GOOD.replace(old, new, 1))), problems(GOOD.replace(old, new, 1))


@pytest.mark.parametrize("pattern", [r"(\w+\s?)*end!", r"(?:a*)*bbbb", r".*foo bar", r"a.*b.*c.*d.*eeee"])
def test_unsafe_patterns(pattern):
    assert pattern_problems(pattern)


def test_a_count_of_thousands_of_digits_is_a_problem_and_no_defect():
    assert pattern_problems("a{" + "9" * 5000 + "}")


@pytest.mark.parametrize("pattern", [r"foo .{0,200} bar", r"Requested:(?P<a>\S+)\s+Available:(?P<b>\d+)", r"(?i)killed|dead"])
def test_safe_patterns(pattern):
    assert not pattern_problems(pattern)
