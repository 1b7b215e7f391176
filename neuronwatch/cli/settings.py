"""`--config FILE`: what may stand in it. No verb that exists so far has settings, so every key is unknown, and said."""

from __future__ import annotations

import re
from pathlib import Path

from neuronwatch.cli.main import UsageError, existing
from neuronwatch.parse import _toml

LARGEST = 1_000_000
"""A configuration file above so many bytes is none."""


def check(name: str) -> None:
    """Raises UsageError for a file that is missing, is not TOML, or has a key that means nothing."""
    path = Path(existing(name))
    if not path.is_file() or path.stat().st_size > LARGEST:
        raise UsageError(f"--config {name}: not a configuration file", name)
    try:
        text = path.read_text(encoding="utf-8")
        settings = _toml.loads(text)
    except OSError as error:
        raise UsageError(f"--config {name}: {(error.strerror or str(error)).lower()}", name) from error
    except UnicodeDecodeError as error:
        raise UsageError(f"--config {name}:1: not TOML: {error}", name, 1) from error
    except _toml.TomlError as error:
        line = error.line or 1
        raise UsageError(f"--config {name}:{line}: {error}", name, line) from error
    for key in settings:
        lines = [n for n, line in enumerate(text.split("\n"), 1) if re.match(rf"\s*\[?\[?\s*[\"']?{re.escape(key)}\b", line)]
        line = lines[0] if lines else 1
        raise UsageError(f"--config {name}:{line}: unknown key `{key}`; there are no settings yet", name, line)
