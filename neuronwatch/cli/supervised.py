"""What `run`, `train` and `serve` share: the options of a supervised job, its owner in the foreground, its report."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuronwatch.cli.main import UsageError

if TYPE_CHECKING:
    from neuronwatch.model.job import JobSpec
    from neuronwatch.remedy.policy import Policy
    from neuronwatch.supervise.directory import JobDirectory
    from neuronwatch.supervise.owner import Owner

FAILED = 125
LONG = 60.0
"""Seconds after which a run that went well is worth a look at its curves."""


def add_arguments(parser: argparse.ArgumentParser, policy: str) -> None:
    """The options of every supervised job; `policy`: the default mode."""
    add = parser.add_argument
    add("--name", help="name of the job (default: made of the command); one that lives without an owner is taken over")
    modes = f"observe: report; ask: propose and wait for approval; act: restart and remedy (default: {policy})"
    add("--policy", choices=("observe", "ask", "act"), help=modes)
    add("--python", metavar="INTERPRETER", default="", help="the Python of the job")
    add("--env", metavar="NAME=VALUE", action="append", default=[], help="set in the job's environment (NAME alone: removed)")
    add("--grace", type=float, metavar="SECONDS", help="from SIGTERM to SIGKILL (default: 8)")
    add("--settled", type=float, metavar="SECONDS", help="a run that lives so long is no failed start (default: 60)")
    add("--hang-limit", metavar="PHASE=SECONDS", action="append", default=[], help="without progress; `none`: never a hang")
    add("--step-pattern", metavar="REGEX", help="finds steps in the job's output: a regular expression with a group `step`")
    add("--price", type=float, metavar="PER_HOUR", help="what an hour costs, for the report")
    add("--report", metavar="FILE", help="where the report goes: JSON, Markdown for .md, text for .txt (default: text on stderr)")
    parser.set_defaults(default_policy=policy)
    add("--state-dir", metavar="DIR", help="where neuronwatch keeps its state")
    add("--host-root", default="/", help=argparse.SUPPRESS)


def overlay(args: argparse.Namespace) -> dict[str, Any]:
    """What the options say of a JobSpec. Raises UsageError."""
    from neuronwatch.store.settings_file import SettingsError
    from neuronwatch.supervise import jobs_d

    found: dict[str, Any] = {}
    if args.env:
        found["env"] = {name: value if equals else None for name, equals, value in (item.partition("=") for item in args.env)}
    limits = {}
    for item in args.hang_limit:
        phase, _, seconds = item.partition("=")
        try:
            limits[phase] = None if seconds == "none" else float(seconds)
        except ValueError:
            raise UsageError(f"--hang-limit {item}: say PHASE=SECONDS or PHASE=none") from None
        if phase not in jobs_d.PHASES:
            raise UsageError(f"--hang-limit {item}: no phase {phase!r}; there are {', '.join(jobs_d.PHASES)}")
    try:
        jobs_d.parse(f"command = ['x']\nname = 'x'\nstep_pattern = {_quoted(args.step_pattern or '')}", "--step-pattern")
    except SettingsError as error:
        raise UsageError(f"--step-pattern: {error.args[0]}") from error
    given = {"interpreter": args.python or None, "grace": args.grace, "settled": args.settled, "hang_limits": limits or None,
             "step_pattern": args.step_pattern, "price_per_hour": args.price}  # fmt: skip
    return {**found, **{name: value for name, value in given.items() if value is not None}}


def _quoted(text: str) -> str:
    import json

    return json.dumps(text)


def say(line: str) -> None:
    with contextlib.suppress(OSError, ValueError):  # nobody reads us any more: the job goes on
        sys.stderr.write(f"neuronwatch: {line}\n")
        sys.stderr.flush()


def keep_standard_descriptors() -> None:
    """Opens what of 0, 1 and 2 was closed: else the next file that is opened takes its number, and a job's output goes there."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            opened = os.open(os.devnull, os.O_RDWR)
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)


