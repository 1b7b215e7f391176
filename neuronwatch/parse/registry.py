"""All formats, found by listing this package: a new file with a `FORMAT` (or `FORMATS`) is a new format."""

from __future__ import annotations

import importlib
import pkgutil
from functools import lru_cache

from neuronwatch.parse.api import FileFormat, Format, LineFormat

_NOT_FORMATS = {"api", "registry", "prefix", "lines", "table", "units"}
"""Helper modules of this package; names with a leading underscore are helpers too."""


def modules() -> list[str]:
    """Names of the modules of this package that define formats, sorted."""
    package = importlib.import_module("neuronwatch.parse")
    names = sorted(info.name for info in pkgutil.iter_modules(package.__path__))
    return [name for name in names if name not in _NOT_FORMATS and not name.startswith("_")]


@lru_cache(maxsize=1)
def formats() -> tuple[Format, ...]:
    """Every format of the package, in the order of module names."""
    found: list[Format] = []
    for name in modules():
        module = importlib.import_module(f"neuronwatch.parse.{name}")
        if hasattr(module, "FORMAT"):
            found.append(module.FORMAT)
        found.extend(getattr(module, "FORMATS", ()))
    return tuple(found)


def line_formats() -> tuple[LineFormat, ...]:
    return tuple(item for item in formats() if isinstance(item, LineFormat))


def file_formats() -> tuple[FileFormat, ...]:
    return tuple(item for item in formats() if isinstance(item, FileFormat))
