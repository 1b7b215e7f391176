"""Scans files with the real rule table and says how long it took; run by bench/run.py in a process of its own.

    python bench/scan.py signatures|formats|judge FILE [--rules N] [--workers N]

`signatures` are the rules' patterns alone, `formats` adds all parsers' triggers with their windows, `judge` is all that
`neuronwatch diagnose` does.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from pathlib import Path

from neuronwatch.daemon.streams import collect_rarely
from neuronwatch.judge import engine
from neuronwatch.judge.rules.compiled import RuleSet
from neuronwatch.judge.state import State
from neuronwatch.source import formats as shipped
from neuronwatch.source import rule_files
from neuronwatch.source.numbering import NUMBERING
from neuronwatch.source.reader import read_evidence


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("mode", choices=("signatures", "formats", "judge"))
    parser.add_argument("file", type=Path)
    parser.add_argument("--rules", type=int, default=0, help="only so many signatures")
    parser.add_argument("--workers", type=int, default=1)
    options = parser.parse_args()
    begun = time.perf_counter()
    collect_rarely()
    rules, _ = rule_files.load_rule_set(None)
    patterns = rules.patterns[: options.rules] if options.rules else rules.patterns
    formats = options.mode != "signatures"
    items = read_evidence(
        [options.file], patterns, *(shipped.shipped() if formats else ((), ())),
        cache_dir=rule_files.cache_directory(), workers=options.workers,
    )  # fmt: skip
    said: dict[str, object] = {}
    if options.mode == "judge":
        said["verdict"] = judged(items, rules)
    else:
        said.update(Counter(type(item).__name__ for item in items))
    said.update(patterns=len(patterns), seconds=round(time.perf_counter() - begun, 3))
    print(json.dumps(said))


def judged(items: object, rules: RuleSet) -> str:
    state = State()
    engine.observe(state, items, rules)  # type: ignore[arg-type]  # wider union
    return NUMBERING.numbered(engine.conclude(state, rules)).verdict


if __name__ == "__main__":
    main()