def supervise(state: Path, spec: JobSpec, args: argparse.Namespace) -> int:
    """Runs the job until it is over; the job's last status, 125 for a failure of neuronwatch, 126 and 127 where the command cannot
    be started. `state`: the state directory, prepared."""
    from neuronwatch.supervise.directory import JobDirectory
    from neuronwatch.supervise.errors import JobError
    from neuronwatch.supervise.owner import Options, Owner

    keep_standard_descriptors()
    try:
        directory = JobDirectory(state, spec.name)
        directory.make()
        if not directory.take():
            owner = f"job {directory.name} has an owner already (pid {directory.owner()})"
            raise JobError(owner, f"neuronwatch logs -f {directory.name}; or use another --name")
        try:
            _write_spec(directory, spec)
            owner_ = Owner(directory, spec, Options(_policy(args), say, environ=dict(os.environ)))
            code = owner_.run().code
            _report(owner_, args)
            return code
        finally:
            directory.release()
    except JobError as error:
        say(f"{error}; {error.mend}" if error.mend else str(error))
    except OSError as error:
        say(f"{error.filename or 'the job'}: {error.strerror}")
    return FAILED


def _write_spec(directory: JobDirectory, spec: JobSpec) -> None:
    """As asked for; another command than before begins without the remedies of the one before."""
    from neuronwatch.supervise.errors import JobError

    before = None
    with contextlib.suppress(JobError):
        before = directory.spec()
    if before == spec:
        return
    from neuronwatch.supervise.carry_out import begin_anew

    begin_anew(directory, before, spec)
    directory.write_spec(spec)


def _policy(args: argparse.Namespace) -> Policy:
    """--policy is a complete policy; without it the files of operators say what differs from the default."""
    from neuronwatch.remedy import policy, policy_file

    if args.policy is not None:
        return policy.shipped(args.policy)
    found, notes = policy_file.careful(args.default_policy)
    for note in notes:
        say(note)
    return found


def _report(owner: Owner, args: argparse.Namespace) -> None:
    """To the file that was named, else to stderr: whole where something went wrong or was done about it, else one line."""
    from neuronwatch.cli.report import run_document, run_text
    from neuronwatch.supervise import suggest

    if not owner.history:
        return
    short = owner.story(judged=False)
    eventless = len(short.runs) == 1 and not short.remedies
    judged = bool(args.report) or (not short.told_to_end and not (short.exit.ok and eventless and (short.seconds or 0.0) < LONG))
    story = owner.story(judged=True) if judged else short
    found = run_document.document(story)
    with contextlib.suppress(OSError, ValueError):  # a directory that is not ours to write
        place = suggest.write(story.asked, story.for_good)
        if place is not None:
            say(f"job {story.job}: what helped is in {place}, to be made part of the configuration")
    if args.report:
        _write_report(args.report, found)
        return
    text = run_text.render(found, ascii_only=not (sys.stderr and (sys.stderr.encoding or "").lower().startswith("utf")))
    for line in text.splitlines() if judged or not eventless else text.splitlines()[:1]:
        say(line)


def _write_report(name: str, document: dict[str, Any]) -> None:
    import json

    from neuronwatch.cli.report import run_text

    if name.endswith((".md", ".txt")):
        text = run_text.render(document, markdown=name.endswith(".md"))
    else:
        text = json.dumps(document, allow_nan=False) + "\n"
    data = memoryview(text.encode("utf-8", "backslashreplace"))
    try:
        how = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NONBLOCK  # a pipe that nobody reads is an error
        descriptor = os.open(name, how, 0o666)
        try:
            os.set_blocking(descriptor, True)
            while data:
                data = data[os.write(descriptor, data) :]
        finally:
            os.close(descriptor)
    except OSError as error:
        say(f"the report cannot be written: {name}: {(error.strerror or str(error)).lower()}")
