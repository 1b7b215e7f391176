"""A listing of the compile cache: `ls -lR`, `ls`, `find`, `find -ls`, `tree`, `du -a`.

An entry is a directory MODULE_<id>. It holds model.neff and model.done after success, model.log without model.neff after
a failure (later runs then skip the compile), a .lock while (or since) somebody compiles. What is found becomes one
reading each (`cache.lock`, `cache.empty_neff`, `cache.failed_entry`); `judge/derive` counts them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from neuronwatch.model.dataclass import dataclass, field
from neuronwatch.model.records import Fact, Record
from neuronwatch.parse._lazy import lazy
from neuronwatch.parse._text import fact, prompt_command
from neuronwatch.parse.api import Line, LineFormat
from neuronwatch.parse.compile_cache_log import COMPILER_DIR
from neuronwatch.parse.prefix import line_time
from neuronwatch.parse.units import size

_NAME = (
    r"(?:model\.(?:neff|done|log|hlo_module\.pb(?:\.gz)?|hlo\.pb(?:\.gz)?)(?:\.lock)?|graph\.neff"
    r"|compile_flags\.(?:json|txt)|MODULE_[0-9A-Za-z+]{1,60}|(?:USER_)?neuronx?cc-\d[\w.+-]{3,60}|[\w.+-]{1,80}\.lock)"
)
_LONG = lazy(
    r"^\s{0,8}(?:\d{1,12}\s{1,8}\d{1,12}\s{1,4})?[-dl][rwxsStT-]{9}[.+@]?\s{1,8}\d{1,6}\s{1,8}\S{1,40}\s{1,8}\S{1,40}\s{1,20}"
    r"(?P<size>\d[\d.,]{0,18}[KMGTP]?)\s{1,8}(?P<stamp>[A-Z][a-z]{2}\s{1,2}\d{1,2}\s{1,2}(?:\d\d:\d\d|\d{4})"
    r"|\d{4}-\d\d-\d\d\s\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:\s[+-]\d{4})?)\s{1,4}(?P<path>\S{1,500})\s{0,8}$"
)
_DU = lazy(r"^\s{0,8}(?P<size>\d[\d.]{0,18}[KMGTP]?)\s{1,8}(?P<path>[./~]\S{0,500})$")
_PATH = lazy(rf"^\s{{0,8}}(?P<path>(?:\S{{1,400}}/)?{_NAME}/?)(?:\s{{1,60}}#.{{0,200}})?$")
_HEADER = lazy(r"^\s{0,4}(?P<path>\S{0,400}(?:MODULE_|neuronx?cc-|neuron-compile-cache)\S{0,120}?):$")
_TREE = lazy(
    r"^(?P<indent>[│├└─|`\s\u00a0-]{2,80})(?:\[\s{0,12}(?P<size>\d{1,15})[^\]]{0,60}\]\s{1,4})?"
    rf"(?P<path>{_NAME}/?)$"
)
_MODULE = lazy(r"^(?P<dir>(?:.{0,450}/)?MODULE_[0-9A-Za-z+]{1,60})(?:/(?P<file>.{1,100}))?$")
_ROOT = lazy(r"^(?P<root>.{1,400}?)/(?:USER_)?neuronx?cc-\d")
_FILE = lazy(r"(?:model|graph|compile_flags)\.[\w.]{2,40}|[\w.+-]{1,80}\.lock")
_MAX_DEPTH = 20
_LONG_CALL = 3_000
"""A long listing comes in several calls: of one with more lines than this, the last entry may go on in the next."""


class Item(NamedTuple):
    """One entry of a listing: full path as far as it is known, bytes or None, stamp as printed."""

    line: Line
    path: str
    size: int | None
    stamp: str


@dataclass
class _Module:
    files: dict[str, Item] = field(default_factory=dict)
    listed: bool = False
    """Whether the directory itself is in the listing: then its files were not searched for."""


def parse(lines: Sequence[Line]) -> Iterable[Record]:
    """Readings `cache.lock`, `cache.empty_neff`, `cache.failed_entry`, `cache.dir` and counts of entries."""
    modules: dict[str, _Module] = {}
    roots: dict[str, Line] = {}
    versions: dict[str, Line] = {}
    for item in items(lines):
        version = COMPILER_DIR.search(item.path)
        if version:
            versions.setdefault(version.group("version"), item.line)
        root = _ROOT.match(item.path)
        if root and root.group("root").startswith(("/", "~", "s3:")):
            roots.setdefault(root.group("root"), item.line)
        found = _MODULE.match(item.path.rstrip("/"))
        directory, name = (found.group("dir"), found.group("file")) if found else item.path.rpartition("/")[::2]
        if found or _FILE.fullmatch(name or ""):
            module = modules.setdefault(directory, _Module())
            if name:
                module.files[name] = item
            else:
                module.listed = True
        if item.path.endswith(".lock"):
            yield from _lock(item)
        elif item.path.endswith(".neff") and item.size == 0:
            yield fact(item.line, "cache.empty_neff", item.path)
    yield from _entries(modules, len(lines) > _LONG_CALL)
    for root_path, line in roots.items():
        yield fact(line, "cache.dir", root_path)
    if versions:
        yield fact(next(iter(versions.values())), "cache.compilers", tuple(versions))


def items(lines: Sequence[Line]) -> Iterator[Item]:
    """The entries of all listings in `lines`, with the directory that a heading, a command or the tree puts before."""
    directory = ""
    stack: list[tuple[int, str]] = []
    for line in lines:
        body = line.body
        command = prompt_command(body)
        if command is not None:
            directory = _directory_of(command)
            stack = []
            continue
        header = _HEADER.match(body)
        if header:
            directory = header.group("path")
            continue
        tree = _TREE.match(body)
        if tree:
            depth = len(tree.group("indent"))
            while stack and stack[-1][0] >= depth:
                stack.pop()
            name = tree.group("path").rstrip("/")
            path = "/".join([*(part for _, part in stack), name])
            if len(stack) < _MAX_DEPTH:
                stack.append((depth, name))
            yield Item(line, _join(directory, path), int(tree.group("size")) if tree.group("size") else None, "")
            continue
        entry = _LONG.match(body) or _DU.match(body) or _PATH.match(body)
        if entry is None or not re.search(_NAME, entry.group("path")):
            continue
        part = entry.groupdict()
        yield Item(line, _join(directory, part["path"]), _bytes(part.get("size")), part.get("stamp") or "")


def _directory_of(command: str) -> str:
    words = command.split()
    if not words or words[0] not in ("ls", "ll", "tree", "cd", "dir"):
        return ""
    return next((word for word in words[1:] if not word.startswith("-") and "/" in word), "").rstrip("/*")


def _join(directory: str, path: str) -> str:
    clean = path.removeprefix("./")
    if not directory or clean.startswith(("/", "~", directory)):
        return clean
    return f"{directory.rstrip('/')}/{clean}"


def _bytes(text: str | None) -> int | None:
    return size(text.replace(",", "")) if text else None


def _lock(item: Item) -> Iterator[Fact]:
    yield fact(item.line, "cache.lock", item.path)
    if not item.stamp:
        return
    time = line_time(item.stamp if item.stamp.count(":") != 1 else f"{item.stamp}:00")
    if time is not None:
        yield fact(item.line, "cache.lock_time", time)
    else:
        yield fact(item.line, "cache.lock_stamp", " ".join(item.stamp.split()))


def _entries(modules: dict[str, _Module], open_end: bool) -> Iterator[Fact]:
    """A search for one kind of file (`find -name '*.lock'`) says nothing about the entries: those need several
    kinds, or the entry's own directory in the listing."""
    whole = {
        path: module
        for path, module in modules.items()
        if "model.neff" in module.files or len(module.files) > 1 or (module.files and module.listed)
    }
    if not whole:
        return
    first = next(iter(next(iter(whole.values())).files.values())).line
    yield fact(first, "cache.entries", len(modules))
    complete = list(whole.items())[: -1 if open_end else None]
    for path, module in complete:
        log = module.files.get("model.log")
        if log is not None and "model.neff" not in module.files:
            yield fact(log.line, "cache.failed_entry", path)
        done = module.files.get("model.done")
        # a search by name or age leaves out what does not match it: only a long listing shows a whole directory
        if (
            done is not None
            and done.size is not None
            and log is None
            and "model.neff" not in module.files
            and "model.neff.lock" not in module.files
        ):
            yield fact(done.line, "cache.done_without_neff", path)


FORMAT = LineFormat(
    name="compile-cache-listing",
    kind="listing",
    triggers=(
        rf"^\s{{0,8}}(?:\S{{1,400}}/)?MODULE_[0-9A-Za-z+]{{1,60}}(?:/{_NAME})?/?(?:\s{{1,60}}#.{{0,200}})?$",
        rf"^\s{{0,8}}(?:\d{{1,12}}\s{{1,8}}\d{{1,12}}\s{{1,4}})?[-dl][rwxsStT-]{{9}}.{{10,160}}[ /]{_NAME}\s{{0,4}}$",
        r"^\s{0,4}\S{0,400}(?:MODULE_|neuronxcc-|neuron-compile-cache)\S{0,120}:$",
        r"[├└`|].{1,6}(?:MODULE_|neuronxcc-|model\.(?:neff|done|log|hlo)|compile_flags)[\w.+-]{0,80}/?$",
        r"^\s{0,8}\d[\d.]{0,18}[KMGTP]?\s{1,8}[./~]\S{0,300}(?:MODULE_|neuronxcc-)\S{0,160}$",
        r"^model\.(?:neff|done|log|hlo_module\.pb)(?:\.lock)?$",
    ),
    parse=parse,
    before=6,
    after=40,
)
