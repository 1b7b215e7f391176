"""`neuronwatch collect [DIR]`: a support bundle of this host or of a directory."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from neuronwatch.cli.main import UsageError, existing
from neuronwatch.collect import bundle, pieces
from neuronwatch.model.diagnosis import SourceReport
from neuronwatch.model.records import Fact
from neuronwatch.store.names import plain_path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("directory", metavar="DIR", nargs="?", help="evidence to bundle; none: this host")
    parser.add_argument("-o", "--output", metavar="FILE", help="default: neuronwatch-<date>.tar.gz here")
    parser.add_argument("--max-file", type=int, default=64, metavar="MIB", help="keep head and tail of larger files (default: 64)")
    parser.add_argument("--max-total", type=int, default=512, metavar="MIB", help="limit of the whole bundle (default: 512)")
    parser.add_argument("--max-seconds", type=float, default=120.0, metavar="S", help="time limit (default: 120)")
    parser.add_argument("--host-root", metavar="DIR", default="/", help="read the host below DIR instead of /")
    parser.add_argument("--allow-exec", action="store_true", help="run the Neuron tools found below --host-root")
    parser.add_argument("--python", metavar="INTERPRETER", help="also read the packages of this venv or interpreter")
    parser.add_argument("--format", choices=("text", "json"), default="text", help="how to print the result")


def run(args: argparse.Namespace) -> int:
    mib = bundle.MIB
    caps = bundle.Caps(args.max_file * mib, args.max_total * mib, args.max_seconds)
    target = Path(args.output or time.strftime("neuronwatch-%Y%m%d-%H%M%S.tar.gz"))
    # Not Path.exists, which raises for a name that is too long.
    if os.path.exists(target) and not os.path.isfile(target):
        # As root that would put a file in the place of /dev/null
        raise UsageError(f"{target}: cannot write the bundle: it exists and is no regular file", str(target))
    notes: list[SourceReport] = []
    facts: list[Fact] = []
    if args.directory:
        existing(args.directory)
        if not Path(args.directory).is_dir():
            raise UsageError(f"{args.directory}: not a directory", args.directory)
        stream = pieces.of_directory(Path(args.directory), caps, facts, notes, bundle.partial(target))
    else:
        stream = _host_pieces(args, facts, notes, caps)
    show = _progress if sys.stderr.isatty() else None
    try:
        manifest = bundle.write(target, stream, facts, caps, progress=show, notes=notes)
    except OSError as error:
        raise UsageError(f"{target}: cannot write the bundle: {error.strerror or error}", str(target)) from None
    if show:
        sys.stderr.write("\r\x1b[K")
    _say(target, manifest, args.format)
    return 0


def _host_pieces(
    args: argparse.Namespace, facts: list[Fact], notes: list[SourceReport], caps: bundle.Caps
) -> Iterator[bundle.Piece]:
    from neuronwatch.source.host import host_sources
    from neuronwatch.source.host.root import HostRoot

    for item in host_sources(HostRoot(Path(args.host_root), allow_exec=args.allow_exec), args.python):
        if isinstance(item, Fact):
            facts.append(item)
        elif isinstance(item, SourceReport):
            notes.append(item)
        else:
            half = caps.file_bytes // 2
            big = len(item.data) > caps.file_bytes
            head, tail = (item.data[:half], item.data[-half:]) if big else (item.data, b"")
            yield bundle.Piece(plain_path(item.path), head, len(item.data), tail)


def _progress(path: str) -> None:
    sys.stderr.write(f"\r\x1b[K{path[:70]!r}")
    sys.stderr.flush()


def _say(target: Path, manifest: bundle.Manifest, how: str) -> None:
    left_out = [{"path": item["path"], "reason": item["reason"]} for item in (*manifest.left_out, *manifest.sources)]
    if how == "json":
        import json

        document = {"schema": manifest.schema, "bundle": str(target), "files": len(manifest.files),
                    "redacted": manifest.redacted, "left_out": left_out}  # fmt: skip
        print(json.dumps(document))
        return
    hidden = ", ".join(f"{count} {kind}" for kind, count in manifest.redacted.items()) or "nothing"
    print(f"{target}: {len(manifest.files)} files, {target.stat().st_size} bytes; redacted: {hidden}")
    for item in left_out[:20]:
        print(f"  left out: {item['path']!r}: {item['reason']}")
