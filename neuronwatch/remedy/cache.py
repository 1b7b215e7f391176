"""The compile cache on disk: which entries must not be used, and moving them aside and back. Nothing is ever deleted.

What is moved goes to `<cache>/.neuronwatch-aside/<id>/` (the same file system, so a rename), with a manifest that says from where,
so that it is restored exactly. Links in the cache are not followed, and nothing outside it is touched.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from neuronwatch.model.digest import blake2b
from neuronwatch.remedy.api import CacheEntry, RemedyError
from neuronwatch.source.host.compile_cache import DEFAULT
from neuronwatch.store.json_files import read_json, write_json

ASIDE, MANIFEST = ".neuronwatch-aside", "manifest.json"
COMPILERS = re.compile(r"(?:USER_)?neuronx?cc-[\w.+-]{1,100}")
MODULE = re.compile(r"MODULE_[0-9A-Za-z+_.-]{1,120}")
MAX_ENTRIES = 50_000
_CACHE_DIR = re.compile(r"--cache_dir[= ]\s*['\"]?(/[^\s'\"]{1,400})")
_ID = re.compile(r"[0-9a-f]{12}")


class Moved(NamedTuple):
    """What was moved aside together. `items`: the paths below the cache."""

    id: str
    time: float
    why: str
    items: tuple[str, ...]


def root_of(variables: Mapping[str, str]) -> str:
    """Where a job with this environment has its cache; what is no path of this host (`s3://`) is given as it stands."""
    flag = _CACHE_DIR.search(variables.get("NEURON_CC_FLAGS", ""))
    return (flag.group(1) if flag else variables.get("NEURON_COMPILE_CACHE_URL", "")).rstrip("/") or DEFAULT


def entries(root: Path) -> Iterator[Path]:
    """The entries (`neuronxcc-VERSION/MODULE_X`), at most 50,000. Links are none."""
    count = 0
    for compiler in _directories(root):
        if COMPILERS.fullmatch(compiler.name):
            for module in _directories(compiler):
                if MODULE.fullmatch(module.name):
                    count += 1
                    if count > MAX_ENTRIES:
                        return
                    yield module


def _directories(place: Path) -> list[Path]:
    try:
        with os.scandir(place) as found:
            return sorted(Path(item.path) for item in found if item.is_dir(follow_symlinks=False))
    except OSError:
        return []


def state_of(entry: Path) -> str:
    """`good`, `locked`, `failed`, `empty`, `empty-neff`, `done-without-neff`, or `unfinished` (somebody may be compiling)."""
    sizes: dict[str, int] = {}
    with contextlib.suppress(OSError), os.scandir(entry) as found:
        for item in found:
            with contextlib.suppress(OSError):
                sizes[item.name] = item.stat(follow_symlinks=False).st_size
    neff = sizes.get("model.neff")
    if any(name.endswith(".lock") for name in sizes):
        return "locked"
    if neff == 0:
        return "empty-neff"
    if neff is not None:
        return "good"
    if "model.done" in sizes:
        return "done-without-neff"
    if "model.log" in sizes:
        return "failed"
    return "unfinished" if sizes else "empty"


BAD = ("failed", "empty", "empty-neff", "done-without-neff")
EMPTY_AGE = 600.0
"""Seconds after which a directory without a file is nobody's beginning."""


def bad_entries(root: Path, now: float, compiler: str = "") -> list[CacheEntry]:
    """Entries that must not be used. `compiler`: the version that the job has; entries of others are `foreign` and only listed."""
    found = []
    for entry in entries(root):
        state, changed = state_of(entry), _time(entry)
        if state == "empty" and now - changed < EMPTY_AGE:
            continue
        if state in BAD:
            found.append(CacheEntry(str(entry), state, changed))
        elif state == "good" and compiler and not re.search(rf"-{re.escape(compiler)}(?:\+|$)", entry.parent.name):
            found.append(CacheEntry(str(entry), "foreign", changed))
    return found


def _time(path: Path) -> float:
    try:
        return path.lstat().st_mtime
    except OSError:
        return 0.0


