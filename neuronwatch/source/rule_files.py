"""Reads the rule table: the bundled rules, and users' drop-in directories; the compiled set is cached by content."""

from __future__ import annotations

import hashlib
import json
import os
import stat
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

from neuronwatch import __version__
from neuronwatch.judge.rules.compiled import RuleSet
from neuronwatch.judge.rules.load import load_rule
from neuronwatch.judge.rules.model import Clue, Ends, Join, Rule, RuleError, RuleProblem, Signature, Unless
from neuronwatch.source.bundled import bundled

MAX_RULE_BYTES = 1024 * 1024
MAX_RULE_FILES = 5000
COMPILED = "rules.compiled.json"
MANY = 20
"""From this many rules on compiling them takes a moment worth a word."""
MAX_CACHED = 4000


class Loaded(NamedTuple):
    """`problems` are rule files that cannot be used; `notes` are drop-in directories or files that were ignored."""

    rules: list[Rule]
    problems: list[RuleProblem]
    notes: list[str]


def cache_directory() -> Path:
    """Where compiled rules and pattern databases are cached; it may not exist or be writable."""
    if os.environ.get("XDG_CACHE_HOME"):
        return Path(os.environ["XDG_CACHE_HOME"]) / "neuronwatch"
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        return Path("/var/cache/neuronwatch")
    return Path("~/.cache/neuronwatch").expanduser()


def user_directories() -> list[Path]:
    """Drop-in directories of operators, in the order in which they are read."""
    home = Path(os.environ.get("XDG_CONFIG_HOME") or "~/.config").expanduser()
    return [Path("/etc/neuronwatch/rules.d"), home / "neuronwatch" / "rules.d"]


def load_rule_set(directories: Sequence[Path] | None = None) -> tuple[RuleSet, Loaded]:
    """The rule set of the bundled table and the drop-in directories (or of exactly `directories`).

    A bad file of a user is left out and said in `problems`; it never takes the others down.
    """
    trusted = [bundled("rules")] if directories is None else list(directories)
    loaded = load_files(trusted)
    for directory in user_directories() if directories is None else ():
        reason = distrusted(directory)
        if reason:
            if directory.is_dir():
                loaded.notes.append(f"{directory}: ignored: {reason}")
            continue
        more = load_files([directory], check_owner=True)
        loaded.rules.extend(_without_clashes(more, {rule.id for rule in loaded.rules}))
        loaded.problems.extend(more.problems)
        loaded.notes.extend(more.notes)
    return RuleSet(loaded.rules), loaded


def _without_clashes(more: Loaded, taken: set[str]) -> list[Rule]:
    for rule in more.rules:
        if rule.id in taken:
            more.problems.append(RuleProblem(rule.path, 1, f"id {rule.id} is already taken; use site.<name>"))
    return [rule for rule in more.rules if rule.id not in taken]


def distrusted(path: Path) -> str:
    """Why a drop-in file or directory may not be read: "" or the reason (owner, or writable by others)."""
    try:
        info = path.stat()
    except OSError as error:
        return error.strerror or "cannot be read"
    owner = os.geteuid() if hasattr(os, "geteuid") else info.st_uid
    if info.st_uid not in (0, owner):
        return f"owned by uid {info.st_uid}, neither root nor the caller"
    if info.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return "writable by group or others (chmod go-w)"
    return ""


def load_files(directories: Sequence[Path], check_owner: bool = False, with_samples: bool = False) -> Loaded:
    """All `*.toml` below the directories; what was compiled before (by content) comes from the cache.

    `with_samples` loads everything anew: the cache carries no samples.
    """
    texts, notes = _read_texts(directories, check_owner)
    keys = [hashlib.blake2b(text.encode(), digest_size=16).hexdigest() for _, text in texts]
    known = {} if with_samples else _compiled_before()
    missing = sum(key not in known for key in keys)
    if not with_samples and missing > MANY:
        sys.stderr.write("neuronwatch: compiling the rule table (first run after a change)\n")
    rules: list[Rule] = []
    problems: list[RuleProblem] = []
    for (path, text), key in zip(texts, keys, strict=True):
        try:
            rule = _rule_of(known[key], path) if key in known else None
            if rule is None:
                rule = load_rule(path, text)
                known[key] = _plain(rule)
            rules.append(rule)
        except RuleError as error:
            problems.extend(error.problems)
    if missing and not with_samples:
        _write_cache(known)
    return Loaded(rules, problems, notes)


