"""The rules and the configuration while the daemon runs: reloaded as a whole, the last good ones kept."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from neuronwatch.daemon import config_file
from neuronwatch.daemon.config import Config
from neuronwatch.daemon.log import Log
from neuronwatch.judge.rules.compiled import RuleSet
from neuronwatch.source import rule_files


class Reloaded(Exception):
    """What is new cannot be used; the text says why. What was good before goes on."""


class Table:
    """Where rules come from. `directories` None: the bundled ones and the drop-ins."""

    def __init__(self, directories: Sequence[Path] | None, log: Log) -> None:
        self._directories = directories
        self._log = log

    def first(self, disabled: Sequence[str]) -> RuleSet:
        """The rules at the start: a bad file of a user is left out and said."""
        rules, loaded = rule_files.load_rule_set(self._directories)
        for text in (*map(str, loaded.problems), *loaded.notes):
            self._log.warning("a rule is left out", why=text)
        return without(rules, disabled)

    def again(self, disabled: Sequence[str]) -> RuleSet:
        """The rules of now. Raises Reloaded when any of them is bad."""
        rules, loaded = rule_files.load_rule_set(self._directories)
        if loaded.problems:
            more = f" (and {len(loaded.problems) - 1} more)" if len(loaded.problems) > 1 else ""
            raise Reloaded(f"{loaded.problems[0]}{more}")
        for text in loaded.notes:
            self._log.warning("a rule is left out", why=text)
        return without(rules, disabled)

    def places(self) -> list[Path]:
        """Directories whose change is a reason to load again."""
        return list(self._directories) if self._directories is not None else rule_files.user_directories()


def without(rules: RuleSet, disabled: Sequence[str]) -> RuleSet:
    """The rules but for those that the configuration switches off."""
    if not set(disabled) & rules.rules.keys():
        return rules
    return RuleSet(rule for rule in rules.rules.values() if rule.id not in disabled)


def unknown_ids(rules: RuleSet, disabled: Sequence[str]) -> list[str]:
    """What `rules.disabled` names and no rule is called: after the load, `rules` being all of them."""
    return [name for name in disabled if name not in rules.rules]


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
    """The configuration of now. Raises Reloaded."""
    try:
        return config_file.load(path or config_file.find(), source_names)
    except config_file.ConfigError as error:
        raise Reloaded(str(error)) from error