def move_aside(root: Path, paths: Sequence[Path], why: str, now: float | None = None) -> Moved:
    """Moves entries or single files of them aside. The manifest is on disk before the first move. Raises RemedyError; what was
    moved by then is in the manifest."""
    base, items = _opened(root), []
    try:
        for path in paths:
            item = path.relative_to(root).as_posix() if path.is_relative_to(root) else ""
            if not _allowed(item):
                raise RemedyError(f"{path} is no entry of the cache {root}")
            items.append(item)
        now = time.time() if now is None else now
        name = blake2b(f"{now}|{items}".encode(), digest_size=6).hexdigest()
        place = root / ASIDE / name
        try:
            (root / ASIDE).mkdir(mode=0o700, exist_ok=True)
            _own(root / ASIDE)
            place.mkdir(mode=0o700)
            write_json(place / MANIFEST, {"time": now, "why": why, "items": items})
        except OSError as error:
            raise RemedyError(f"{place} cannot be made: {error.strerror}", "make room there, or write access") from error
        for number, item in enumerate(items):
            _rename(base, item, f"{ASIDE}/{name}/{number}")
        return Moved(name, now, why, tuple(items))
    finally:
        os.close(base)


def restore(root: Path, name: str) -> tuple[list[str], list[str]]:
    """Moves back what was moved aside together: what came back, and what did not, with the reason. Raises RemedyError."""
    if not _ID.fullmatch(name):
        raise RemedyError(f"{name[:40]!r} is no id of what was moved aside", f"neuronwatch cache list --cache {root}")
    base = _opened(root)
    try:
        _own(root / ASIDE)
        items = _manifest(root, name).items
        back, left = [], []
        for number, item in enumerate(items):
            if not _allowed(item):
                left.append(f"{item[:200]}: no entry of the cache")
            elif not _there(base, f"{ASIDE}/{name}/{number}"):
                left.append(f"{item}: it is not there any more")
            elif _there(base, item):
                left.append(f"{item}: there is a new one, which stays")
            else:
                try:
                    _rename(base, f"{ASIDE}/{name}/{number}", item)
                    back.append(item)
                except RemedyError as error:
                    left.append(str(error))
        if not left:
            with contextlib.suppress(OSError):
                (root / ASIDE / name / MANIFEST).rename(root / ASIDE / name / "restored.json")
        return back, left
    finally:
        os.close(base)


def moved(root: Path) -> list[Moved]:
    """What lies aside, oldest first."""
    found = []
    for place in _directories(root / ASIDE):
        if _ID.fullmatch(place.name) and (place / MANIFEST).exists():
            with contextlib.suppress(RemedyError):
                found.append(_manifest(root, place.name))
    return sorted(found, key=lambda item: (item.time, item.id))


def _manifest(root: Path, name: str) -> Moved:
    found = read_json(root / ASIDE / name / MANIFEST)
    try:
        items = found["items"]  # type: ignore[index]  # None is caught below
        if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
            raise TypeError
        return Moved(name, float(found["time"]), str(found["why"])[:500], tuple(items))  # type: ignore[index]
    except (KeyError, TypeError, ValueError) as error:
        raise RemedyError(
            f"there is no manifest of {name} in {root / ASIDE}", "neuronwatch cache list shows what lies aside"
        ) from error


def _allowed(item: str) -> bool:
    """`neuronxcc-X/MODULE_Y` or a file in one."""
    parts = item.split("/")
    return (
        2 <= len(parts) <= 3
        and COMPILERS.fullmatch(parts[0]) is not None
        and MODULE.fullmatch(parts[1]) is not None
        and all(part not in ("", ".", "..") and "\0" not in part for part in parts)
    )


def _own(place: Path) -> None:
    info = place.lstat()
    if not stat.S_ISDIR(info.st_mode) or info.st_uid != os.geteuid():
        raise RemedyError(f"{place} is not ours", "move it away")


def _opened(root: Path) -> int:
    try:
        return os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise RemedyError(f"the cache {root} cannot be opened: {error.strerror}") from error


def _rename(base: int, source: str, target: str) -> None:
    """Below `base`, through directories that are no links, whatever is swapped meanwhile."""
    descriptors: list[int] = []
    try:
        places = []
        for path in (source, target):
            *directories, name = path.split("/")
            at = base
            for part in directories:
                at = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=at)
                descriptors.append(at)
            places.append((name, at))
        os.rename(places[0][0], places[1][0], src_dir_fd=places[0][1], dst_dir_fd=places[1][1])
    except OSError as error:
        raise RemedyError(f"{source} cannot be moved to {target}: {error.strerror}", "check who may write there") from error
    finally:
        for descriptor in descriptors:
            os.close(descriptor)


def _there(base: int, path: str) -> bool:
    try:
        os.stat(path, dir_fd=base, follow_symlinks=False)
        return True
    except OSError:
        return False
