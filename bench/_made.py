"""With what a table was made: commit, date, and how busy the machine was."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path
from typing import NamedTuple


class Begun(NamedTuple):
    """What was so when a run began."""

    commit: str
    wall: float
    load: float


def begin() -> Begun:
    here = Path(__file__).parent
    asked = subprocess.run(["git", "rev-parse", "--short=7", "HEAD"], cwd=here, capture_output=True, text=True, check=False)
    return Begun(asked.stdout.strip() or "unknown", time.time(), os.getloadavg()[1])


def made(begun: Begun) -> str:
    """For the head of a table. The load averages are those of five minutes, at the begin and now."""
    first, last = (
        time.strftime(form, time.gmtime(when)) for form, when in (("%Y-%m-%d %H:%M", begun.wall), ("%H:%M", time.time()))
    )
    return (f"commit {begun.commit}, {first} to {last} UTC, {os.cpu_count()} cores, load {begun.load:.0f} at the begin and "
            f"{os.getloadavg()[1]:.0f} at the end")  # fmt: skip