def compiled_table(directory: Path) -> bytes:
    """The compiled form of a rule directory, as a build puts it into the wheel. Raises RuleError for a bad rule."""
    texts, _ = _read_texts([directory], False)
    rules = {hashlib.blake2b(text.encode(), digest_size=16).hexdigest(): _plain(load_rule(path, text)) for path, text in texts}
    return json.dumps({"loader": _loader(), "rules": rules}).encode()


def _read_texts(directories: Sequence[Path], check_owner: bool) -> tuple[list[tuple[str, str]], list[str]]:
    texts: list[tuple[str, str]] = []
    notes: list[str] = []
    for directory in directories:
        for path in sorted(directory.rglob("*.toml"))[:MAX_RULE_FILES]:
            reason = distrusted(path) if check_owner else ""
            try:
                if not reason and (not path.is_file() or path.stat().st_size > MAX_RULE_BYTES):
                    reason = f"not a regular file of at most {MAX_RULE_BYTES} bytes"
                if not reason:
                    texts.append((str(path), path.read_text(encoding="utf-8")))
            except (OSError, UnicodeDecodeError) as error:
                reason = str(error)
            if reason:
                notes.append(f"{path}: ignored: {reason}")
    return texts, notes


def _loader() -> str:
    """What compiled a rule: the version and the content of the code that does it."""
    digest = hashlib.blake2b(__version__.encode(), digest_size=16)
    room = Path(__file__).resolve().parent.parent / "judge"
    for name in ("rules/load.py", "rules/lint.py", "rules/model.py", "rules/expr.py", "match/literals.py"):
        digest.update((room / name).read_bytes())
    return digest.hexdigest()


def _compiled_before() -> dict[str, Any]:
    """Compiled rules by the hash of their text: those of the wheel, and those of the cache."""
    loader, found = _loader(), {}
    for path in (Path(__file__).resolve().parent.parent / "_bundled" / COMPILED, cache_directory() / COMPILED):
        try:
            document = json.loads(path.read_bytes())
            if document["loader"] == loader:
                found.update(document["rules"])
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            continue
    return found


def _write_cache(rules: dict[str, Any]) -> None:
    """Atomic, and quietly left out where the directory cannot be written. Old entries go when they are many."""
    directory = cache_directory()
    newest = dict(list(rules.items())[-MAX_CACHED:])
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=directory, prefix=".rules-", delete=False) as handle:
            json.dump({"loader": _loader(), "rules": newest}, handle)
        Path(handle.name).replace(directory / COMPILED)
    except OSError:
        return


def _plain(rule: Rule) -> dict[str, Any]:
    return asdict(rule) | {"samples": []}


def _tuples(item: dict[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in item.items()}


def _rule_of(item: Any, path: str) -> Rule | None:
    """A rule from its compiled form, or None when that is not what we wrote."""
    try:
        parts = _tuples(item)
        parts["ends"] = Ends(**_tuples(item["ends"]))
        parts["signatures"] = tuple(Signature(**_tuples(entry)) for entry in item["signatures"])
        parts["joins"] = tuple(Join(**_tuples(entry)) for entry in item["joins"])
        parts["clues"] = tuple(Clue(**_tuples(entry)) for entry in item["clues"])
        parts["unless"] = tuple(Unless(**_tuples(entry)) for entry in item["unless"])
        return Rule(**parts | {"samples": (), "path": path})
    except (KeyError, TypeError, AttributeError):
        return None
