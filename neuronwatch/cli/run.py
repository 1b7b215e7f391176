"""`neuronwatch run [--name N] -- CMD ...`: starts a job under supervision, or goes on with one whose owner died."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from neuronwatch.cli.main import UsageError
from neuronwatch.cli.places import state_directory

FAILED = 125


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.usage = "neuronwatch run [--name N] [--policy observe|ask|act] [--python INTERPRETER] [options] -- CMD ..."
    add = parser.add_argument
    add("--name", help="name of the job (default: made of the command); one that lives without an owner is taken over")
    modes = "observe: report; ask: propose and wait for approval; act: restart and remedy (default: observe)"
    add("--policy", choices=("observe", "ask", "act"), default="observe", help=modes)
    add("--python", metavar="INTERPRETER", default="", help="the Python for a command that begins with `python`")
    add("--env", metavar="NAME=VALUE", action="append", default=[], help="set in the job's environment (NAME alone: removed)")
    add("--grace", type=float, metavar="SECONDS", help="from SIGTERM to SIGKILL (default: 8)")
    add("--settled", type=float, metavar="SECONDS", help="a run that lives so long is no failed start (default: 60)")
    add("--state-dir", metavar="DIR", help="where neuronwatch keeps its state")
    add("--host-root", default="/", help=argparse.SUPPRESS)
    add("command", nargs=argparse.REMAINDER, metavar="-- CMD ...", help="the command and its arguments")


def run(args: argparse.Namespace) -> int:
    """The job's last status; 125 for a failure of neuronwatch, 126 and 127 where the command cannot be started."""
    if not sys.platform.startswith("linux"):
        raise UsageError("`neuronwatch run` needs Linux: it stands on pidfd and subreapers")
    from neuronwatch.store import state_dir
    from neuronwatch.store.errors import StoreError
    from neuronwatch.supervise.errors import JobError
    from neuronwatch.supervise.owner import Options, Owner

    command = args.command[1:] if args.command[:1] == ["--"] else args.command
    try:
        directory, spec = _job(state_dir.prepare(state_directory(args)), args, command)
        if not directory.take():
            owner = f"job {directory.name} has an owner already (pid {directory.owner()})"
            raise JobError(owner, f"neuronwatch logs -f {directory.name}; or use another --name")
        try:
            directory.write_spec(spec)
            return Owner(directory, spec, Options(args.policy, say, environ=dict(os.environ))).run().code
        finally:
            directory.release()
    except (JobError, StoreError) as error:
        say(f"{error}; {error.mend}" if error.mend else str(error))
        return FAILED
    except OSError as error:
        say(f"{error.filename or 'the job'}: {error.strerror}")
        return FAILED


def say(line: str) -> None:
    sys.stderr.write(f"neuronwatch: {line}\n")
    sys.stderr.flush()


def _job(state: Path, args: argparse.Namespace, command: list[str]):  # type: ignore[no-untyped-def]  # imported late
    from neuronwatch.model.job import JobSpec
    from neuronwatch.supervise.directory import JobDirectory

    if not command and args.name is None:
        raise UsageError("no command: neuronwatch run [options] -- CMD ...")
    directory = JobDirectory(state, _name_of(state, command) if args.name is None else args.name)
    directory.make()
    known = directory.spec()
    if not command and known is None:
        raise UsageError(f"no job {directory.name} is known: neuronwatch run --name {directory.name} -- CMD ...")
    env = {name: value if equals else None for name, equals, value in (item.partition("=") for item in args.env)}
    if not command:
        assert known is not None
        return directory, known
    given = {"grace": args.grace, "settled": args.settled}
    more = {name: value for name, value in given.items() if value is not None}
    return directory, JobSpec(directory.name, tuple(command), cwd=os.getcwd(), env=env, interpreter=args.python, **more)


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
