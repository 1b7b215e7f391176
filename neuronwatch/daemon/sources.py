"""Which sources are run: all there are, as the configuration has them."""

from __future__ import annotations

import glob
from pathlib import Path

from neuronwatch.daemon.config import Config
from neuronwatch.source.host.root import HostRoot
from neuronwatch.source.live import log_sources, registry
from neuronwatch.source.live.api import Source
from neuronwatch.source.live.flood import Sieve
from neuronwatch.source.live.holders import Holders

NAMES: tuple[str, ...] = (*registry.NAMES, *log_sources.NAMES)
"""What a configuration may name."""


def of(root: HostRoot, config: Config, state: Path, sieve: Sieve | None = None) -> list[Source]:
    """`sieve`: what is kept of a flood of lines (`Intake.sieve`)."""
    holders = Holders()
    jobs = (f"{glob.escape(str(state))}/jobs/*/runs/*/std???.log",) if root.path == Path("/") else ()
    globs = (*config.logs.globs, *jobs)  # of supervised jobs: their owners write down what they do, this is what they saw
    logs = log_sources.of(root, state, globs=globs, shipped=config.logs.shipped, holders=holders, sieve=sieve)
    return [configured(item, config) for item in (*registry.host_sources(root, holders), *logs) if _enabled(item, config)]


def _enabled(source: Source, config: Config) -> bool:
    settings = config.sources.get(source.name)
    return settings is None or settings.enabled


def configured(source: Source, config: Config) -> Source:
    """The source with the interval, budget and weight that the configuration gives it."""
    settings = config.sources.get(source.name)
    if settings is not None:
        source.interval = source.interval if settings.interval is None else settings.interval
        source.budget = source.budget if settings.budget is None else settings.budget
        source.mandatory = source.mandatory if settings.mandatory is None else settings.mandatory
    return source
