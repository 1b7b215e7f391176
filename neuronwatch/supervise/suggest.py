"""What helped, as a configuration to compare with: `<config>.suggested` beside the configuration of a job, never over it."""

from __future__ import annotations

import contextlib
import json
import os
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path

from neuronwatch.model.job import Change, JobSpec
from neuronwatch.model.records import Value
from neuronwatch.store.settings_file import key_lines

LARGEST = 1_000_000


def config_of(spec: JobSpec) -> Path | None:
    """The TOML file that the command names; None: none, or several."""
    found = [path for word in spec.argv[1:] if word.endswith(".toml") and (path := Path(spec.cwd, word)).is_file()]
    return found[0] if len(found) == 1 else None


def write(spec: JobSpec, changes: Iterable[Change]) -> Path | None:
    """Writes it; None: there is nothing to say, or no configuration to say it of. Raises OSError."""
    values = {change.name: change.new for change in changes if change.where == "config"}
    config = config_of(spec)
    if not values or config is None or config.stat().st_size > LARGEST:
        return None
    text = applied(config.read_text(encoding="utf-8"), values)
    place = config.with_name(config.name + ".suggested")
    with contextlib.suppress(FileNotFoundError):
        if not stat.S_ISREG(place.lstat().st_mode):
            raise FileExistsError(17, "there is something else", str(place))
    temporary = place.with_name(f".{place.name}.tmp")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
    temporary.replace(place)
    return place


def applied(text: str, values: Mapping[str, Value]) -> str:
    """The text of a TOML file with other values, everything else (comments, order) as it stands. `values`: by dotted key; None:
    the key is left out. A value that goes over several lines is left alone, and the new one is said in a comment above it."""
    lines = text.split("\n")
    for name, value in values.items():
        path = tuple(name.split("."))
        places = dict(key_lines("\n".join(lines)))
        said = f"{path[-1]} = {_toml(value)}"
        at = places.get(path)
        if at is not None:
            _replace(lines, at - 1, said, value)
        elif value is not None and path[:-1] in places:
            lines.insert(places[path[:-1]], said)
        elif value is not None and len(path) == 1:
            lines.insert(0, said)
        elif value is not None:
            lines += [f"[{'.'.join(path[:-1])}]", said, ""]
    return "\n".join(lines)


def _replace(lines: list[str], at: int, said: str, value: Value) -> None:
    before = lines[at].partition("=")[2].strip()
    if before.startswith(("[", "{", '"""', "'''")) and not before.rstrip().endswith(("]", "}", '"""', "'''")):
        lines.insert(at, f"# suggested: {said}")
    elif value is None:
        lines[at] = f"# suggested: without {lines[at].strip()}"
    else:
        comment = before.partition(" #")[2] if '"' not in before and "'" not in before else ""
        lines[at] = said + (f"  #{comment}" if comment else "")


def _toml(value: Value) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_toml(item) for item in value) + "]"
    return json.dumps(str(value))
