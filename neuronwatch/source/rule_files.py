"""Reads the rule table: the bundled rules, and users' drop-in directories; the compiled set is cached by content."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from neuronwatch.judge.match.store import write_whole
from neuronwatch.judge.rules.compiled import RuleSet
from neuronwatch.judge.rules.model import Rule, RuleError, RuleProblem
from neuronwatch.source import rule_cache
from neuronwatch.source.bundled import bundled

MAX_RULE_BYTES = 1024 * 1024
MAX_RULE_FILES = 5000
COMPILED = "rules.compiled.json"
LINE_END = b"\n"
MANY = 20
"""From this many rules on compiling them takes a moment worth a word."""


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
    return _home(".cache") / "neuronwatch"


def _home(name: str) -> Path:
    """A directory in the user's home; without a home one that does not exist and cannot be made."""
    home = os.path.expanduser("~")  # noqa: PTH111 (Path raises where there is no home)
    return Path(os.devnull if home.startswith("~") or not home else home) / name


def user_directories() -> list[Path]:
    """Drop-in directories of operators, in the order in which they are read."""
    home = Path(os.environ["XDG_CONFIG_HOME"]) if os.environ.get("XDG_CONFIG_HOME") else _home(".config")
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
    files, notes = _read(directories, check_owner)
    keys = [rule_cache.key_of(data) for _, data in files]
    known = {} if with_samples else _compiled_before()
    here = [(known[key], path) for (path, _), key in zip(files, keys, strict=True) if key in known]
    cached = iter(rule_cache.rules_of([line for line, _ in here], [path for _, path in here]))
    missing = len(files) - len(here)
    if not with_samples and missing > MANY:
        sys.stderr.write("neuronwatch: compiling the rule table (first run after a change)\n")
    rules: list[Rule] = []
    problems: list[RuleProblem] = []
    compiled = False
    for (path, data), key in zip(files, keys, strict=True):
        rule = next(cached) if key in known else None
        if rule is None:
            try:
                rule = _loaded(path, data)
            except RuleError as error:
                problems.extend(error.problems)
                continue
            except UnicodeDecodeError as error:
                notes.append(f"{path}: ignored: {_not_text(error)}")
                continue
            if not with_samples:
                compiled = True
                known[key] = rule_cache.line_of(rule)
        rules.append(rule)
    if compiled:
        write_whole(cache_directory(), COMPILED, rule_cache.packed(known))
    return Loaded(rules, problems, notes)


def compiled_table(directory: Path) -> bytes:
    """The compiled form of a rule directory, as a build puts it into the wheel. Raises RuleError for a bad rule."""
    files, _ = _read([directory], False)
    return rule_cache.packed({rule_cache.key_of(data): rule_cache.line_of(_loaded(path, data)) for path, data in files})


def _loaded(path: str, data: bytes) -> Rule:
    from neuronwatch.judge.rules.load import load_rule  # with all that checks a rule: not needed where the cache has it

    return load_rule(path, _text(data))


def _read(directories: Sequence[Path], check_owner: bool) -> tuple[list[tuple[str, bytes]], list[str]]:
    """The rule files below the directories with their content, and what was ignored."""
    files: list[tuple[str, bytes]] = []
    notes: list[str] = []
    for directory in directories:
        names, reason = _rule_names(directory)
        if reason:
            notes.append(f"{directory}: {reason}")
        for path in names:
            reason = distrusted(Path(path)) if check_owner else ""
            data = b""
            if not reason:
                reason, data = _read_file(path)
            if reason:
                notes.append(f"{path}: ignored: {reason}")
            else:
                files.append((path, data))
    return files, notes


def _rule_names(directory: Path) -> tuple[list[str], str]:
    """The rule files below a directory, by name, and what is wrong with it. Links to directories are not followed."""
    if not directory.is_dir():
        return [], "ignored: not a directory" if directory.exists() else "ignored: no such directory"
    found: list[str] = []
    for place, directories, names in os.walk(directory):
        directories.sort()
        found += [os.path.join(place, name) for name in sorted(names) if name.endswith(".toml")]
        if len(found) > MAX_RULE_FILES:
            return _sorted(found[:MAX_RULE_FILES]), f"only {MAX_RULE_FILES} rule files are read"
    return _sorted(found), ""


def _sorted(paths: list[str]) -> list[str]:
    """In the order of their parts."""
    return sorted(paths, key=lambda path: path.split(os.sep))  # noqa: PTH206 (there are hundreds)


def read_rule(path: Path) -> tuple[str, str]:
    """Why a rule file cannot be read ("" if it can), and its text. Pipes and devices are not waited for."""
    reason, data = _read_file(str(path))
    try:
        return reason, "" if reason else _text(data)
    except UnicodeDecodeError as error:
        return _not_text(error), ""


def _read_file(path: str) -> tuple[str, bytes]:
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
        try:
            info = os.fstat(handle)
            if not stat.S_ISREG(info.st_mode):
                return "not a regular file", b""
            data = os.read(handle, min(info.st_size, MAX_RULE_BYTES) + 1)
            if len(data) > info.st_size or len(data) < min(info.st_size, MAX_RULE_BYTES + 1):
                data += _rest(handle, MAX_RULE_BYTES + 1 - len(data))
        finally:
            os.close(handle)
    except (OSError, ValueError) as error:
        return ((error.strerror or str(error)).lower() if isinstance(error, OSError) else str(error)), b""
    return (f"larger than {MAX_RULE_BYTES} bytes", b"") if len(data) > MAX_RULE_BYTES else ("", data)


def _rest(handle: int, size: int) -> bytes:
    """Up to `size` further bytes of a file that grows, or is given piece by piece."""
    parts = []
    while size > 0 and (part := os.read(handle, size)):
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def _text(data: bytes) -> str:
    return data.decode("utf-8").replace("\r\n", "\n")


def _not_text(error: UnicodeDecodeError) -> str:
    before = error.object[: error.start]
    return f"not UTF-8 in line {before.count(LINE_END) + 1}"


def _compiled_before() -> dict[str, bytes]:
    """Compiled rules by the key of their file: those of the wheel, and those of the cache."""
    found: dict[str, bytes] = {}
    shipped, cache = Path(__file__).resolve().parent.parent / "_bundled" / COMPILED, cache_directory() / COMPILED
    for path in (shipped, cache):
        try:
            if path is cache and distrusted(cache):
                continue
            found.update(rule_cache.unpacked(path.read_bytes()))
        except OSError:
            continue
    return found
