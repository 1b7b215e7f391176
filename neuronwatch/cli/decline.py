"""`neuronwatch decline ID`: a job's owner must not do what it proposed; it does not propose the same for a day."""

from __future__ import annotations

import argparse

from neuronwatch.cli import approve

add_arguments = approve.add_arguments


def run(args: argparse.Namespace) -> int:
    return approve.answered(args, "decline")
