"""`neuronwatch incidents [show ID | export ID --as-test DIR]`: what went wrong here, and how it went on."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from neuronwatch.cli.main import UsageError, add_global_arguments
from neuronwatch.cli.report.fit import fit
from neuronwatch.cli.report.status_text import ago, cell
from neuronwatch.cli.report.visible import visible


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_global_arguments(parser)
    parser.add_argument("--state", choices=("open", "acknowledged", "resolved"), action="append", help="only those in this state")
    parser.add_argument("action", nargs="?", choices=("show", "export"), help="show one, or export one as a test")
    parser.add_argument("id", nargs="?", metavar="ID", help="the incident: its id, or the unique beginning or end of it")
    parser.add_argument("--as-test", metavar="DIR", help="where `export` writes the case (a new directory)")


def run(args: argparse.Namespace) -> int:
    if args.action and not args.id:
        raise UsageError(f"incidents {args.action}: which one? (see `neuronwatch incidents`)")
    if args.action == "export":
        if not args.as_test:
            raise UsageError("incidents export: say where, --as-test DIR")
        from neuronwatch.cli import incident_export

        return incident_export.export(args)
    document = call(args, "incident", id=args.id) if args.action else call(args, "incidents", state=args.state or [])
    if document is None:
        return 1
    if args.format == "json":
        print(json.dumps(document))
    else:
        sys.stdout.write(_markdown(document) if args.format == "markdown" else _text(document, bool(args.action)))
    return 0


def call(args: argparse.Namespace, method: str, **params: Any) -> Any:
    """The daemon's answer; None where there is none, then the reason is on stderr (and on stdout as JSON)."""
    from neuronwatch.cli.main import fail
    from neuronwatch.cli.places import socket_of
    from neuronwatch.daemon.client import Client, NoDaemon
    from neuronwatch.daemon.protocol import ApiError

    try:
        with Client(socket_of(args)) as client:
            return client.call(method, **params)
    except (NoDaemon, ApiError) as error:
        code = error.code if isinstance(error, ApiError) else "unavailable"
        fail(1, code, str(error), args.format == "json")
        return None


def _text(document: dict[str, Any], full: bool) -> str:
    incidents = document["incidents"]
    if not incidents:
        return "no incidents\n"
    if not full:
        rows = []
        for item in incidents:
            fault = visible(item["fault"] or "-")
            rows.append(f"{item['id']}  {item['state']:<12}  {item['severity']:<8}  {fault:<28}  {visible(item['title'])}")
        return "\n".join(fit(rows)) + "\n"
    return "\n".join("\n".join(fit(_one(item))) for item in incidents) + "\n"


def _one(item: dict[str, Any]) -> list[str]:
    lines = [f"{item['id']}  {item['state']}  {item['severity']}  {visible(item['fault'])}", visible(item["title"]), ""]
    for number, finding in enumerate(item["findings"]):
        condition = item["conditions"][number]
        reason = f": {condition['reason']}" if condition["reason"] else ""
        lines.append(f"  {finding['role']}  {visible(finding['title'])}  [{condition['state']}{visible(reason)}]")
        if number == 0:
            lines.append(f"    {visible(finding['cause'])}")
        for place in finding["evidence"][:4]:
            where = place["path"] + (f":{place['line']}" if place["line"] else "")
            lines.append(f"    {visible(where)}  {visible(place['text'].strip()[:200])}")
        if number == 0:
            lines += [f"    {step}. {visible(text)}" for step, text in enumerate(finding["fix"], 1)]
    lines.append("")
    for revision in item["revisions"]:
        lines.append(f"  +{ago(revision['time'] - item['opened']):<7} {visible(revision['what'])}")
    return lines


def _markdown(document: dict[str, Any]) -> str:
    lines = ["| incident | severity | state | fault | what |", "|---|---|---|---|---|"]
    for item in document["incidents"]:
        lines.append(
            f"| {cell(item['id'])} | {item['severity']} | {item['state']} | {cell(item['fault'])} | {cell(item['title'])} |"
        )
    return "\n".join(lines) + "\n"
