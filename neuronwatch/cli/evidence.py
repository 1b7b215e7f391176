"""What the judging verbs share: the rule set with its complaints, and the evidence as one stream."""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from neuronwatch.cli.progress import ProgressLine
from neuronwatch.judge.evidence import Evidence
from neuronwatch.judge.rules.compiled import RuleSet
from neuronwatch.model.diagnosis import SourceReport
from neuronwatch.source import formats, rule_files


def rule_set(directories: Sequence[str] | None) -> RuleSet:
    """The rules to judge with; what is wrong with a rule file or a drop-in directory goes to stderr."""
    from neuronwatch.cli.main import one_line

    rules, loaded = rule_files.load_rule_set(rule_directories(directories) if directories else None)
    for problem in loaded.problems:
        sys.stderr.write(f"neuronwatch: rule left out: {one_line(str(problem))}\n")
    for note in loaded.notes:
        sys.stderr.write(f"neuronwatch: {one_line(note)}\n")
    return rules


def rule_directories(given: Sequence[str]) -> list[Path]:
    """The directories of --rules. Raises UsageError for one that is none."""
    from neuronwatch.cli.main import UsageError, existing

    for name in given:
        if not Path(existing(name)).is_dir():
            raise UsageError(f"--rules {name}: not a directory", name)
    return [Path(name) for name in given]


def items(args: argparse.Namespace, rules: RuleSet) -> Iterator[Evidence]:
    """Everything that the paths hold, or the host when there is no path."""
    from neuronwatch.source import reader

    yield from reference_data()
    if getattr(args, "lock", None):
        yield from lock_items(args.lock)
    if args.paths:
        with ProgressLine() as show:
            yield from reader.read_evidence(
                [Path(item) for item in args.paths], rules.patterns, *formats.shipped(),
                cache_dir=rule_files.cache_directory(), workers=args.jobs, progress=show,
            )  # fmt: skip
        return
    from neuronwatch.source import facts
    from neuronwatch.source.host.root import HostRoot

    yield from facts.of_host(HostRoot(Path(args.host_root), allow_exec=args.allow_exec), args.python, rules.patterns)


@contextlib.contextmanager
def watched_judging() -> Iterator[None]:
    """A pattern in a rule's expression that takes for ever is dropped, and said on stderr."""
    from neuronwatch.judge.rules.functions import JUDGING
    from neuronwatch.source.watch import watching

    with watching(JUDGING):
        yield
    for regex in JUDGING.dropped:
        sys.stderr.write(f"neuronwatch: a pattern of a rule took too long and was dropped: {regex[:100]!r}\n")


def reference_data() -> Iterator[SourceReport]:
    """Adds the overlays of /etc/neuronwatch/data; what is wrong with them, or old data, is said once on stderr and in the
    sources. It never changes a finding."""
    import time

    from neuronwatch.data import tables

    said = tables.use_overlays()
    note = tables.age_note(time.time())
    for text in (*said, *([note] if note else [])):
        sys.stderr.write(f"neuronwatch: {text}\n")
        yield SourceReport("neuronwatch/data", "reference-data", "stale" if text == note else "skipped", text)


def lock_items(lock: str) -> Iterator[Evidence]:
    """The lock file of --lock, as if it lay beside the evidence. Raises UsageError for one that cannot be used."""
    from neuronwatch.cli.main import UsageError
    from neuronwatch.source import facts
    from neuronwatch.store import lockfile

    try:
        lockfile.read(Path(lock))
        data = Path(lock).read_bytes()
    except lockfile.LockError as error:
        raise UsageError(f"{lock}{f':{error.line}' if error.line else ''}: {error}", lock, error.line) from error
    except OSError as error:
        raise UsageError(f"{lock}: {(error.strerror or str(error)).lower()}", lock) from error
    yield from facts.of_bytes(lock, data)


def of_texts(files: Iterable[tuple[str, str]], rules: RuleSet) -> Iterator[Evidence]:
    """Evidence from texts in memory (samples of rules)."""
    from neuronwatch.source import reader

    for path, text in sorted(files):
        yield from reader.read_virtual(path, text.encode(), rules.patterns, *formats.shipped())
