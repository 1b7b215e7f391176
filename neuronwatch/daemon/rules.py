"""The rules and the configuration while the daemon runs: reloaded as a whole, the last good ones kept."""

from __future__ import annotations

import gc
import os
from collections.abc import Sequence
from pathlib import Path

from neuronwatch.daemon import allocator, config_file
from neuronwatch.daemon.config import Config
from neuronwatch.daemon.log import Log
from neuronwatch.judge.match import literals
from neuronwatch.judge.rules import expr
from neuronwatch.judge.rules.compiled import RuleSet
from neuronwatch.source import rule_files, rule_reload
from neuronwatch.source.rule_reload import Reloaded


class Refused(Exception):
    """What is new cannot be used; the text says why. What was good before goes on."""


class Table:
    """Where rules come from. `directories` None: the bundled ones and the drop-ins. `all` are the last good ones, also those
    that the configuration switches off."""

    def __init__(self, directories: Sequence[Path] | None, log: Log) -> None:
        self._directories = directories
        self._log = log
        self.all = self._first()

    def _first(self) -> RuleSet:
        """The rules at the start: a bad file of a user is left out and said."""
        rules, loaded = rule_files.load_rule_set(self._directories)
        self._say(*map(str, loaded.problems), *loaded.notes)
        return rules

    def _say(self, *texts: str) -> None:
        for text in texts:
            self._log.warning("a rule is left out", why=text)

    def look(self) -> Reloaded:
        """The rules of now, not taken yet. Takes seconds where rules changed; for a thread."""
        rule_reload.compile_apart(self._directories)
        return rule_reload.reload(self.all, self._directories)

    def take(self, found: Reloaded) -> None:
        """Raises Refused when any of them is bad."""
        if found.problems:
            more = f" (and {len(found.problems) - 1} more)" if len(found.problems) > 1 else ""
            raise Refused(f"{found.problems[0]}{more}")
        self._say(*found.notes)
        self.all = found.rules

    def places(self) -> list[Path]:
        """Directories whose change is a reason to load again."""
        return list(self._directories) if self._directories is not None else rule_files.user_directories()


def forget_making() -> None:
    """Drops what was remembered while rules and tables were made, at the start and at each reload: it is asked for once."""
    literals.forget()
    expr.parse.cache_clear()  # of all rules, where the table was made anew; those that are asked again are few
    gc.unfreeze()  # rules and matchers that others replaced are in cycles: frozen, they would stay for good
    gc.collect()
    gc.freeze()  # what is there now stays: no look at it is needed until the next reload
    allocator.trim()


def without(rules: RuleSet, disabled: Sequence[str]) -> RuleSet:
    """The rules but for those that the configuration switches off."""
    if not set(disabled) & rules.rules.keys():
        return rules
    return RuleSet(rule for rule in rules.rules.values() if rule.id not in disabled)


class Fingerprint:
    """Whether files changed: names, sizes and times, by `stat` alone."""

    def __init__(self, places: Sequence[Path]) -> None:
        self._places = places
        self._seen = self._look()

    def changed(self) -> bool:
        seen = self._look()
        changed, self._seen = seen != self._seen, seen
        return changed

    def _look(self) -> list[tuple[str, int, int, int]]:
        found: list[tuple[str, int, int, int]] = []
        for place in self._places:
            if place.is_dir():
                for directory, _, names in os.walk(place):
                    found += [_stat(os.path.join(directory, name)) for name in sorted(names) if name.endswith(".toml")]
            else:
                found.append(_stat(str(place)))
        return sorted(found)


def _stat(path: str) -> tuple[str, int, int, int]:
    try:
        info = Path(path).stat()
    except OSError:
        return path, -1, -1, -1
    return path, info.st_ino, info.st_size, info.st_mtime_ns


def config_again(path: Path | None, source_names: Sequence[str]) -> Config:
    """The configuration of now. Raises Refused."""
    try:
        return config_file.load(path or config_file.find(), source_names)
    except config_file.ConfigError as error:
        raise Refused(str(error)) from error
