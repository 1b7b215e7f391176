"""What the watch knows of conditions and incidents, as plain data for a restart and back. Monotonic times are stored as ages."""

from __future__ import annotations

from typing import Any, cast, get_args

from neuronwatch.judge.conditions import Conditions
from neuronwatch.judge.incidents import Incidents
from neuronwatch.judge.standing import Mark, Memory, Writing
from neuronwatch.model import plain as plainly
from neuronwatch.model.live import ConditionState, Now

SCHEMA = "neuronwatch.judge/1"
BEFORE = -1
"""Line number of everything that was read before a restart: whatever comes now is later."""


def dump(conditions: Conditions, incidents: Incidents, now: Now) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "time": now.wall,
        "conditions": [_of_memory(memory, now) for memory in conditions.memories.values()],
        "incidents": [plainly.of_incident(incident) for incident in incidents.told()],
        "ended": {name: now.mono - ended for name, ended in incidents.ended().items()},
        "last_id": incidents.last_id,
    }


def load(plain: Any, conditions: Conditions, incidents: Incidents, now: Now) -> None:
    """Takes up both. Raises ValueError for what is damaged; then nothing is taken."""
    try:
        if plain["schema"] != SCHEMA:
            raise ValueError(f"schema {plain['schema']!r}, not {SCHEMA}")
        # Ages go on while nobody looks; a clock that was set back does not make them younger.
        then = Now(now.wall, now.mono - max(0.0, now.wall - plainly.number(plain, "time")))
        memories = [_to_memory(item, then) for item in plain["conditions"]]
        records = [plainly.to_incident(item) for item in plain["incidents"]]
        ended = {str(name): then.mono - float(age) for name, age in plain["ended"].items()}
        last_id = str(plain["last_id"])
    except (KeyError, TypeError, AttributeError, IndexError) as error:
        raise ValueError(f"damaged: {error}") from error
    conditions.ends.taken_up = now.mono
    conditions.memories.update({memory.rule: memory for memory in memories})
    incidents.restore(records, last_id, ended)


def _of_memory(memory: Memory, now: Now) -> dict[str, Any]:
    return {
        "rule": memory.rule, "state": memory.state, "since": memory.since.wall, "age": now.mono - memory.since.mono,
        "finding": plainly.of_finding(memory.finding), "items": sorted(memory.mark.items), "count": memory.mark.count,
        "news": now.mono - memory.news, "proofs": [sorted(proof) for proof in memory.proofs], "follows": memory.follows,
        "ended": None if memory.ended is None else now.mono - memory.ended, "flaps": memory.flaps, "reason": memory.reason,
        "how": memory.how, "revised": memory.revised, "states": sorted(memory.states), "sources": memory.sources,
        "writing": {path: {"line": item.line, "pids": sorted(item.pids), "came": item.came.wall, "age": now.mono - item.came.mono}
                    for path, item in memory.writing.items()},
    }  # fmt: skip


def _to_memory(plain: Any, now: Now) -> Memory:
    if plain["state"] not in get_args(ConditionState):
        raise ValueError("state")
    writing = {
        str(path): Writing(
            int(item["line"]), frozenset(map(int, item["pids"])), Now(float(item["came"]), now.mono - float(item["age"]))
        )
        for path, item in plain["writing"].items()
    }
    return Memory(
        rule=str(plain["rule"]), state=cast(ConditionState, plain["state"]),
        since=Now(plainly.number(plain, "since"), now.mono - plainly.number(plain, "age")),
        finding=plainly.to_finding(plain["finding"]), mark=Mark(frozenset(map(int, plain["items"])), int(plain["count"])),
        news=now.mono - plainly.number(plain, "news"), proofs=tuple(frozenset(map(str, proof)) for proof in plain["proofs"]),
        writing=writing,
        # Followed texts are read on from where they were: what they said before is in no state any more.
        latched=set(writing), follows=str(plain["follows"]),
        ended=None if plain["ended"] is None else now.mono - plainly.number(plain, "ended"), flaps=int(plain["flaps"]),
        reason=str(plain["reason"]), how=str(plain["how"]), asserted=False,
        revised=bool(plain["revised"]), states=frozenset(map(str, plain["states"])),
        sources={str(path): str(source) for path, source in plain["sources"].items()},
    )  # fmt: skip
