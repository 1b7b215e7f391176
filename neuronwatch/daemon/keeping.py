"""What survives a restart: what the judge knows of conditions and incidents, written when it changed."""

from __future__ import annotations

import json
from pathlib import Path

from neuronwatch.daemon.exporters.files import Complaint, replace
from neuronwatch.daemon.log import Log
from neuronwatch.judge.live import Watch
from neuronwatch.source.live.api import Now

FILE = "judge.json"
LARGEST = 64 * 1024 * 1024


class Keeping:
    def __init__(self, directory: Path, log: Log) -> None:
        self._path = directory / FILE
        self._log = log
        self._complaint = Complaint()

    def restore(self, watch: Watch, now: Now) -> None:
        """Takes up what an earlier life knew. A damaged file is set aside and said."""
        try:
            with self._path.open("rb") as file:
                data = file.read(LARGEST)
        except FileNotFoundError:
            return
        except OSError as error:
            self._log.error("what was known before the restart cannot be read", why=(error.strerror or str(error)).lower())
            return
        try:
            watch.load(json.loads(data), now)
        except (ValueError, RecursionError) as error:
            aside = self._path.with_name(f"{FILE}.damaged-{int(now.wall)}")
            self._path.replace(aside)
            self._log.error("what was known before the restart is damaged and set aside", file=str(aside), why=str(error)[:300])

    def save(self, watch: Watch, now: Now) -> None:
        error: OSError | None = None
        try:
            replace(self._path, json.dumps(watch.dump(now), separators=(",", ":")).encode(), 0o600)
        except OSError as caught:
            error = caught
        news = self._complaint.news(error)
        if news:
            self._log.error("what is known is not written down", why=news)
