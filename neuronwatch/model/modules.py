"""The modules of a package, for rooms where a file is a thing of its kind (a parser, a derivation) and there is no list."""

from __future__ import annotations

import os
from importlib.machinery import all_suffixes
from types import ModuleType


def modules(package: ModuleType) -> list[str]:
    """The names of the modules beside `__init__`, sorted. (Like `pkgutil.iter_modules`, which loads `inspect` for it.)"""
    suffixes = all_suffixes()
    found = set()
    for place in package.__path__:
        for name in os.listdir(place):
            suffix = next((suffix for suffix in suffixes if name.endswith(suffix)), "")
            stem = name[: -len(suffix)] if suffix else ""
            if stem.isidentifier() and stem != "__init__":
                found.add(stem)
    return sorted(found)
