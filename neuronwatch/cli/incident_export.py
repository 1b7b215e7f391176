"""`incidents export ID --as-test DIR`: the incident as a case for the tests: its evidence, and what must be found in it."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from neuronwatch.cli.incidents import call
from neuronwatch.cli.main import UsageError


def export(args: argparse.Namespace) -> int:
    place = Path(args.as_test)
    if place.exists() and (not place.is_dir() or any(place.iterdir())):
        raise UsageError(f"--as-test {place}: there is something already; name a new directory", str(place))
    document = call(args, "evidence", id=args.id)
    if document is None:
        return 1
    incident, files = document["incidents"][0], document["files"]
    try:
        for file in files:
            target = place / "evidence" / safe_name(file["path"])
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(file["text"], encoding="utf-8", errors="surrogatepass")
        (place / "case.toml").write_text(_case(incident), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{place}: {(error.strerror or str(error)).lower()}", str(place)) from error
    found = _judged(place / "evidence")
    again = bool(incident["fault"]) and incident["fault"] in found
    said = "diagnose finds the fault in it" if again else "diagnose does not find the fault in it alone: more evidence is needed"
    if args.format == "json":
        print(json.dumps({"directory": str(place), "files": len(files), "fault": incident["fault"], "found": again}))
    else:
        print(f"{place}: {len(files)} file{'s' * (len(files) != 1)}; {said}")
    if not again:
        sys.stderr.write("neuronwatch: read the files before you share them; secrets are hidden, names are not\n")
    return 0


def safe_name(path: str) -> str:
    """`host:/var/log/x` is `host/var/log/x`: no part that leads elsewhere, nothing that a file system refuses."""
    parts = [part for part in path.replace("host:", "host/", 1).split("/") if part not in ("", ".", "..")]
    shown = ["".join(char if char.isalnum() or char in "._-+=@" else "_" for char in part)[:120] for part in parts]
    return "/".join(shown) or "text"


def _case(incident: dict[str, Any]) -> str:
    """The expectation, as fixtures/cases/*/case.toml has it."""
    texts = [place["text"].strip()[:200] for finding in incident["findings"][:1] for place in finding["evidence"][:2]]
    fault = incident["fault"]
    return "\n".join([
        f"date = {json.dumps(_day(incident['opened']))}", f"answer = {json.dumps('fault' if fault else 'abstain')}",
        f"fault = {json.dumps(fault)}", "accept = []", "never = []", "settled = true",
        f"proof = {json.dumps([text for text in texts if text], ensure_ascii=False)}",
    ]) + "\n"  # fmt: skip


def _day(moment: float) -> str:
    import time

    return time.strftime("%Y-%m-%d", time.gmtime(moment))


def _judged(directory: Path) -> list[str]:
    """The faults that `diagnose` finds in the exported evidence."""
    from neuronwatch.judge import engine
    from neuronwatch.judge.state import State
    from neuronwatch.source import formats, reader, rule_files

    rules, _ = rule_files.load_rule_set()
    state = engine.observe(State(), reader.read_evidence([directory], rules.patterns, *formats.shipped()), rules)
    return [finding.fault for finding in engine.conclude(state, rules).findings if finding.role == "cause"]
