"""Reads policies: TOML files in drop-in directories, with the ownership rules of users' rules. Every mistake is one line with file,
line and the nearest name, and makes the whole policy unusable: half a policy may be the half without the brakes."""

from __future__ import annotations

import os
from pathlib import Path

from neuronwatch.data import taxonomy
from neuronwatch.model.dataclass import dataclass, field
from neuronwatch.model.diagnosis import STAGES
from neuronwatch.model.job import Mode
from neuronwatch.remedy import actions
from neuronwatch.remedy.policy import CAREFUL, DAY, Policy, Rule
from neuronwatch.source import rule_files
from neuronwatch.store import settings_file
from neuronwatch.store.settings_file import Reader, SettingsError

_MODE = {"choices": CAREFUL}


@dataclass(frozen=True, slots=True)
class ActionTable:
    mode: str | None = field(default=None, metadata=_MODE)
    budget: int | None = field(default=None, metadata={"least": 0, "most": 1000})
    cool_down: float | None = field(default=None, metadata={"least": 0, "most": 30 * DAY})


@dataclass(frozen=True, slots=True)
class HostTable:
    enable: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PolicyTable:
    """A file: `mode`, `expires` (seconds that a proposal waits), `[actions.<name>]`, `[faults]` id = mode, `[host] enable`."""

    mode: str | None = field(default=None, metadata=_MODE)
    expires: float | None = field(default=None, metadata={"least": 60, "most": 30 * DAY})
    actions: dict[str, ActionTable] = field(default_factory=dict, metadata={"names": "actions"})
    faults: dict[str, str] = field(default_factory=dict, metadata={**_MODE, "names": "faults"})
    host: HostTable = field(default_factory=HostTable)


def directories() -> list[Path]:
    """Where policies are looked for; what is read later says more."""
    return [path.with_name("policy.d") for path in rule_files.user_directories()]


def load(default: Mode, places: list[Path] | None = None) -> tuple[Policy, list[str]]:
    """The policy of the drop-in directories on top of the default mode, and what was ignored and why. Raises SettingsError."""
    policy, notes = Policy(default, source=f"default: {default}"), list[str]()
    for place in directories() if places is None else places:
        reason = rule_files.distrusted(place)
        if reason:
            if place.is_dir():
                notes.append(f"{place}: ignored: {reason}")
            continue
        for path in sorted(place.glob("*.toml")):
            reason = rule_files.distrusted(path)
            if reason:
                notes.append(f"{path}: ignored: {reason}")
            else:
                policy = laid_over(policy, *parse(settings_file.read(path), str(path)), str(path))
    return policy, notes


def careful(default: Mode) -> tuple[Policy, list[str]]:
    """As `load`; where a file is wrong, all is only observed, and that is said. For jobs that live already."""
    try:
        return load(default)
    except SettingsError as error:
        return Policy("observe", source=f"{error.path} is wrong"), [f"{error}; until it is mended nothing is done, only reported"]


def parse(text: str, path: str) -> tuple[PolicyTable, Reader]:
    """One file. Raises SettingsError for the first mistake."""
    names = {
        "actions": [action.name for action in actions.ACTIONS],
        "faults": [],
    }
    table, reader = settings_file.record(PolicyTable, text, path, names)
    known = [*(f"{stage}.*" for stage in STAGES), *taxonomy.faults()]
    for fault in table.faults:
        if fault not in known and not fault.startswith("site."):
            raise reader.error(("faults", fault), _nearest("fault", fault, known))
    host = [action.name for action in actions.ACTIONS if action.kind == "host"]
    for name in table.host.enable:
        if name not in host:
            raise reader.error(("host", "enable"), _nearest("host action", name, host))
    for name, rule in table.actions.items():
        if name in host and rule.mode == "act":
            raise reader.error(("actions", name, "mode"), f"{name} touches the host: it always asks; use `ask` or `observe`")
    return table, reader


def _nearest(kind: str, word: str, known: list[str]) -> str:
    from difflib import get_close_matches  # only a mistake needs it

    near = get_close_matches(word, known, 1)
    return f"unknown {kind} `{word}`" + (f", did you mean `{near[0]}`?" if near else f"; there are {', '.join(known)[:300]}")


def laid_over(policy: Policy, table: PolicyTable, reader: Reader, source: str) -> Policy:
    """What a file says takes the place of what was said before, value by value."""
    rules = dict(policy.actions)
    for name, said in table.actions.items():
        before = rules.get(name, Rule())
        rules[name] = Rule(
            _mode(said.mode) or before.mode,
            before.budget if said.budget is None else said.budget,
            before.cool_down if said.cool_down is None else said.cool_down,
        )
    faults = {**policy.faults, **{fault: mode for fault, said in table.faults.items() if (mode := _mode(said)) is not None}}
    expires = policy.expires if table.expires is None else table.expires
    mode = _mode(table.mode) or policy.mode
    return Policy(mode, rules, faults, policy.host | frozenset(table.host.enable), expires, os.path.basename(source))


def _mode(text: str | None) -> Mode | None:
    return next((mode for mode in CAREFUL if mode == text), None)
