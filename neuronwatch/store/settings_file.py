"""Reads a TOML file of settings into a dataclass. Every mistake is one line with file, line, and the nearest name."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from neuronwatch.model.dataclass import Given, given
from neuronwatch.parse import _toml

LARGEST = 1_000_000
"""A file of settings above so many bytes is none."""
Path_ = tuple[str, ...]
Kind = TypeVar("Kind")


class SettingsError(Exception):
    """One mistake: `str()` is the message, `path` and `line` say where."""

    def __init__(self, message: str, path: str, line: int | None = None) -> None:
        super().__init__(message)
        self.path = path
        self.line = line

    def __str__(self) -> str:
        where = f"{self.path}:{self.line}" if self.line is not None else self.path
        return f"{where}: {self.args[0]}"


def read(path: Path) -> str:
    """The text of a file that may be believed: it can name programs that are run. Raises SettingsError."""
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
        with os.fdopen(descriptor, "rb") as file:
            info = os.fstat(file.fileno())
            if not stat.S_ISREG(info.st_mode) or info.st_size > LARGEST:
                raise SettingsError("not a plain file of at most a megabyte", str(path))
            if hasattr(os, "geteuid") and (info.st_uid not in (0, os.geteuid()) or info.st_mode & 0o022):
                raise SettingsError("it may be written by others than root and you (chmod go-w, chown)", str(path))
            data = file.read(LARGEST + 1)
    except OSError as error:
        raise SettingsError((error.strerror or str(error)).lower(), str(path)) from error
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise SettingsError(f"not TOML: {error}", str(path), line) from error


def record(kind: type[Kind], text: str, path: str, names: Mapping[str, Sequence[str]] | None = None) -> tuple[Kind, Reader]:
    """The settings in a text, and what says further mistakes with their line. `names`: the keys that tables of tables may have.
    Raises SettingsError for the first mistake."""
    try:
        document = _toml.loads(text)
    except _toml.TomlError as error:
        raise SettingsError(str(error), path, error.line or 1) from error
    reader = Reader(text, path, names or {})
    found: Kind = reader.table(kind, document, ())
    return found, reader


class Reader:
    """Makes dataclasses of tables; the metadata of their fields are the limits (see daemon/config.py)."""

    def __init__(self, text: str, path: str, names: Mapping[str, Sequence[str]]) -> None:
        self._text = text
        self._path = path
        self._names = names
        self._lines: dict[Path_, int] | None = None

    def error(self, where: Path_, message: str) -> SettingsError:
        if self._lines is None:
            self._lines = dict(reversed(list(key_lines(self._text))))
        while where and where not in self._lines:
            where = where[:-1]
        return SettingsError(message, self._path, self._lines.get(where, 1))

    def table(self, kind: type[Any], value: Any, where: Path_) -> Any:
        if not isinstance(value, dict):
            raise self.error(where, f"`{'.'.join(where)}` is a table")
        known = given(kind)
        types = get_type_hints(kind)
        found: dict[str, Any] = {}
        for key, item in value.items():
            if key not in known:
                raise self.error((*where, key), self._unknown(key, list(known), where))
            found[key] = self.value(types[key], known[key], item, (*where, key))
        return kind(**found)

    def _unknown(self, key: str, known: list[str], where: Path_) -> str:
        near = _nearest(key, known)
        place = f" in [{'.'.join(where)}]" if where else ""
        mend = f", did you mean `{near[0]}`?" if near else f"; there are {', '.join(known)}"
        return f"unknown key `{key}`{place}{mend}"

    def value(self, kind: Any, field: Given, value: Any, where: Path_) -> Any:
        name, limits = ".".join(where), field.metadata
        if given(kind):
            return self.table(kind, value, where)
        origin, inner = get_origin(kind), get_args(kind)
        if origin is dict:
            return self._mapping(inner[1], field, value, where)
        if origin is tuple:
            if not isinstance(value, list):
                raise self.error(where, f"`{name}` is a list")
            if given(inner[0]):
                return tuple(self.table(inner[0], item, (*where, str(n))) for n, item in enumerate(value))
            return tuple(self._scalar(str, limits, item, where) for item in value)
        plain = next((item for item in inner if item is not type(None)), kind)
        return self._scalar(plain, limits, value, where)

    def _mapping(self, inner: Any, field: Given, value: Any, where: Path_) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise self.error(where, f"`{'.'.join(where)}` is a table")
        names = self._names.get(str(field.metadata.get("names", "")), ())
        found = {}
        for key, item in value.items():
            if names and key not in names:
                raise self.error((*where, key), self._unknown(key, list(names), where))
            found[key] = self.value(inner, field, item, (*where, key))
        return found

    def _scalar(self, kind: type, limits: Any, value: Any, where: Path_) -> Any:
        name = ".".join(where)
        wanted = {float: (int, float), int: (int,), bool: (bool,), str: (str,)}[kind]
        if not isinstance(value, wanted) or (isinstance(value, bool) and kind is not bool):
            words = {float: "a number", int: "a whole number", bool: "true or false", str: "a text"}
            raise self.error(where, f"`{name}` is {words[kind]}")
        if kind in (int, float) and not limits.get("least", value) <= value <= limits.get("most", value):
            raise self.error(where, f"`{name}` is between {limits['least']:g} and {limits['most']:g}")
        if isinstance(value, str):
            self._text_form(value, limits, where)
        return float(value) if kind is float else value

    def _text_form(self, value: str, limits: Any, where: Path_) -> None:
        name = ".".join(where)
        choices, form = limits.get("choices"), limits.get("form")
        if choices and value not in choices:
            near = _nearest(value, choices)
            raise self.error(where, f"`{name}` is one of {', '.join(choices)}" + (f"; did you mean {near[0]}?" if near else ""))
        if form and not re.fullmatch(form, value):
            raise self.error(where, f"`{name}` = {value[:80]!r} has not the form {form}")


_HEADER = re.compile(r"\s*(\[\[?)\s*([^\]#]+?)\s*\]")
_KEY = re.compile(r"""\s*((?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*'))*)\s*=""")
_PART = re.compile(r"""[A-Za-z0-9_-]+|"[^"]*"|'[^']*'""")


def key_lines(text: str) -> Iterator[tuple[Path_, int]]:
    """The path of each key and table with its 1-based line. Tables in a list have their number in the path. Keys in inline
    tables are found at the line of the key that holds them."""
    table: Path_ = ()
    counts: dict[Path_, int] = {}
    for number, line in enumerate(text.split("\n"), 1):
        header = _HEADER.match(line)
        if header:
            table = _numbered(_parts(header[2]), counts)
            if header[1] == "[[":
                counts[table] = counts.get(table, -1) + 1
                table = (*table, str(counts[table]))
            yield table, number
            continue
        key = _KEY.match(line)
        if key:
            yield (*table, *_parts(key[1])), number


def _parts(text: str) -> Path_:
    return tuple(part.strip("\"'") for part in _PART.findall(text))


def _numbered(path: Path_, counts: dict[Path_, int]) -> Path_:
    """The path with the numbers of the lists on the way, but not its own."""
    done: Path_ = ()
    for index, part in enumerate(path):
        done = (*done, part)
        if index < len(path) - 1 and done in counts:
            done = (*done, str(counts[done]))
    return done


def _nearest(word: str, known: Sequence[str]) -> list[str]:
    from difflib import get_close_matches  # only a mistake needs it

    return get_close_matches(word, known, 1)
