"""`neuronwatch VERB ...`: finds the verb's module, parses, runs; turns errors into one line and the right exit code."""

from __future__ import annotations

import argparse
import contextlib
import errno
import gc
import importlib
import itertools
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn, TextIO

from neuronwatch import __version__
from neuronwatch.daemon import streams

USAGE, INTERNAL = 64, 70
NOT_WRITTEN = 3
"""The result could not be written: unknown, whatever it was."""
_CANNOT_WRITE = (errno.ENOSPC, errno.EIO, errno.EFBIG, errno.EDQUOT, errno.EBADF, errno.EAGAIN)

VERBS = {
    "diagnose": "name the root cause of a failed run, from files, directories, archives, or this host",
    "daemon": "watch this host: sources, conditions, incidents, history, until it is told to end",
    "status": "say how the host is, as the daemon sees it",
    "top": "show the live dashboard of this host",
    "run": "run a command under supervision: it is watched, and restarted where the policy says so",
    "train": "fine-tune a Qwen3 under supervision, on Trainium or, tiny, on any CPU",
    "ps": "list the jobs that were started with `run`, and how they are",
    "logs": "show what a job wrote",
    "stop": "end a job and all of its processes",
    "restart": "end the run of a job and start the next one",
    "approve": "let a job's owner do what it proposed",
    "decline": "do not let a job's owner do what it proposed",
    "audit": "show and verify what was decided about a job, and what came of it",
    "breaker": "list and close the breakers of remedies that did not help",
    "cache": "list bad entries and locks of the compile cache, move them aside, move them back",
    "policy": "check a policy file, or show which policy is in force",
    "service": "print or install the systemd service of the daemon",
    "incidents": "list, show and export what went wrong on this host",
    "ack": "acknowledge an incident",
    "record": "record what the daemon reads, as a capture",
    "replay": "judge a recording over time, as the daemon would have",
    "config": "check, print and locate the configuration",
    "collect": "make a support bundle of this host or of a directory, secrets redacted",
    "rules": "list, show, test, lint and explain the rules",
    "lock": "write or check a record of kernel, driver, packages and model facts",
    "drill": "run a simulated Neuron host and inject faults into it, to rehearse",
    "schema": "print a JSON schema: diagnosis, status, incidents, run, api, config",
    "completion": "print the shell completion for bash, zsh or fish",
}
"""Verb to one-line help; the module is neuronwatch.cli.<verb>."""


class UsageError(Exception):
    """A mistake on the command line: one line and its mend; exit status 64."""

    def __init__(self, message: str, path: str = "", line: int | None = None) -> None:
        super().__init__(message)
        self.path = path
        self.line = line


def columns() -> int:
    """The width of the terminal, 80 where there is none. (Like `shutil.get_terminal_size`, which loads three compressors.)"""
    try:
        given = int(os.environ.get("COLUMNS", ""))
    except ValueError:
        given = 0
    try:
        return given if given > 0 else os.get_terminal_size(1).columns or 80
    except OSError:
        return 80


class _Help(argparse.HelpFormatter):
    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=columns() - 2)


