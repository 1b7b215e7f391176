"""The monitor of a run as its owner has it: a child process (`monitor_main.py`), and the latest of what it said."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict

from neuronwatch.model.job import JobSpec
from neuronwatch.supervise.directory import Run
from neuronwatch.supervise.observed import Observed, of_document

MOST = 16 * 1024 * 1024
"""Bytes of one answer; a monitor that says more is broken, and is ended."""


class Monitoring:
    """`read` when `descriptor` is readable. `gone`: it died or was never there; the run goes on unobserved."""

    def __init__(self, run: Run, spec: JobSpec, roots: Sequence[tuple[int, int]]) -> None:
        self.observed = Observed()
        self._rest = b""
        self._child: subprocess.Popen[bytes] | None = None
        self.descriptor = -1
        asked = {"run": os.fspath(run.path), "spec": asdict(spec), "roots": [list(root) for root in roots], "mark": run.mark()}
        with contextlib.suppress(OSError):
            self._child = subprocess.Popen(
                [sys.executable, "-m", "neuronwatch.supervise.monitor_main"],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True,
            )  # fmt: skip
            assert self._child.stdin is not None and self._child.stdout is not None
            self.descriptor = self._child.stdout.fileno()
            os.set_blocking(self.descriptor, False)
            with contextlib.suppress(BrokenPipeError):
                self._child.stdin.write(json.dumps(asked).encode() + b"\n")
                self._child.stdin.flush()

    @property
    def gone(self) -> bool:
        return self._child is None

    def read(self) -> bool:
        """Takes what it said; whether there was anything new. At its end it is `gone`."""
        child = self._child
        if child is None:
            return False
        new, over = False, False
        while not over:
            try:
                part = os.read(self.descriptor, 1 << 20)
            except BlockingIOError:
                break
            over = not part
            self._rest += part
            *lines, self._rest = self._rest.split(b"\n")
            for line in lines:
                with contextlib.suppress(ValueError, RecursionError):
                    self.observed = of_document(json.loads(line))
                    new = True
            over = over or len(self._rest) > MOST
        if over:
            self.close()
        return new

    def close(self) -> None:
        """It ends; what it said stays."""
        child, self._child = self._child, None
        if child is None:
            return
        assert child.stdin is not None and child.stdout is not None
        with contextlib.suppress(OSError):
            child.stdin.close()
        child.stdout.close()
        self.descriptor = -1
        child.kill()
        child.wait()
