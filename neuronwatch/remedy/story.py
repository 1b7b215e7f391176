"""What the audit log says, told: the story of a job, times to recovery by fault, and how shadow decisions compare with what people
did. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from neuronwatch.remedy.audit import Entry

MARKS = {"argv": "", "env": "env ", "config": "config "}


class Recovery(NamedTuple):
    """Of one fault: recoveries, their mean and worst time in seconds, and how often a remedy did not help."""

    fault: str
    recovered: int
    mean: float | None
    worst: float | None
    failed: int


class Shadow(NamedTuple):
    """A decision that was only reported, and what people then did: `same`, `restarted`, `other`, `ended`, `nothing`."""

    time: float
    fault: str
    action: str
    words: str
    then: str


def change_line(change: Mapping[str, Any]) -> str:
    """`--per_device_train_batch_size 8 -> 4`."""
    old, new = (("(not set)" if change.get(key) is None else str(change.get(key))) for key in ("old", "new"))
    return f"{MARKS.get(str(change.get('where')), '')}{change.get('name')} {old} -> {new}"


def line(entry: Entry) -> str:
    """One entry in words."""
    told = entry.told
    if entry.kind == "decision":
        said = f"{told.get('decision')}: {told.get('action') or 'nothing'}" + (f" for {told['fault']}" if told.get("fault") else "")
        return f"{said}: {told.get('why', '')}"
    if entry.kind == "verified":
        took = f" after {told['seconds']:.0f} s" if isinstance(told.get("seconds"), (int, float)) else ""
        return f"{told.get('action')} {told.get('verdict')}{took}: {told.get('why', '')}"
    if entry.kind == "person":
        return f"a person did: {told.get('did', '')} {told.get('what', '')}".rstrip()
    if entry.kind == "repair":
        return f"{told.get('torn_bytes')} bytes of a torn line were moved to {told.get('moved_to')}"
    rest = ", ".join(f"{key} {value}" for key, value in told.items() if isinstance(value, (str, int, float)) and value != "")
    return f"{entry.kind}: {rest}"[:400]


def details(entry: Entry) -> list[str]:
    """Evidence and diff of a decision, a line each."""
    evidence = [item for item in entry.told.get("evidence") or () if isinstance(item, Mapping)]
    said = [f"{item.get('path')}:{item.get('line')}: {item.get('text')}" for item in evidence]
    return said + [change_line(item) for item in entry.told.get("diff") or () if isinstance(item, Mapping)]


def recoveries(entries: Iterable[Entry]) -> list[Recovery]:
    """Mean time to recovery by fault, the most frequent first."""
    found: dict[str, tuple[list[float], int]] = {}
    for entry in entries:
        if entry.kind == "verified" and entry.told.get("verdict") in ("helped", "did not help"):
            times, failed = found.get(str(entry.told.get("fault") or "(no fault named)"), ([], 0))
            seconds = entry.told.get("seconds")
            if entry.told["verdict"] == "did not help":
                failed += 1
            elif isinstance(seconds, (int, float)):
                times.append(float(seconds))
            found[str(entry.told.get("fault") or "(no fault named)")] = times, failed
    rows = [
        Recovery(fault, len(times), sum(times) / len(times) if times else None, max(times, default=None), failed)
        for fault, (times, failed) in found.items()
    ]
    return sorted(rows, key=lambda row: (-row.recovered - row.failed, row.fault))


def scorecard(entries: Sequence[Entry]) -> list[Shadow]:
    """Each shadow decision and what people did after it, before the next one of the same kind."""
    found = []
    for index, entry in enumerate(entries):
        if entry.kind != "decision" or entry.told.get("shadow") is not True:
            continue
        told = entry.told
        then = "nothing"
        for later in entries[index + 1 :]:
            if later.kind == "person":
                then = _compared(told, later.told)
                break
            same = later.kind == "decision" and (later.told.get("fault"), later.told.get("action")) == (
                told.get("fault"),
                told.get("action"),
            )
            if same and later.told.get("run") != told.get("run"):
                break
        found.append(Shadow(entry.time, str(told.get("fault")), str(told.get("action")), str(told.get("words", "")), then))
    return found


def _compared(told: Mapping[str, Any], did: Mapping[str, Any]) -> str:
    """What a person did beside what would have been done."""
    wanted = {
        (item.get("where"), item.get("name")): item.get("new") for item in told.get("diff") or () if isinstance(item, Mapping)
    }
    made = {(item.get("where"), item.get("name")): item.get("new") for item in did.get("diff") or () if isinstance(item, Mapping)}
    if made:
        return "same" if wanted and all(made.get(key) == value for key, value in wanted.items()) else "other"
    what = str(did.get("did", ""))
    if what == "stop":
        return "ended"
    if what == "restart":
        return "same" if told.get("action") == "restart" else "restarted"
    return "same" if what == told.get("action") else "other"