class Parser(argparse.ArgumentParser):
    """argparse with exit status 64 for usage errors and the nearest verb as a mend."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"formatter_class": _Help} | options)

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message} (see `{self.prog} --help`)")


def build_parser(verb: str | None = None) -> Parser:
    """The parser; only the arguments of `verb` are loaded (all verbs when it is None: for completion and docs)."""
    parser = Parser(prog="neuronwatch", description="Diagnosis and monitoring for AWS Trainium and Inferentia instances.")
    parser.add_argument("--version", action="version", version=f"neuronwatch {__version__}")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", title="verbs")
    for name, text in VERBS.items():
        sub = verbs.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
        if verb in (None, name):
            importlib.import_module(f"neuronwatch.cli.{name}").add_arguments(sub)
    return parser


def add_global_arguments(parser: argparse.ArgumentParser, formats: Sequence[str] = ("text", "json", "markdown")) -> None:
    """The options that every verb with a result takes."""
    parser.add_argument("--format", choices=formats, default="text", help="how to print the result (default: text)")
    parser.add_argument("--host-root", metavar="DIR", default="/", help="read the host below DIR instead of /")
    parser.add_argument("--allow-exec", action="store_true", help="run the Neuron tools found below --host-root")
    parser.add_argument("--state-dir", metavar="DIR", help="where neuronwatch keeps its state")
    parser.add_argument("--socket", metavar="PATH", help="socket of the daemon (default: <state-dir>/neuronwatch.sock)")
    parser.add_argument("--config", metavar="FILE", help="configuration file")


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one verb and returns its exit status."""
    streams.collect_rarely()
    args_in = list(sys.argv[1:] if argv is None else argv)
    wants_json = "--format=json" in args_in or any(a == "--format" and b == "json" for a, b in itertools.pairwise(args_in))
    streams.prepare()
    try:
        status = _dispatch(args_in, argv is None)
        sys.stdout.flush()
        if argv is None:
            gc.freeze()  # the process ends: a last look for cycles finds nothing and takes as long as the imports
        return status
    except UsageError as error:
        return fail(USAGE, "usage", str(error), wants_json, error.path, error.line)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # The reader of our output went away (for example `| head`): nobody is left to tell.
        _to_nowhere(sys.stdout)
        return 141
    except OSError as error:
        if error.errno not in _CANNOT_WRITE or error.filename is not None:
            return _defect(error, wants_json)
        _to_nowhere(sys.stdout)
        with contextlib.suppress(OSError):
            sys.stderr.write(f"neuronwatch: the result cannot be written: {(error.strerror or str(error)).lower()}\n")
        return NOT_WRITTEN
    except Exception as error:
        return _defect(error, wants_json)
    finally:
        try:
            sys.stderr.flush()
        except (OSError, ValueError):  # a terminal that hung up: Python would exit with 120 for what stays in the buffer
            _to_nowhere(sys.stderr)


def _defect(error: Exception, wants_json: bool) -> int:
    if os.environ.get("NEURONWATCH_DEBUG"):
        raise error
    text = f"{type(error).__name__}: {error} ({streams.DEFECT})"
    return fail(INTERNAL, "internal", text, wants_json)


def _to_nowhere(stream: TextIO) -> None:
    """What is still in the buffer of a stream is dropped, so that nothing is said about it at the exit."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        stream.flush()


def _dispatch(argv: list[str], own: bool) -> int:
    """`own`: the process is ours, not that of a program that calls `main` with arguments."""
    verb = next((arg for arg in argv if not arg.startswith("-")), None)
    if verb is not None and verb not in VERBS:
        import difflib

        near = difflib.get_close_matches(verb, VERBS, 1)
        mend = f", did you mean `{near[0]}`?" if near else "; `neuronwatch --help` lists the verbs"
        raise UsageError(f"no verb `{verb}`{mend}")
    parser = build_parser(verb or "")
    args = parser.parse_args(argv)
    args.own_process = own
    if args.verb is None:
        parser.print_help()
        return 0
    _check_places(args)
    run = importlib.import_module(f"neuronwatch.cli.{args.verb}").run
    return int(run(args))


def _check_places(args: argparse.Namespace) -> None:
    """Places that are named on the command line exist. Raises UsageError for one that does not."""
    root = getattr(args, "host_root", "/")
    if root != "/" and not Path(existing(root)).is_dir():
        raise UsageError(f"--host-root {root}: not a directory", root)
    if root != "/" and getattr(args, "paths", None):
        raise UsageError("--host-root is for the host itself; leave out PATH, or leave out --host-root")
    if root == "/" and getattr(args, "python", None):
        existing(args.python, "; --python takes an interpreter or the directory of a venv")
    if getattr(args, "config", None):
        from neuronwatch.cli import settings

        settings.check(args.config)


def one_line(message: str) -> str:
    """A message that is one line and safe to print, whatever names are in it; a monstrous name is cut."""
    if len(message) > 1000:
        message = f"{message[:400]} ... {message[-400:]}"
    return streams.one_line(message)


def existing(path: str, mend: str = "") -> str:
    """The path, when there is something. Raises UsageError otherwise."""
    try:
        os.lstat(path)
    except (OSError, ValueError) as error:
        reason = error.strerror.lower() if isinstance(error, OSError) and error.strerror else str(error)
        raise UsageError(f"{path or '(an empty path)'}: {reason}{mend}", path) from None
    return path


def fail(status: int, code: str, message: str, as_json: bool, path: str = "", line: int | None = None) -> int:
    """One line on stderr, and with `--format json` the same as a document on stdout. Returns `status`."""
    sys.stderr.write(f"neuronwatch: {one_line(message)}\n")
    if as_json:
        import json

        error = {"code": code, "message": message, "path": path or None, "line": line}
        sys.stdout.write(json.dumps({"schema": "neuronwatch.diagnosis/1", "error": error}) + "\n")
    return status
