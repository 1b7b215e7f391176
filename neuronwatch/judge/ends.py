"""How conditions end: by their rule's `ends`, and with the runs that wrote their evidence."""

from __future__ import annotations

from neuronwatch.judge.engine import Judgement
from neuronwatch.judge.rules.compiled import ENDS
from neuronwatch.judge.rules.evaluate import end_is_fact
from neuronwatch.judge.rules.model import Rule
from neuronwatch.judge.standing import Around, Memory, Writing
from neuronwatch.judge.writers import SILENT, SILENT_FOR_GOOD, all_gone
from neuronwatch.model.live import Now

HOLD = 10.0
"""Seconds that a finding must be absent before its condition ends; doubled each time it comes back soon."""
MAX_WAIT = 180.0
"""The same for a run that is over: the next start of a crash loop comes sooner."""
FADED = 30.0
"""Seconds without the counters or states that showed it, after which a condition that waits for a person ends all the same."""
OF_DEVICES = ("hw", "runtime", "symptom")
"""Stages of rules whose conditions are states of a device: they end when the driver is loaded anew."""
QUIET = 900.0
"""Seconds without new evidence after which a condition with `exit` ends, where no process can be watched."""


class Ends:
    """`quiet`: see QUIET."""

    def __init__(self, quiet: float) -> None:
        self._quiet = quiet
        self.taken_up = float("-inf")
        """When (monotonic) the conditions came from an earlier life: what was written since is still to be read."""

    def over(self, now: Now, memory: Memory, rule: Rule, judgement: Judgement | None, around: Around) -> str:
        """How the condition ended by its rule's `ends`, or ""."""
        if now.mono - self.taken_up < SILENT:
            return ""
        how = rule.ends.how
        if how == "manual" and memory.finding.role == "note":
            how = "exit"  # a note is no incident: nobody could acknowledge it
        if how == "ttl" and now.mono - memory.news >= (rule.ends.seconds or 0.0):
            return f"no new evidence for {rule.ends.seconds:g} s"
        if memory.latched and judgement is not None:
            if how == "fact" and end_is_fact(judgement.case, rule):
                return "the facts show that it is over"
            if how == "pattern" and any(hits.seen > memory.news for hits in judgement.case.hits.get((rule.id, ENDS), ())):
                return "a later line shows that it is over"
        if now.mono - memory.since.mono < SILENT:
            return ""
        if memory.asserted and memory.shown_over and memory.finding.role != "note":
            return "the evidence shows that it is over"
        if how == "manual" and memory.faded is not None and now.mono - memory.faded >= FADED:
            return "the counters and states that showed it no longer do"
        if how == "manual" and rule.stage in OF_DEVICES and _driver_began(memory, around):
            return "the driver was loaded anew since"
        shown = memory.asserted and memory.states and memory.faded is None  # by what is so now, whoever wrote lines of it
        if how in ("manual", "ttl") or not memory.writing or shown:
            return ""
        reason = self._runs_over(now, memory, around)
        if reason:
            memory.leaving = now.mono if memory.leaving is None else memory.leaving
            wait = min(MAX_WAIT, HOLD * 2**memory.flaps) if memory.flaps else 0.0
            return reason if now.mono - memory.leaving >= wait else ""
        memory.leaving = None
        watched = around.alive is not None and any(writing.pids for writing in memory.writing.values())
        if how == "exit" and not watched and now.mono - memory.news >= self._quiet and memory.proofs[:1] != (frozenset(),):
            on_texts = all(path in memory.writing for path in memory.proofs[0]) if memory.proofs else True
            if on_texts:
                return f"no new evidence for {self._quiet / 60:g} min, and no process to watch"
        return ""

    def _runs_over(self, now: Now, memory: Memory, around: Around) -> str:
        """Why the runs that wrote the evidence are over, or "". A text that tells of no process, and a log of the kernel, goes with
        the others once it brought nothing new for a while."""
        reasons = {path: self._run_over(now, path, writing, around) for path, writing in memory.writing.items()}
        lasting = [path for path, reason in reasons.items() if not reason]
        if not lasting:
            return next(iter(reasons.values()))
        told = [reason for reason in reasons.values() if reason]
        silent = not any(memory.writing[path].pids for path in lasting) and now.mono - memory.news >= SILENT
        return told[0] if told and silent else ""

    def _run_over(self, now: Now, path: str, writing: Writing, around: Around) -> str:
        writers = around.writers.get(path)
        if all_gone(writing.pids, around.alive, writing.came.wall) and (writers is None or writers.silent(writing.pids, now.mono)):
            return "the process that wrote it is gone"
        if writers is None:
            return "its log is gone" if now.mono - max(writing.came.mono, self.taken_up) >= self._quiet else ""
        anew = writers.began_anew(writing.line, writing.pids, now.mono)
        if anew is not None and now.mono - anew[1] >= SILENT:  # time for the new run to meet the same
            return "a new run began in the same log"
        if not writers.of_host and now.mono - writers.spoke >= SILENT_FOR_GOOD:
            return "its log has been silent for a day"
        return ""


def _driver_began(memory: Memory, around: Around) -> bool:
    """Whether the driver (or the kernel) started after the last evidence."""
    for path, writers in around.writers.items():
        if writers.driver is not None:
            writing = memory.writing.get(path)
            line, came = writers.driver
            if line > writing.line if writing is not None else came > memory.news:
                return True
    return False


def told_end(how: str, quiet: float = QUIET) -> str:
    """How a condition will end, for people."""
    return {
        "exit": f"with the process or run that wrote it, or after {quiet / 60:g} min without new evidence",
        "pattern": "when a later line says so",
        "fact": "when the facts say so",
        "ttl": "after its time without new evidence",
        "manual": "when a person acknowledges it, or its counters and states no longer show it, or the driver starts anew",
    }.get(how, "")
