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
    """All `*.toml` below the directories, from the cache when their content was compiled before."""
    texts, notes = _read_texts(directories, check_owner)
    key = _content_key(texts)
    if not with_samples:
        cached = _read_cache(key)
        if cached is not None:
            return Loaded(cached, [], notes)
    if not with_samples and len(texts) > 20:
        sys.stderr.write("neuronwatch: compiling the rule table (first run after a change)\n")
    rules: list[Rule] = []
    problems: list[RuleProblem] = []
    for path, text in texts:
        try:
            rules.append(load_rule(path, text))
        except RuleError as error:
            problems.extend(error.problems)
    if not problems:
        _write_cache(key, rules)
    return Loaded(rules, problems, notes)


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


def _content_key(texts: Sequence[tuple[str, str]]) -> str:
    digest = hashlib.blake2b(digest_size=16)
    loaders = Path(__file__).resolve().parent.parent / "judge"
    for name in ("rules/load.py", "rules/lint.py", "rules/model.py", "rules/expr.py", "match/literals.py"):
        info = (loaders / name).stat()
        digest.update(f"{__version__} {name} {info.st_size} {info.st_mtime_ns}\n".encode())
    for path, text in texts:
        digest.update(f"{path}\0{len(text)}\0".encode("utf-8", "surrogateescape"))
        digest.update(text.encode())
    return digest.hexdigest()


def _read_cache(key: str) -> list[Rule] | None:
    try:
        document = json.loads((cache_directory() / f"rules-{key}.json").read_bytes())
        return [_rule_of(item) for item in document["rules"]]
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _write_cache(key: str, rules: Sequence[Rule]) -> None:
    """Atomic, and quietly left out where the directory cannot be written."""
    document = {"rules": [asdict(rule) | {"samples": []} for rule in rules]}
    directory = cache_directory()
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=directory, prefix=".rules-", delete=False) as handle:
            json.dump(document, handle)
        Path(handle.name).replace(directory / f"rules-{key}.json")
        stale = sorted(directory.glob("rules-*.json"), key=lambda path: path.stat().st_mtime)[:-8]
        for path in stale:
            path.unlink(missing_ok=True)
    except OSError:
        return


def _tuples(item: dict[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in item.items()}


def _rule_of(item: dict[str, Any]) -> Rule:
    parts = _tuples(item)
    parts["ends"] = Ends(**_tuples(item["ends"]))
    parts["signatures"] = tuple(Signature(**_tuples(entry)) for entry in item["signatures"])
    parts["joins"] = tuple(Join(**_tuples(entry)) for entry in item["joins"])
    parts["clues"] = tuple(Clue(**_tuples(entry)) for entry in item["clues"])
    parts["unless"] = tuple(Unless(**_tuples(entry)) for entry in item["unless"])
    parts["samples"] = ()
    return Rule(**parts)
