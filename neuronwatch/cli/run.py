"""`neuronwatch run [--name N] -- CMD ...`: starts a job under supervision, or goes on with one whose owner died."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from neuronwatch.cli import supervised
from neuronwatch.cli.main import UsageError
from neuronwatch.cli.places import state_directory

if TYPE_CHECKING:
    from neuronwatch.model.job import JobSpec


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.usage = "neuronwatch run [--name N] [--policy observe|ask|act] [--python INTERPRETER] [options] -- CMD ..."
    supervised.add_arguments(parser, policy="observe")
    parser.add_argument("--spec", metavar="FILE", help="a job written down as TOML, in place of a command")
    parser.add_argument("command", nargs=argparse.REMAINDER, metavar="-- CMD ...", help="the command and its arguments")


def run(args: argparse.Namespace) -> int:
    """The job's last status; 125 for a failure of neuronwatch, 126 and 127 where the command cannot be started."""
    if not sys.platform.startswith("linux"):
        raise UsageError("`neuronwatch run` needs Linux: it stands on pidfd and subreapers")
    from neuronwatch.store import state_dir
    from neuronwatch.store.errors import StoreError
    from neuronwatch.supervise.errors import JobError

    args.command = args.command[1:] if args.command[:1] == ["--"] else args.command
    try:
        state = state_dir.prepare(state_directory(args))
        spec = _written_down(args) if args.spec else _job(state, args)
    except (JobError, StoreError) as error:
        supervised.say(f"{error}; {error.mend}" if error.mend else str(error))
        return supervised.FAILED
    return supervised.supervise(state, spec, args)


def _written_down(args: argparse.Namespace) -> JobSpec:
    """The job of --spec; its policy and report hold where the command line does not say others. Raises UsageError."""
    from neuronwatch.model.dataclass import replace
    from neuronwatch.store.settings_file import SettingsError
    from neuronwatch.supervise import jobs_d

    if args.command:
        raise UsageError("--spec names the command: leave out `-- CMD ...`")
    try:
        job = jobs_d.load(Path(args.spec))
    except SettingsError as error:
        raise UsageError(str(error), error.path, error.line) from error
    args.policy = args.policy or job.mode
    args.report = args.report or job.report
    more = supervised.overlay(args)
    if "env" in more:
        more["env"] = {**job.spec.env, **more["env"]}
    return replace(job.spec, **more, **({"name": args.name} if args.name else {}))


def _job(state: Path, args: argparse.Namespace) -> JobSpec:
    from neuronwatch.model.dataclass import replace
    from neuronwatch.model.job import JobSpec
    from neuronwatch.supervise.directory import JobDirectory

    if not args.command and args.name is None:
        raise UsageError("no command: neuronwatch run [options] -- CMD ...")
    more = supervised.overlay(args)
    directory = JobDirectory(state, _name_of(state, args.command) if args.name is None else args.name)
    if args.command:
        return JobSpec(directory.name, tuple(args.command), cwd=os.getcwd(), **more)
    known = directory.spec()
    if known is None:
        raise UsageError(f"no job {directory.name} is known: neuronwatch run --name {directory.name} -- CMD ...")
    return replace(known, **more)


def _name_of(state: Path, command: list[str]) -> str:
    """The program (or script) and a number that is free."""
    import re

    words = [os.path.basename(word) for word in command[:4] if not word.startswith("-")]
    word = next((item for item in words if item.endswith((".py", ".sh"))), words[0] if words else "job")
    base = re.sub(r"[^A-Za-z0-9._-]+", "-", word.rsplit(".", 1)[0]).strip("-._")[:40] or "job"
    number = 1
    while (state / "jobs" / f"{base}-{number}").exists():
        number += 1
    return f"{base}-{number}"
