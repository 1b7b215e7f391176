"""Reading the tables: the shipped `<name>.json` files plus overlay directories, which add rows without a release.

A table is `{"table": name, "date": "YYYY-MM-DD", "note": text, "rows": [{..., "source": text}]}`. An overlay file has the same
form (file name free, `table` names what it adds to); a row with the key of a shipped row replaces it. A wrong overlay is
left out with a reason, it never stops a diagnosis.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Sequence
from datetime import date, timedelta
from functools import cache
from pathlib import Path
from typing import Any

from neuronwatch.model.dataclass import dataclass

Row = dict[str, Any]

KEYS = {
    "sdk_releases": ("release",), "instance_types": ("name",), "published_models": ("id",), "optimum_neuron": ("version",),
    "kernels": ("kind", "component", "release", "os", "os_version", "kernel", "driver"), "constraints": ("id",),
    "pypi_stubs": ("package",), "model_types": ("model_type",), "taxonomy": ("id",),
}  # fmt: skip
"""The shipped tables and the columns that make a row unique."""

OVERLAY = Path("/etc/neuronwatch/data")
MAX_OVERLAY_BYTES = 8 * 1024 * 1024
MAX_AGE_DAYS = 180
"""From this age on `age_note` speaks: the SDK has had a release every one to two months."""

_overlays: tuple[Path, ...] = ()
_sharing = False
_problems: list[str] = []


@dataclass(frozen=True)
class Table:
    """Rows in the order of the file (newest first where rows have versions), `date` is the newest date of its parts."""

    name: str
    date: str
    rows: tuple[Row, ...]


def use_overlays(directories: Sequence[Path] = (OVERLAY,)) -> list[str]:
    """Adds the `*.json` files of these directories to the tables, from now on. Returns what was left out, and why."""
    global _overlays
    _overlays = tuple(directories)
    _problems.clear()
    clear()
    if any(directory.is_dir() for directory in _overlays):
        for name in KEYS:
            load(name)
    return list(dict.fromkeys(_problems))


def share() -> None:
    """From now on texts and lists of a table that are equal are one object: of the SDK's releases they take a third then, and 5 ms
    more to read. For a process that keeps them for months."""
    global _sharing
    _sharing = True
    clear()


def clear() -> None:
    """Forgets what has been read (after a change of overlays)."""
    load.cache_clear()
    for forget in _DEPENDENTS:
        forget()


_DEPENDENTS: list[Any] = []


def cached(function: Any) -> Any:
    """`functools.cache` for what is computed from tables: forgotten with them."""
    wrapped = cache(function)
    _DEPENDENTS.append(wrapped.cache_clear)
    return wrapped


@cache
def load(name: str) -> Table:
    """One table. Raises KeyError for a name that does not exist."""
    key = KEYS[name]
    shipped = json.loads(Path(__file__).with_name(f"{name}.json").read_bytes())
    rows: dict[tuple[Any, ...], Row] = {tuple(row.get(part) for part in key): row for row in shipped["rows"]}
    newest = str(shipped["date"])
    added: dict[tuple[Any, ...], Row] = {}
    for extra in _overlay_files(name):
        newest = max(newest, str(extra["date"]))
        for row in extra["rows"]:
            wrong = _misfit(row, shipped["rows"])
            if wrong:
                _problems.append(f"{extra['path']}: row {row.get(key[0])!r}: {wrong}")
            else:
                added[tuple(row.get(part) for part in key)] = row
    kept = [row for where, row in rows.items() if where not in added]
    every = (*added.values(), *kept)
    if _sharing:
        known: dict[Any, Any] = {}
        every = tuple(_shared(row, known) for row in every)
    return Table(name, newest, every)


def _shared(value: Any, known: dict[Any, Any]) -> Any:
    """The same value; its texts and lists stand in `known` (lists by the identity of their items, which are there too)."""
    if isinstance(value, str):
        return known.setdefault(value, value)
    if isinstance(value, dict):
        return {known.setdefault(key, key): _shared(item, known) for key, item in value.items()}
    if isinstance(value, list):
        items = [_shared(item, known) for item in value]
        if all(isinstance(item, (str, list)) for item in items):
            return known.setdefault(tuple(map(id, items)), items)
        return items
    return value


def _overlay_files(name: str) -> list[Row]:
    found: list[Row] = []
    for directory in _overlays:
        try:
            paths = sorted(directory.glob("*.json")) if directory.is_dir() else []
        except OSError as error:
            _problems.append(f"{directory}: {error.strerror}")
            continue
        for path in paths:
            extra = _read_overlay(path)
            if extra is not None and extra["table"] == name:
                found.append({**extra, "path": str(path)})
    return found


def _misfit(row: Row, shipped: list[Row]) -> str:
    """What keeps a row from being used as the shipped ones are: a column that is missing or of another form, or ""."""
    like = [other for other in shipped if other.get("kind") == row.get("kind")]
    if not like:
        return f"kind {row.get('kind')!r} is not known"
    missing = set.intersection(*(set(other) for other in like)) - set(row)
    if missing:
        return f"lacks {', '.join(sorted(missing))}"
    forms: set[tuple[str, ...]] = set().union(*(_forms(other) for other in like))
    wrong = sorted(form for form in _forms(row) if form not in forms and form[0] in set().union(*like))
    return f"`{wrong[0][0]}` is not of the form that the shipped rows have" if wrong else ""


def _forms(value: Any, path: tuple[str, ...] = ()) -> set[tuple[str, ...]]:
    """The types of all leaves with their paths; keys of inner maps and places in lists do not count."""
    if len(path) > 8:
        return {(*path[:1], "too deep")}
    if isinstance(value, dict):
        return set().union(*(_forms(item, (*path, key if not path else "{}")) for key, item in value.items())) | {(*path, "map")}
    if isinstance(value, list):
        return set().union(*(_forms(item, (*path, "[]")) for item in value)) | {(*path, "list")}
    kind = "number" if isinstance(value, (int, float)) and not isinstance(value, bool) else type(value).__name__
    return {(*path, kind)}


def _read_overlay(path: Path) -> Row | None:
    """The overlay file, or None with a problem noted: not trusted, not readable, or not a table."""
    try:
        with path.open("rb") as handle:
            state = os.fstat(handle.fileno())
            if not stat.S_ISREG(state.st_mode) or state.st_size > MAX_OVERLAY_BYTES:
                _problems.append(f"{path}: not a regular file below {MAX_OVERLAY_BYTES} bytes")
                return None
            if hasattr(os, "geteuid") and (state.st_uid not in (0, os.geteuid()) or state.st_mode & 0o022):
                _problems.append(f"{path}: must belong to root or you and not be writable by others")
                return None
            data = json.loads(handle.read())
    except (OSError, ValueError, RecursionError) as error:
        _problems.append(f"{path}: {error}")
        return None
    return data if _is_table(path, data) else None


def _is_table(path: Path, data: Any) -> bool:
    if not isinstance(data, dict) or data.get("table") not in KEYS:
        _problems.append(f"{path}: `table` must be one of {', '.join(KEYS)}")
        return False
    try:
        date.fromisoformat(str(data.get("date")))
    except ValueError:
        _problems.append(f"{path}: `date` must be YYYY-MM-DD")
        return False
    rows = data.get("rows")
    needed = KEYS[data["table"]][0]
    if not isinstance(rows, list) or not all(isinstance(row, dict) and needed in row for row in rows):
        _problems.append(f"{path}: each row needs `{needed}`")
        return False
    if not all(str(row.get("source", "")).strip() for row in rows):
        _problems.append(f"{path}: each row needs a `source`")
        return False
    return True


def data_date() -> str:
    """Date of the SDK table: what is released later is unknown."""
    return load("sdk_releases").date


def age_note(now: float) -> str | None:
    """One line when the data is old at `now` (epoch seconds), else None. A note, never a finding."""
    then = date.fromisoformat(data_date())
    today = date(1970, 1, 1) + timedelta(seconds=now)
    age = (today - then).days
    if age < MAX_AGE_DAYS:
        return None
    return (
        f"reference data is of {then.isoformat()} ({age} days old): later releases are unknown to it; "
        f"`neuronwatch data import` or files in {OVERLAY} add rows"
    )
