"""`--config FILE`, and the file that is used without it: one way to read it for all verbs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from neuronwatch.cli.main import UsageError, existing

if TYPE_CHECKING:
    from neuronwatch.daemon.config import Config


def check(name: str) -> None:
    """Raises UsageError for a file that is missing, is not TOML, or has a key that means nothing."""
    load(name)


def load(name: str | None) -> Config:
    """The configuration of `--config`, else of the usual place, else all defaults. Raises UsageError."""
    from neuronwatch.daemon import config_file

    path = Path(existing(name)) if name else config_file.find()
    try:
        return config_file.load(path, source_names())
    except config_file.ConfigError as error:
        raise UsageError(f"{'--config ' if name else ''}{error}", error.path, error.line) from error


def source_names() -> tuple[str, ...]:
    """The sources that a configuration may name."""
    from neuronwatch.daemon import sources

    return sources.NAMES
