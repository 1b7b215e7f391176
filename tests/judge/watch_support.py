"""Shared by the tests of the watch: a host whose time is invented, and texts that are scanned as whole texts."""

from __future__ import annotations

from collections.abc import Iterable

from neuronwatch.judge.evidence import Evidence
from neuronwatch.judge.live import Judged, Watch
from neuronwatch.judge.rules.compiled import RuleSet
from neuronwatch.judge.rules.load import load_rule
from neuronwatch.model.live import Health, Now
from neuronwatch.model.records import Fact, Origin
from neuronwatch.source import formats, reader

BEGIN = 1_780_000_000.0

TEMPLATE = """
id = "{id}"
fault = "{fault}"
title = "{title}"
stage = "{stage}"
severity = "{severity}"
role = "{role}"
cause = "because"
fix = ["mend it"]
yields_to = {yields}
{ends}
[[signature]]
name = "line"
pattern = '''{pattern}'''
{more}
[[sample]]
expect = "fires"
text = '''{sample}'''
[[sample]]
expect = "silent"
text = "nothing"
"""


def rule(name: str, pattern: str = "", ends: str = 'how = "exit"', fault: str = "runtime.cores-busy", severity: str = "error",
         role: str = "cause", yields: str = "[]", more: str = "", end_when: str = ""):  # fmt: skip
    """A rule that fires on lines with `pattern`."""
    words = pattern or f"trouble {name}"
    text = TEMPLATE.format(
        id=name, stage=name.split(".")[0], fault=fault, title=f"title of {name}", severity=severity, role=role, yields=yields, ends=f"[ends]\n{ends}\n",
        pattern=words, more=more, sample=words,
    )  # fmt: skip
    return load_rule(f"rules/{name}.toml", text)


class Host:
    """A watch with a clock that the test turns."""

    def __init__(self, *rules, watch: Watch | None = None, at: float = 0.0) -> None:
        self.rules = RuleSet(rules)
        self.watch = watch or Watch(self.rules)
        self.mono = at
        self.healths: dict[str, Health] = {}
        self.lines: dict[str, int] = {}

    @property
    def now(self) -> Now:
        return Now(BEGIN + self.mono, self.mono)

    def scan(self, path: str, text: str) -> list[Evidence]:
        return list(reader.read_virtual(path, text.encode(), self.rules.patterns, *formats.shipped()))

    def whole(self, path: str, text: str | None, source: str = "sysfs") -> None:
        if text is None:
            self.watch.forget(path, self.now)
        else:
            self.watch.replace(source, path, self.scan(path, text), self.now)

    def log(self, path: str, *lines: str, source: str = "logs", fresh: bool = False) -> None:
        """The lines are appended to a followed text."""
        if fresh:
            self.lines[path] = 0
        before = self.lines.get(path, 0)
        self.lines[path] = before + len(lines)
        found = [_later(item, before) for item in self.scan(path, "\n".join(lines) + "\n")]
        self.watch.append(source, path, found, self.now, fresh)

    def fact(self, name: str, value, source: str = "host", path: str = "host:/x") -> None:
        self.watch.facts(source, [Fact(name, value, Origin(path, None, str(value)))], self.now)

    def health(self, source: str, state: str = "fresh", reason: str = "", mandatory: bool = False) -> None:
        self.healths[source] = Health(source, state, self.now.wall, 5.0, None, reason, mandatory)

    def judged(self, after: float = 0.0) -> Judged:
        """The judgement after `after` seconds."""
        self.mono += after
        return self.watch.conclude(self.now, self.healths.values())

    def run(self, seconds: float, step: float = 2.0) -> list[Judged]:
        """The loop for so long, without news."""
        return [self.judged(step) for _ in range(int(seconds / step))]


def _later(item, by: int):
    """Evidence of a piece of a text with line numbers of the whole text."""
    if hasattr(item, "line"):
        return item._replace(line=item.line._replace(number=item.line.number + by))
    if hasattr(item, "lines"):
        return item._replace(lines=[line._replace(number=line.number + by) for line in item.lines])
    return item


def states(judged: Judged) -> dict[str, str]:
    return {item.key: item.state for item in judged.conditions}


def changes(answers: Iterable[Judged]) -> list[tuple[str, str]]:
    return [(change.what, change.incident.fault) for judged in answers for change in judged.changes]
