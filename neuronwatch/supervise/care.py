"""What the owner of a job knows of a run, as cases for the remedies: by its monitor while it lives, by its autopsy at the end."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from neuronwatch.model.job import Exit, JobSpec, Progress
from neuronwatch.remedy.api import Case, Past
from neuronwatch.remedy.survey import completed
from neuronwatch.supervise.directory import Run
from neuronwatch.supervise.monitoring import Monitoring
from neuronwatch.supervise.observed import Observed

if TYPE_CHECKING:
    from neuronwatch.supervise.autopsy import Autopsy

HANG = "train.hang"
STEPS = ("loss", "progress", "step_time")
"""A run that told one of these made a step."""


class Care:
    """Of one job; `watch` for each of its runs."""

    def __init__(self, asked: JobSpec, environ: Mapping[str, str], jobs: Path) -> None:
        """`environ`: what the job is given, `jobs`: the directory of all jobs of this state directory."""
        self.past: list[Past] = []
        self.last: tuple[int, Autopsy] | None = None
        """The number of the run that was judged last, and what was found."""
        self._asked, self._environ, self._jobs = asked, environ, jobs
        self._monitoring: Monitoring | None = None
        self._observed = Observed()

    def watch(self, run: Run, spec: JobSpec, roots: tuple[tuple[int, int], ...]) -> int:
        """Begins to monitor a run; the descriptor that becomes readable when there is news, -1: it cannot be monitored."""
        self.close()
        self._monitoring = Monitoring(run, spec, roots)
        return self._monitoring.descriptor

    def read(self) -> bool:
        """Whether there is something new."""
        if self._monitoring is None or not self._monitoring.read():
            return False
        self._observed = self._monitoring.observed
        return True

    @property
    def blind(self) -> bool:
        """Whether the monitor died."""
        return self._monitoring is not None and self._monitoring.gone

    @property
    def accused(self) -> bool:
        """Whether a cause was found while the run lived, or it hangs."""
        return self._observed.stall is not None or any(item.role == "cause" for item in self._observed.findings)

    def alive(self, run: Run, spec: JobSpec, begun: float) -> Case:
        """A run that lives."""
        observed = self._observed
        case = Case(
            spec, self._asked, run.number, None, observed.findings, observed.progress, self._stepped(observed.progress),
            HANG if observed.stall is not None else "", history=tuple(self.past), environ=self._environ, began=begun,
        )  # fmt: skip
        return completed(case, self._jobs, run.mark(), time.time()) if self.accused else case

    def ended(self, run: Run, spec: JobSpec, begun: float, end: Exit, judged: bool) -> Case:
        """One that ended. `judged`: with all that its output says; this takes a moment."""
        progress, findings, stepped = self._observed.progress, self._observed.findings, self._stepped(self._observed.progress)
        facts = {}
        if judged:
            with contextlib.suppress(OSError):
                from neuronwatch.supervise.autopsy import autopsy  # the engine: only who needs it pays for it

                found = autopsy(run, spec, end)
                self.last = run.number, found
                findings, facts = found.diagnosis.findings, dict(found.diagnosis.facts)
                stepped = stepped or (True if any(name in found.curves for name in STEPS) else None)
        if stepped is None and end.time - begun >= spec.settled:
            stepped = True  # no step of it is known, and it lived long enough to count as begun
        case = Case(
            spec, self._asked, run.number, end, findings, progress, stepped, HANG if self._observed.stall is not None else "",
            facts, history=tuple(self.past), environ=self._environ, began=begun,
        )  # fmt: skip
        return completed(case, self._jobs, run.mark(), time.time()) if judged else case

    def over(self, case: Case) -> None:
        """The run of this case is over: it is part of the past."""
        if case.exit is not None:
            fault = next((item.fault for item in case.findings if item.role == "cause" and item.fault), "")
            self.past.append(Past(case.exit, case.stepped if case.stepped is not None else case.made_step or None, fault))
        self.close()

    def close(self) -> None:
        if self._monitoring is not None:
            self._monitoring.close()
        self._monitoring, self._observed = None, Observed()

    @staticmethod
    def _stepped(progress: Progress) -> bool | None:
        """None: nobody knows."""
        return True if progress.step is not None else None
