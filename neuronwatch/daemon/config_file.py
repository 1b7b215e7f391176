"""The daemon's configuration file, as `config.Config`. Every mistake is one line with file, line, and the nearest name."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from neuronwatch.daemon.config import Alert, Config
from neuronwatch.store.settings_file import Reader, SettingsError, read, record

ConfigError = SettingsError


def default_paths() -> list[Path]:
    """Where a configuration is looked for, in this order; the first one that exists is the configuration."""
    home = os.environ.get("XDG_CONFIG_HOME")
    own = Path(home) if home else Path(os.path.expanduser("~")) / ".config"  # noqa: PTH111 (Path raises without a home)
    places = [own / "neuronwatch" / "config.toml", Path("/etc/neuronwatch/config.toml")]
    return places[::-1] if hasattr(os, "geteuid") and os.geteuid() == 0 else places


def find() -> Path | None:
    return next((path for path in default_paths() if path.is_file()), None)


def load(path: Path | None, source_names: Sequence[str] = ()) -> Config:
    """The configuration of a file, None: all defaults. Raises ConfigError."""
    if path is None:
        return Config()
    return parse(read(path), str(path), source_names)


def parse(text: str, path: str, source_names: Sequence[str] = ()) -> Config:
    """Raises ConfigError for the first mistake."""
    config, reader = record(Config, text, path, {"sources": tuple(source_names)})
    for number, alert in enumerate(config.alerts):
        _one_way(alert, reader, number)
    return config


def _one_way(alert: Alert, reader: Reader, number: int) -> None:
    if bool(alert.url) == bool(alert.command):
        raise reader.error(("alerts", str(number)), "an alert has exactly one of `url` and `command`")
    if alert.command and not alert.command[0].startswith("/"):
        raise reader.error(("alerts", str(number), "command"), f"{alert.command[0]!r}: the program is an absolute path")
