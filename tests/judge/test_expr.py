"""The expression language: three values, only listed things, never an exception."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuronwatch.judge.rules import expr
from neuronwatch.judge.rules.expr import UNKNOWN, Unknown


class Scope:
    """Facts from a dict; groups and hits from dicts too."""

    def __init__(self, facts=None, groups=None, hits=None):
        self.facts, self.groups, self.counts = facts or {}, groups or {}, hits or {}

    def fact(self, name):
        return self.facts.get(name, UNKNOWN)

    def fact_values(self, name):
        value = self.facts.get(name)
        return [] if value is None else [value]

    def group(self, name):
        return self.groups.get(name, UNKNOWN)

    def hits(self, signature):
        return self.counts.get(signature, 0)

    def fired(self, rule):
        return rule == "yes"

    def before(self, first, second):
        return UNKNOWN


@pytest.mark.parametrize(
    ("source", "facts", "expected"),
    [
        ("launch.tp > 1", {"launch.tp": 8}, True),
        ("launch.tp > 1", {}, UNKNOWN),
        ("launch.tp > 1 and 1 > 2", {}, False),
        ("launch.tp > 1 or 2 > 1", {}, True),
        ("not launch.tp", {}, UNKNOWN),
        ("known(launch.tp)", {}, False),
        ("unknown(launch.tp)", {}, True),
        ("val(launch.tp, 4) == 4", {}, True),
        ("config.num_attention_heads % launch.tp", {"config.num_attention_heads": 64, "launch.tp": 24}, 16),
        ("launch.tp / 0", {"launch.tp": 8}, UNKNOWN),
        ("launch.tp > 'x'", {"launch.tp": 8}, UNKNOWN),
        ("version(driver.version) < version('2.29')", {"driver.version": "2.26.10.0"}, True),
        ("version('2.26') == version('2.26.0')", {}, True),
        ("1 < launch.tp < 9", {"launch.tp": 8}, True),
        ("launch.tp in [1, 2, 8]", {"launch.tp": 8}, True),
        ("'a' if launch.tp else 'b'", {}, UNKNOWN),
        ("matches(launch.model, '(?i)qwen3')", {"launch.model": "Qwen/Qwen3-8B"}, True),
        ("len(neuron.busy_pids)", {"neuron.busy_pids": (1, 2)}, 2),
        ("seen('sig')", {}, False),
        ("fired('yes')", {}, True),
        ("ln(1)", {}, 0.0),
        ("'x' * 1000000", {}, UNKNOWN),
    ],
)
def test_three_values(source, facts, expected):
    result = expr.evaluate(source, Scope(facts))
    assert result is expected if isinstance(expected, Unknown) else result == expected


@pytest.mark.parametrize(
    "source",
    ["__import__('os')", "().__class__", "x = 1", "lambda: 1", "[a for a in b]", "open('x')", "2 ** 9", "f'{x}'",
     "known('launch.tp')", "seen(launch.tp)", "len(x, key=1)", "a.b()", "{1: 2}", "", "1 +", "b'x'", "(" * 500],
)  # fmt: skip
def test_only_the_language(source):
    with pytest.raises(expr.ExpressionError):
        expr.parse(source)


def test_names():
    assert expr.names("launch.tp > 1 and seen('a') and known(config.head_dim) and g.x") == (
        {"launch.tp", "config.head_dim"},
        {("seen", "a")},
    )


_values = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5), st.just(()), st.just((1,)))
_names = st.sampled_from(["launch.tp", "config.head_dim", "1", "'x'", "[1, 2]"])


@given(st.dictionaries(st.sampled_from(["launch.tp", "config.head_dim"]), _values), _names, _names,
       st.sampled_from(["+", "-", "*", "/", "//", "%", "<", "==", "in", "and", "or"]))  # fmt: skip
def test_never_raises(facts, left, right, operator):
    expr.evaluate(f"{left} {operator} {right}", Scope(facts))
    expr.evaluate(f"int({left}) {operator} len({right})", Scope(facts))


@pytest.mark.parametrize(
    ("source", "needed"),
    [
        ("launch.tp > 1 and config.head_dim == 128", ("config.head_dim", "launch.tp")),
        ("launch.tp > 1 or config.head_dim == 128", ()),
        ("launch.tp > 1 or launch.tp < 0", ("launch.tp",)),
        ("not launch.tp", ("launch.tp",)),
        ("not seen('a')", ()),
        ("seen('a') and known(launch.tp)", ("@a", "launch.tp")),
        ("val(launch.tp, 4) == 4", ()),
        ("unknown(launch.tp)", ()),
        ("not known(launch.tp)", ()),
        ("known(launch.tp) == False", ()),
        ("not (launch.tp > 1 and known(config.head_dim))", ()),
        ("not (launch.tp > 1 or seen('a'))", ("launch.tp",)),
        ("not not known(launch.tp)", ("launch.tp",)),
        ("(launch.tp if seen('a') else config.head_dim) > 1", ()),
        ("seen('a') == False", ()),
        ("len(neuron.busy_pids) > 0", ("neuron.busy_pids",)),
    ],
)
def test_needs(source, needed):
    assert expr.needs([source]) == needed


@given(st.lists(st.sampled_from(["launch.tp > 1", "seen('a')", "not seen('a')", "unknown(launch.tp)", "val(launch.tp, 2) > 1",
                                 "known(config.head_dim)", "not known(config.head_dim)", "config.head_dim == 1"]),
                min_size=1, max_size=4),
       st.sampled_from([" and ", " or "]), st.booleans(), st.booleans(), st.booleans())  # fmt: skip
def test_what_is_needed_is_really_needed(parts, glue, has_tp, has_dim, has_hit):
    source = glue.join(f"({part})" for part in parts)
    facts = ({"launch.tp": 2} if has_tp else {}) | ({"config.head_dim": 1} if has_dim else {})
    scope = Scope(facts, hits={"a": 1} if has_hit else {})
    absent = [n for n in expr.needs([source]) if (n == "@a" and not has_hit) or (n[0] != "@" and n not in facts)]
    if absent:
        assert expr.evaluate(source, scope) is not True
