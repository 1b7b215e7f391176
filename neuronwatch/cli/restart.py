"""`neuronwatch restart JOB`: ends the run of a job and starts the next one."""

from __future__ import annotations

import argparse

from neuronwatch.cli import stop


def add_arguments(parser: argparse.ArgumentParser) -> None:
    stop.add_arguments(parser)


def run(args: argparse.Namespace) -> int:
    return stop.tell(args, "restart")
