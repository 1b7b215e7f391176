"""TOML with the line of what is wrong in it. The library is imported at the first use: most starts read none."""

from __future__ import annotations

import re
import sys
from typing import Any


class TomlError(ValueError):
    """What is no TOML; `line` is None where the library names none."""

    def __init__(self, message: str, line: int | None) -> None:
        super().__init__(message)
        self.line = line


def loads(text: str) -> dict[str, Any]:
    """The document. Raises TomlError."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:  # the same parser, before it joined the standard library
        import tomli as tomllib

    try:
        document: dict[str, Any] = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # a number of 5,000 digits is a ValueError too
        found = re.search(r"line (\d{1,9})", str(error))
        raise TomlError(f"not TOML: {error}", int(found[1]) if found else None) from error
    return document
