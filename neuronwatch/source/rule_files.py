"""Reads the rule table: the bundled rules, and users' drop-in directories; the compiled set is cached by content."""

from __future__ import annotations

import json
import os
import stat
import sys
from collections.abc import Sequence
from dataclasses import asdict, fields
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from neuronwatch import __version__
from neuronwatch.judge.match.store import blake2b, write_whole
from neuronwatch.judge.rules.compiled import RuleSet
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
    texts, notes = _read_texts(directories, check_owner)
    keys = [blake2b(text.encode(), digest_size=16).hexdigest() for _, text in texts]
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
                from neuronwatch.judge.rules.load import load_rule

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
    from neuronwatch.judge.rules.load import load_rule

    texts, _ = _read_texts([directory], False)
    rules = {blake2b(text.encode(), digest_size=16).hexdigest(): _plain(load_rule(path, text)) for path, text in texts}
    return _sealed(json.dumps({"loader": _loader(), "rules": rules}).encode())


def _sealed(body: bytes) -> bytes:
    """With a hash in front: a damaged cache is not believed."""
    return blake2b(body, digest_size=16).hexdigest().encode() + b"\n" + body


def _unsealed(data: bytes) -> bytes:
    """Raises ValueError for what is not whole."""
    seal, _, body = data.partition(b"\n")
    if seal != blake2b(body, digest_size=16).hexdigest().encode():
        raise ValueError("damaged")
    return body


def _read_texts(directories: Sequence[Path], check_owner: bool) -> tuple[list[tuple[str, str]], list[str]]:
    texts: list[tuple[str, str]] = []
    notes: list[str] = []
    for directory in directories:
        names, reason = _rule_names(directory)
        if reason:
            notes.append(f"{directory}: {reason}")
        for path in names:
            reason = distrusted(path) if check_owner else ""
            text = ""
            if not reason:
                reason, text = read_rule(path)
            if reason:
                notes.append(f"{path}: ignored: {reason}")
            else:
                texts.append((str(path), text))
    return texts, notes


def _rule_names(directory: Path) -> tuple[list[Path], str]:
    """The rule files below a directory, by name, and what is wrong with it. Links to directories are not followed."""
    if not directory.is_dir():
        return [], "ignored: not a directory" if directory.exists() else "ignored: no such directory"
    found: list[str] = []
    for place, directories, names in os.walk(directory):
        directories.sort()
        found += [os.path.join(place, name) for name in sorted(names) if name.endswith(".toml")]
        if len(found) > MAX_RULE_FILES:
            return sorted(map(Path, found[:MAX_RULE_FILES])), f"only {MAX_RULE_FILES} rule files are read"
    return sorted(map(Path, found)), ""


def read_rule(path: Path) -> tuple[str, str]:
    """Why a rule file cannot be read ("" if it can), and its text. Pipes and devices are not waited for."""
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
        with os.fdopen(handle, "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return "not a regular file", ""
            data = file.read(MAX_RULE_BYTES + 1)
    except (OSError, ValueError) as error:
        return ((error.strerror or str(error)).lower() if isinstance(error, OSError) else str(error)), ""
    if len(data) > MAX_RULE_BYTES:
        return f"larger than {MAX_RULE_BYTES} bytes", ""
    try:
        return "", data.decode("utf-8").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        return f"not UTF-8 in line {line}", ""


def _loader() -> str:
    """What compiled a rule: the version and the content of the code that does it."""
    digest = blake2b(__version__.encode(), digest_size=16)
    room = Path(__file__).resolve().parent.parent / "judge"
    for name in ("rules/load.py", "rules/lint.py", "rules/model.py", "rules/expr.py", "match/literals.py"):
        digest.update((room / name).read_bytes())
    return digest.hexdigest()


def _compiled_before() -> dict[str, Any]:
    """Compiled rules by the hash of their text: those of the wheel, and those of the cache."""
    loader, found = _loader(), {}
    shipped, cache = Path(__file__).resolve().parent.parent / "_bundled" / COMPILED, cache_directory() / COMPILED
    for path in (shipped, cache):
        try:
            if path is cache and distrusted(cache):
                continue
            document = json.loads(_unsealed(path.read_bytes()))
            if document["loader"] == loader:
                found.update(document["rules"])
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            continue
    return found


def _write_cache(rules: dict[str, Any]) -> None:
    """Old entries go when they are many."""
    newest = dict(list(rules.items())[-MAX_CACHED:])
    body = json.dumps({"loader": _loader(), "rules": newest}).encode()
    write_whole(cache_directory(), COMPILED, _sealed(body))


def _plain(rule: Rule) -> dict[str, Any]:
    return asdict(rule) | {"samples": []}


_TYPES: dict[str, tuple[type, ...]] = {
    "str": (str,), "Role": (str,), "Severity": (str,), "bool": (bool,), "float": (float, int),
    "float | None": (float, int, type(None)),
    "tuple[str, ...]": (tuple,),
}  # fmt: skip


def _made(kind: type[Any], item: dict[str, Any], **given: Any) -> Any:
    """An object of a dataclass from its JSON form. Raises TypeError for a value of another type: a cache is not trusted."""
    values = {name: tuple(value) if isinstance(value, list) else value for name, value in item.items() if name not in given}
    wanted = _wanted_types(kind)  # type: ignore[arg-type]  # a class can be hashed
    for name, value in values.items():
        if not isinstance(value, wanted.get(name, ())) or (
            isinstance(value, tuple) and not all(isinstance(part, str) for part in value)
        ):
            raise TypeError(name)
    return kind(**values, **given)


@cache
def _wanted_types(kind: type[Any]) -> dict[str, tuple[type, ...]]:
    """What the fields of a dataclass may hold; two thousand objects are made at every start."""
    return {field.name: _TYPES[str(field.type)] for field in fields(kind) if str(field.type) in _TYPES}


def _rule_of(item: Any, path: str) -> Rule | None:
    """A rule from its compiled form, or None when that is not what we wrote."""
    try:
        rule: Rule = _made(
            Rule, item, ends=_made(Ends, item["ends"]), samples=(), path=path,
            signatures=tuple(_made(Signature, entry) for entry in item["signatures"]),
            joins=tuple(_made(Join, entry) for entry in item["joins"]),
            clues=tuple(_made(Clue, entry) for entry in item["clues"]),
            unless=tuple(_made(Unless, entry) for entry in item["unless"]),
        )  # fmt: skip
        return rule
    except (KeyError, TypeError, AttributeError):
        return None
