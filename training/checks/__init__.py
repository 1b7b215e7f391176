"""What must be right of a model before the first step: one module each with `check(seen) -> problems`.

A problem stops the run, except where `[model] accept` names its check: then it is said and the run goes on.
"""

from __future__ import annotations

import importlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from config import ConfigError

BEFORE = ("dtype", "weights")
"""These need the files alone, and say clearer than a loader what does not fit."""
LOADED = ("rope", "published", "vocabulary")


class Problem(NamedTuple):
    wrong: str
    mend: str


@dataclass
class Seen:
    """`stated`: config.json of a local directory as it stands; empty for a hub id or a model from scratch."""

    path: str
    dtype: str
    stated: dict[str, Any] = field(default_factory=dict)
    rope_theta: float = 0.0
    """Of the run's own configuration; 0: it names none."""
    model: Any = None
    tokenizer: Any = None

    @property
    def directory(self) -> Path | None:
        return Path(self.path) if self.path and Path(self.path).is_dir() else None


def look(path: str, dtype: str, rope_theta: float) -> Seen:
    """Raises ConfigError for a directory whose config.json cannot be read."""
    seen = Seen(path, dtype, rope_theta=rope_theta)
    if seen.directory is None:
        return seen
    place = seen.directory / "config.json"
    try:
        found = json.loads(place.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(f"{place}: {error}") from error
    if not isinstance(found, dict):
        raise ConfigError(f"{place}: it is no object")
    seen.stated = found
    return seen


def pass_all(names: tuple[str, ...], seen: Seen, accept: list[str]) -> list[str]:
    """The problems that were accepted. Raises ConfigError with all of the others."""
    refused, accepted = [], []
    for name in names:
        for problem in importlib.import_module(f"checks.{name}").check(seen):
            if name in accept:
                accepted.append(f"accepted ({name}): {problem.wrong}")
            else:
                refused.append(f"{problem.wrong}; {problem.mend}, or accept it: model.accept = [{json.dumps(name)}]")
    if refused:
        raise ConfigError("the model was not trained: " + "\n  and: ".join(refused))
    return accepted
