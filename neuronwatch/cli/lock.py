"""`neuronwatch lock [write|check]`: records kernel, image, driver, runtime, packages, tools and model facts, and lists what
differs from the record. Exit status: 0 as locked, 1 something differs."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from neuronwatch.cli.main import UsageError, add_global_arguments, existing

if TYPE_CHECKING:
    from neuronwatch.judge.derive.lock import Comparison
    from neuronwatch.judge.evidence import Evidence

SCHEMA = "neuronwatch.lock-check/1"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", nargs="?", choices=("write", "check"), default="check", help="default: check")
    parser.add_argument("--from", dest="paths", metavar="PATH", action="append", default=[],
                        help="take the facts from these files or directories instead of this host (repeatable)")  # fmt: skip
    add_global_arguments(parser, ("text", "json"))
    parser.add_argument("--lock", metavar="FILE", help="the lock file (default: neuronwatch.lock.toml)")
    parser.add_argument("--python", metavar="INTERPRETER", help="the venv or interpreter whose packages are meant")
    parser.add_argument("--model", metavar="DIR", help="also the model in this directory (config.json, adapter, tokenizer)")


def run(args: argparse.Namespace) -> int:
    from neuronwatch.store import lockfile

    for path in args.paths:
        existing(path)
    if args.model and not Path(args.model).is_dir():
        raise UsageError(f"{args.model}: not a directory", args.model)
    lock = Path(args.lock or lockfile.DEFAULT_NAME)
    return _write(args, lock) if args.action == "write" else _check(args, lock)


def _evidence(args: argparse.Namespace) -> Iterator[Evidence]:
    from neuronwatch.source import facts
    from neuronwatch.source.host import HostRoot

    if args.paths:
        yield from facts.of_paths([Path(path) for path in args.paths])
    else:
        yield from facts.of_host(HostRoot(Path(args.host_root)), args.python)
    if args.model:
        yield from facts.of_model(Path(args.model))


def _write(args: argparse.Namespace, lock: Path) -> int:
    from neuronwatch.source import facts
    from neuronwatch.store import lockfile

    known = facts.gather(_evidence(args))
    text = lockfile.text_of(known, time.time())
    count = len(lockfile.entries(text))
    if not count:
        sys.stderr.write("neuronwatch: nothing to lock: no kernel, driver, package or model fact was found\n")
        return 1
    try:
        kept = lockfile.write(lock, text)
    except OSError as error:
        sys.stderr.write(f"neuronwatch: {lock}: {error.strerror or error}; --lock FILE names another place\n")
        return 1
    if args.format == "json":
        import json

        sys.stdout.write(json.dumps({"schema": "neuronwatch.lock-write/1", "file": str(lock), "facts": count}) + "\n")
    else:
        was = f" (the one before is {kept.name})" if kept else ""
        sys.stdout.write(f"lock written: {count} facts in {lock}{was}\n")
    return 0


def _check(args: argparse.Namespace, lock: Path) -> int:
    from neuronwatch.judge.derive.lock import compare
    from neuronwatch.source import facts
    from neuronwatch.store import lockfile

    try:
        lockfile.read(lock)  # the strict reading: its errors name file and line
        data = lock.read_bytes()
    except lockfile.LockError as error:
        where = f"{lock}:{error.line}" if error.line else str(lock)
        raise UsageError(f"{where}: {error}", str(lock), error.line) from error
    except OSError as error:
        mend = "; `neuronwatch lock write` makes one" if isinstance(error, FileNotFoundError) else ""
        raise UsageError(f"{lock}: {(error.strerror or str(error)).lower()}{mend}", str(lock)) from error

    def everything() -> Iterator[Evidence]:
        yield from facts.of_bytes(str(lock), data)
        yield from _evidence(args)

    result = compare(facts.gather(everything()))
    sys.stdout.write(_json(result, lock) if args.format == "json" else _text(result))
    return 1 if result.differ else 0


def _text(result: Comparison) -> str:
    lines = [f"lock drift: {item}" for item in result.differ]
    if result.same or not result.differ:
        lines.append(f"lock check: {len(result.same)} facts as locked")
    if result.unknown:
        shown = ", ".join(result.unknown[:8]) + (", ..." if len(result.unknown) > 8 else "")
        lines.append(f"not known here, not compared ({len(result.unknown)}): {shown}")
    return "\n".join(lines) + "\n"


def _json(result: Comparison, lock: Path) -> str:
    import json

    def origin(path: str, line: int | None, text: str) -> dict[str, object]:
        return {"path": path, "line": line, "text": text}

    drift = [
        {
            "fact": item.fact, "locked": item.locked, "found": item.found,
            "locked_at": origin(item.locked_at.path, item.locked_at.line, item.locked_at.text),
            "found_at": origin(item.found_at.path, item.found_at.line, item.found_at.text),
        }
        for item in result.differ
    ]  # fmt: skip
    content = {
        "schema": SCHEMA, "lock": str(lock), "drift": drift, "same": list(result.same), "unknown": list(result.unknown),
    }  # fmt: skip
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"
