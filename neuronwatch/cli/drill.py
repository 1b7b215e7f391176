"""`neuronwatch drill host|faults|inject|clear`: a simulated Neuron host, and faults to rehearse on it."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from neuronwatch.cli.main import UsageError, add_global_arguments, one_line

LOADS = ("idle", "train", "serve", "mixed")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    text = "Runs a simulated host below DIR until SIGTERM or SIGINT. Watch it with `neuronwatch VERB --host-root DIR`."
    host = actions.add_parser("host", help="run a simulated host until it is stopped", description=text)
    host.add_argument(
        "--dir", metavar="DIR", required=True, help="directory of the host: empty, missing, or of an earlier drill host"
    )
    host.add_argument("--instance", metavar="TYPE", required=True, help="instance type, for example trn1.32xlarge")
    host.add_argument("--driver", metavar="VERSION", help="driver version (default: that of the SDK release for the instance)")
    host.add_argument("--tools", metavar="VERSION", help="version of the Neuron tools (default: that of the driver's release)")
    host.add_argument("--rate", metavar="N", type=float, default=1.0, help="the host's time runs N times as fast (default: 1)")
    host.add_argument("--seed", metavar="S", type=int, default=0, help="the same seed gives the same host (default: 0)")
    host.add_argument("--load", choices=LOADS, help="what runs on it (default: train on trn, serve on inf)")
    listing = actions.add_parser("faults", help="list what can be injected", description="Lists what can be injected.")
    add_global_arguments(listing, ("text", "json"))
    inject = actions.add_parser("inject", help="switch a fault on", description="Switches a fault of a running host on.")
    inject.add_argument("dir", metavar="DIR", help="directory of the host")
    inject.add_argument("fault", metavar="FAULT", help="what to inject (`neuronwatch drill faults` lists it)")
    inject.add_argument("--near-miss", action="store_true", help="play the harmless likeness of the fault instead")
    clear = actions.add_parser(
        "clear", help="switch a fault off, or all", description="Switches a fault of a running host off, or all."
    )
    clear.add_argument("dir", metavar="DIR", help="directory of the host")
    clear.add_argument("fault", metavar="FAULT", nargs="?", help="what to clear (default: all that is injected)")
    for action in (inject, clear):
        add_global_arguments(action, ("text", "json"))


def run(args: argparse.Namespace) -> int:
    if args.action == "faults":
        return _faults(args.format)
    if args.action == "host":
        return _host(args)
    request: dict[str, Any] = {"do": args.action, "fault": args.fault}
    if args.action == "inject":
        request["near_miss"] = args.near_miss
    reply = _ask(args.dir, request)
    if args.format == "json":
        import json

        print(json.dumps({"schema": "neuronwatch.drill/1", **reply}))
        return 0
    done = reply.get("injected") or ", ".join(reply.get("cleared", ()))
    print(f"{'injected' if args.action == 'inject' else 'cleared'}: {done or 'nothing was injected'}")
    return 0


def _faults(form: str) -> int:
    from neuronwatch.drill import faults, outages

    rows = [{"fault": name, "what": fault.WHAT, "near_miss": fault.NEAR_MISS, "host": faults.options(fault)}
            for name, fault in faults.all_faults().items()]  # fmt: skip
    rows += [{"fault": name, "what": outages.what(name), "near_miss": "", "host": ""} for name in outages.names()]
    if form == "json":
        import json

        sys.stdout.write(json.dumps({"schema": "neuronwatch.drill-faults/1", "faults": rows}) + "\n")
        return 0
    for row in rows:
        print(f"{row['fault']}\n    {row['what']}")
        if row["near_miss"]:
            print(f"    near miss: {row['near_miss']}")
        if row["host"]:
            print(f"    on a host with {row['host']}")
    return 0


def _host(args: argparse.Namespace) -> int:
    from neuronwatch.drill import place, spec
    from neuronwatch.drill.host import DrillHost

    if not 0.1 <= args.rate <= 3600:
        raise UsageError(f"--rate {args.rate:g}: must be between 0.1 and 3600")
    root = Path(args.dir).absolute()
    try:
        place.take(root)
        host = DrillHost(
            root, args.instance, driver=args.driver, tools=args.tools, rate=args.rate, seed=args.seed, workload=args.load
        )
    except (spec.NoSuchInstance, place.Taken) as error:
        raise UsageError(str(error), str(root)) from None
    host.prepare()
    sys.stderr.write(one_line(f"neuronwatch: drill host {host.machine.kind.name} below {root}; stop it with SIGTERM") + "\n")
    host.run()
    return host.status


def _ask(directory: str, request: dict[str, Any]) -> dict[str, Any]:
    from neuronwatch.drill import control

    try:
        reply = control.ask(Path(directory).absolute(), request)
    except control.NoHost as error:
        raise UsageError(str(error), directory) from None
    if "error" in reply:
        raise UsageError(str(reply["error"]))
    return reply
