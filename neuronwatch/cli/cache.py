"""`neuronwatch cache list`, `cache quarantine PATH ...`, `cache restore ID`: the compile cache, of which nothing is deleted."""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path
from typing import Any

from neuronwatch.cli.main import UsageError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(dest="what", metavar="list|quarantine|restore", required=True)
    listing = verbs.add_parser("list", help="bad entries, locks and whether they are stale, what lies aside")
    aside = verbs.add_parser("quarantine", help="move entries, or locks that are proved to be stale, aside")
    aside.add_argument("paths", metavar="PATH", nargs="+", help="an entry (.../MODULE_X) or a lock in one")
    back = verbs.add_parser("restore", help="move back what was moved aside together")
    back.add_argument("id", metavar="ID", help="as `cache list` shows it")
    for sub in (listing, aside, back):
        places = "NEURON_CC_FLAGS, NEURON_COMPILE_CACHE_URL, /var/tmp/neuron-compile-cache"
        sub.add_argument("--cache", metavar="DIR", help=f"the cache (default: {places})")
    listing.add_argument("--format", choices=("text", "json"), default="text", help="how to print the result (default: text)")


def run(args: argparse.Namespace) -> int:
    """0; 1 where something could not be moved."""
    from neuronwatch.remedy import cache
    from neuronwatch.remedy.api import RemedyError

    given = args.cache or cache.root_of(os.environ)
    if "://" in given:
        raise UsageError(f"{given}: no directory of this host")
    root = Path(given).resolve()
    if not root.is_dir():
        raise UsageError(f"there is no cache {root}", str(root))
    try:
        if args.what == "list":
            return _list(root, args.format)
        return _quarantine(root, args.paths) if args.what == "quarantine" else _restore(root, args.id)
    except RemedyError as error:
        sys.stderr.write(f"neuronwatch: {error}{f'; {error.mend}' if error.mend else ''}\n")
        return 1


def _list(root: Path, form: str) -> int:
    from neuronwatch.daemon.streams import one_line
    from neuronwatch.remedy import cache, locks

    now = time.time()
    bad, found, aside = cache.bad_entries(root, now), locks.locks(root, now), cache.moved(root)
    if form == "json":
        import json

        document: dict[str, Any] = {"schema": "neuronwatch.cache/1", "cache": str(root)}
        document |= {"entries": [item._asdict() for item in bad], "locks": [item._asdict() for item in found]}
        print(json.dumps({**document, "aside": [item._asdict() for item in aside]}, indent=1))
        return 0
    for entry in bad:
        print(f"{entry.state:18} {one_line(entry.path)}")
    for lock in found:
        said = f"not stale: {lock.why_alive}" if lock.why_alive else "stale: no process holds it"
        print(f"{'lock':18} {one_line(lock.path)}  {lock.age / 60:.0f} min old, {one_line(said)}")
    for item in aside:
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(item.time))
        print(f"{'aside ' + item.id:18} {len(item.items)} moved {when}: {one_line(item.why)}")
    if not (bad or found or aside):
        print(f"nothing is wrong in {root}")
    return 0


def _quarantine(root: Path, paths: list[str]) -> int:
    from neuronwatch.remedy import cache, locks
    from neuronwatch.remedy.api import RemedyError

    entries, status = [], 0
    for name in paths:
        path = Path(os.path.abspath(name))
        path = path.parent.resolve() / path.name
        if not os.path.lexists(path):
            raise UsageError(f"{name}: there is no such entry", name)
        if path.name.endswith(".lock"):
            try:
                print(f"{locks.move_aside(root, path, 'by hand').id}  {path}")
            except RemedyError as error:
                sys.stderr.write(f"neuronwatch: {error}\n")
                status = 1
            continue
        if cache.state_of(path) in ("locked", "unfinished"):
            sys.stderr.write(f"neuronwatch: {path}: somebody may be compiling it; see `neuronwatch cache list`\n")
            status = 1
            continue
        entries.append(path)
    if entries:
        moved = cache.move_aside(root, entries, "by hand")
        print(f"{moved.id}  {len(entries)} moved aside; `neuronwatch cache restore` moves them back")
    return status


def _restore(root: Path, name: str) -> int:
    from neuronwatch.remedy import cache

    back, left = cache.restore(root, name)
    for item in back:
        print(f"moved back: {item}")
    for item in left:
        sys.stderr.write(f"neuronwatch: not moved back: {item}\n")
    return 1 if left else 0
