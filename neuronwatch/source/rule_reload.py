"""Hot reload of the rules: all or nothing. A new set that has any problem is left out, and the last good one stays."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from neuronwatch.judge.rules.compiled import RuleSet
from neuronwatch.judge.rules.model import Rule
from neuronwatch.model.dataclass import replace
from neuronwatch.source import rule_files

TIMEOUT = 120.0
"""Seconds that the samples of changed rules may take."""


class Reloaded(NamedTuple):
    """`rules` is the new set, or the previous one where there are `problems` (each with its place) or nothing changed.
    `added`, `changed` and `removed` are ids. `notes`: files and directories that were ignored."""

    rules: RuleSet
    added: tuple[str, ...]
    changed: tuple[str, ...]
    removed: tuple[str, ...]
    problems: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def is_new(self) -> bool:
        return bool(self.added or self.changed or self.removed) and not self.problems


Check = Callable[[Sequence[Rule]], Sequence[str]]


def reload(previous: RuleSet, directories: Sequence[Path] | None = None, check: Check | None = None) -> Reloaded:
    """Reads the rule files again. `check` judges rules that are new or changed, by default with their samples in a process of
    its own; it takes seconds and may be called from any thread."""
    try:
        rules, loaded = rule_files.load_rule_set(directories)
    except ValueError as error:
        return Reloaded(previous, (), (), (), (str(error),), ())
    before, after = _plain(previous), _plain(rules)
    added = tuple(sorted(after.keys() - before.keys()))
    removed = tuple(sorted(before.keys() - after.keys()))
    changed = tuple(sorted(name for name in after.keys() & before.keys() if after[name] != before[name]))
    problems = [str(problem) for problem in loaded.problems]
    if not rules.rules and before:
        problems.append("no rule is left")
    if not problems and (added or changed):
        problems += (check or samples_pass)([rules.rules[name] for name in (*added, *changed)])
    keep = problems or not (added or changed or removed)
    return Reloaded(previous if keep else rules, added, changed, removed, tuple(problems), tuple(loaded.notes))


def fill_caches(directories: Sequence[Path] | None = None) -> None:
    """Compiles rules and patterns, where they are not in the cache."""
    from neuronwatch.source import formats
    from neuronwatch.source.plan import Plan

    table, _ = rule_files.load_rule_set(directories)
    Plan(table.patterns, *formats.shipped(), rule_files.cache_directory())


def compile_apart(directories: Sequence[Path] | None) -> None:
    """The same in a process of its own: compiling takes 15 MB, some of which the process that does it keeps for months. Where
    that fails, whoever needs them compiles them."""
    code = (
        f"import sys; sys.path[:] = {sys.path!r}; from pathlib import Path; from neuronwatch.source import rule_reload; "
        "rule_reload.fill_caches(list(map(Path, sys.argv[1:])) or None)"
    )
    argv = [sys.executable, "-I", "-c", code, *(os.path.abspath(path) for path in directories or ())]
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        quiet = subprocess.DEVNULL
        subprocess.run(argv, timeout=TIMEOUT, check=False, cwd=os.sep, stdin=quiet, stdout=quiet, stderr=quiet)


def _plain(rules: RuleSet) -> dict[str, Rule]:
    """Rules by id, without what a compiled one does not carry."""
    return {name: replace(rule, samples=(), path="") for name, rule in rules.rules.items()}


def samples_pass(rules: Sequence[Rule]) -> list[str]:
    """What is wrong with the samples of these rules. They run in a process of their own: a pattern that is slow, or a table
    that takes memory, does not touch the one that watches."""
    problems: list[str] = []
    folders: dict[str, list[str]] = {}
    for rule in rules:
        folders.setdefault(os.path.dirname(os.path.abspath(rule.path)), []).append(rule.id)
    for folder, names in sorted(folders.items()):
        problems += _run(folder, names)
    return problems


def _run(folder: str, names: Sequence[str]) -> list[str]:
    code = f"import sys; sys.path[:] = {sys.path!r}; from neuronwatch.cli.main import main; sys.exit(main(sys.argv[1:]))"
    argv = [sys.executable, "-I", "-c", code, "rules", "test", "--format", "json", "--rules", folder, "--", *names]
    try:
        done = subprocess.run(argv, capture_output=True, timeout=TIMEOUT, check=False, cwd=os.sep, stdin=subprocess.DEVNULL)
        answer = json.loads(done.stdout)
        bad = [row for row in answer["results"] if not row["ok"]]
        found = [f"{row['rule']}: sample {row['sample']}: {row['message']}" for row in bad]
    except subprocess.TimeoutExpired:
        return [f"{folder}: the samples took longer than {TIMEOUT:g} s"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        return [f"{folder}: the samples could not be run: {error}"]
    return [*(str(problem) for problem in answer["problems"]), *found]
