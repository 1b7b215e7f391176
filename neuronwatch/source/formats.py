"""The formats for one run, without importing all parsers: what the scan needs of a line format (name, kind, triggers) is
cached by the parsers' content, and a parser's module is imported when its format is met.

`parse/registry.py` stays the one list of formats; this is its fast door. A cache that cannot be read or written only costs time.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from neuronwatch import __version__, parse
from neuronwatch.judge.match.store import prune, write_whole
from neuronwatch.model.digest import blake2b
from neuronwatch.model.records import Record
from neuronwatch.parse.api import FileFormat, Line, LineFormat
from neuronwatch.source import rule_files

FILE_FORMAT_MODULES = "file_format_modules"


class _Parse:
    """Calls the parser of a line format, importing its module at the first call."""

    def __init__(self, module: str, name: str) -> None:
        self._module = module
        self._name = name
        self._real: Callable[[Sequence[Line]], Iterable[Record]] | None = None

    def __call__(self, lines: Sequence[Line]) -> Iterable[Record]:
        if self._real is None:
            found = (item for item in _formats_of(self._module) if isinstance(item, LineFormat))
            self._real = next(item.parse for item in found if item.name == self._name)
        return self._real(lines)


def _formats_of(module: str) -> list[LineFormat | FileFormat]:
    loaded = importlib.import_module(f"neuronwatch.parse.{module}")
    found = [loaded.FORMAT] if hasattr(loaded, "FORMAT") else []
    return [*found, *getattr(loaded, "FORMATS", ())]


def load(cache_dir: Path | None) -> tuple[tuple[LineFormat, ...], tuple[FileFormat, ...]]:
    """All line formats (their parsers not imported yet where the cache knows them) and all file formats."""
    key = _key()
    index = _read(cache_dir, key)
    if index is None:
        index = _build()
        _write(cache_dir, key, index)
    try:
        line_formats = tuple(_line_format(item) for item in index["line_formats"])
        modules = [str(name) for name in index[FILE_FORMAT_MODULES]]
        file_formats = tuple(item for name in modules for item in _formats_of(name) if isinstance(item, FileFormat))
    except (KeyError, TypeError, ValueError, ImportError, AttributeError):
        return load(None)  # a cache that says something else than we wrote
    return line_formats, file_formats


@lru_cache(maxsize=1)
def shipped() -> tuple[tuple[LineFormat, ...], tuple[FileFormat, ...]]:
    """The formats of this process, from the cache of this user."""
    return load(rule_files.cache_directory())


def _line_format(item: dict[str, Any]) -> LineFormat:
    module = str(item["module"])
    rest: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in item.items() if name != "module"
    }
    found = LineFormat(parse=_Parse(module, str(item["name"])), **rest)
    texts = (found.name, found.kind, *found.triggers)
    if not all(isinstance(text, str) for text in texts) or not all(isinstance(n, int) for n in (found.before, found.after)):
        raise TypeError("not a line format")
    return found


def _key() -> str:
    digest = blake2b(__version__.encode(), digest_size=16)
    for path in sorted(Path(parse.__path__[0]).glob("*.py")):
        info = path.stat()
        digest.update(f"{path.name} {info.st_size} {info.st_mtime_ns}\n".encode())
    return digest.hexdigest()


def _build() -> dict[str, Any]:
    from dataclasses import fields

    from neuronwatch.parse import registry

    wanted = [field.name for field in fields(LineFormat) if field.name != "parse"]
    lines: list[dict[str, Any]] = []
    files: list[str] = []
    for module in registry.modules():
        for item in _formats_of(module):
            if isinstance(item, LineFormat):
                lines.append({"module": module, **{name: getattr(item, name) for name in wanted}})
            elif module not in files:
                files.append(module)
    return {"line_formats": lines, FILE_FORMAT_MODULES: files}


def _read(cache_dir: Path | None, key: str) -> dict[str, Any] | None:
    if cache_dir is None:
        return None
    try:
        index = json.loads((cache_dir / f"formats-{key}.json").read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    return index if isinstance(index, dict) else None


def _write(cache_dir: Path | None, key: str, index: dict[str, Any]) -> None:
    if cache_dir is not None and write_whole(cache_dir, f"formats-{key}.json", json.dumps(index).encode()):
        prune(cache_dir, "formats-*.json", 4)
