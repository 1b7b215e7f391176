"""`neuronwatch replay DIR`: judges a recording through the path of the daemon and prints what happened when.

`--at TIME` ends there; `--speed N` plays N times as fast as it came (default: as fast as it can be read).
"""

from __future__ import annotations

import argparse
import json
import sys
import time

from neuronwatch.cli.diagnose import EXIT
from neuronwatch.cli.main import UsageError, add_global_arguments, existing
from neuronwatch.cli.report.visible import visible


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("directory", metavar="DIR", help="a recording (`neuronwatch record`)")
    add_global_arguments(parser, ("text", "json"))
    parser.add_argument("--at", metavar="TIME", help="how things were then: seconds since the epoch, or 2026-01-31T12:00:00Z")
    parser.add_argument("--speed", type=float, metavar="N", help="N times as fast as it came (default: as fast as it can)")
    parser.add_argument("--rules", metavar="DIR", action="append", help="use the rules of DIR instead of the shipped ones")


def run(args: argparse.Namespace) -> int:
    from neuronwatch.cli import evidence
    from neuronwatch.daemon.replay import Replay
    from neuronwatch.store.errors import StoreError

    rules = evidence.rule_set(args.rules)
    stop = _moment(args.at) if args.at else None
    try:
        replay = Replay(existing(args.directory), rules)
        for change in replay.play(stop, args.speed):
            moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(change.incident.updated))
            incident = change.incident
            if args.format == "json":
                print(json.dumps({"time": incident.updated, "what": change.what, "incident": incident.id, "fault": incident.fault,
                                  "text": change.text}), flush=True)  # fmt: skip
            else:
                print(f"{moment}  {incident.id}  {change.what:<12}  {incident.fault or '-'}  {visible(change.text)}", flush=True)
    except StoreError as error:
        raise UsageError(f"{error}; {error.mend}" if error.mend else str(error), args.directory) from error
    judged = replay.judged
    verdict = judged.verdict if judged else "unknown"
    if args.format == "json":
        print(
            json.dumps({"schema": "neuronwatch.replay/1", "verdict": verdict, "faults": replay.faults(), "damaged": replay.damaged})
        )
    else:
        print(f"{verdict.upper()}  {visible('; '.join(judged.reasons[:3])) if judged else 'nothing was recorded'}".rstrip())
    if replay.damaged:
        sys.stderr.write(f"neuronwatch: {replay.damaged} parts of the recording are damaged and left out\n")
    return EXIT[verdict]


def _moment(text: str) -> float:
    from datetime import datetime, timezone

    try:
        return float(text)
    except ValueError:
        pass
    try:
        found = datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        raise UsageError(f"--at {text}: no time (2026-01-31T12:00:00Z, or seconds since the epoch)") from None
    return (found if found.tzinfo else found.replace(tzinfo=timezone.utc)).timestamp()
