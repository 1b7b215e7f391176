"""The progress protocol of jobs, in one file: copy it anywhere, Python 3.8 and newer, nothing but the standard library.

    from neuronwatch.emit import callback       # a callback for transformers.Trainer and what derives from it
    trainer.add_callback(callback)

or, in a loop of one's own: `emit.phase("compile")`, `emit.step(12, loss=2.31)`, `emit.checkpoint("out/checkpoint-100", step=100)`.

Where the environment names a file (NEURONWATCH_EMIT, set by `neuronwatch run`), each call appends one JSON object as one line of
at most 4,096 bytes: `v` 1, `t` (seconds since the epoch), `rank`, `ev` (phase, step, metric, checkpoint, note) and what was told.
Without it nothing happens. No call ever blocks or raises: a job is never held up by who watches it. A number that is none is told
as the word "nan", "inf" or "-inf".
"""

from __future__ import annotations

import errno
import json
import math
import os
import stat
import threading
import time
from typing import Any

VARIABLE = "NEURONWATCH_EMIT"
LONGEST = 4096
"""Bytes of a line, its end included: one write of so many is not torn apart by another process's."""
PHASES = ("import", "data", "trace", "compile", "load", "warmup", "step", "checkpoint", "evaluate", "serve", "exit")
_RANKS = ("RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID")


class _File:
    """The file of this process, opened at the first line; what cannot be written is dropped."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._path: str | None = None
        self._descriptor = -1
        self._torn = False

    def append(self, path: str, line: bytes) -> None:
        if not self._lock.acquire(timeout=0.1):  # held by a thread that a fork left behind: this line is lost, nobody waits
            return
        try:
            if path != self._path:
                self._open(path)
            if self._descriptor >= 0:
                self._write(line)
        except OSError as error:
            if error.errno in (errno.EBADF, errno.ESTALE):
                self._path, self._descriptor = None, -1
        finally:
            self._lock.release()

    def _open(self, path: str) -> None:
        self._path, self._descriptor, self._torn = path, -1, False
        how = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
        descriptor = os.open(path, how, 0o600)
        kind = os.fstat(descriptor).st_mode
        if stat.S_ISREG(kind) or stat.S_ISFIFO(kind):
            self._descriptor = descriptor
        else:
            os.close(descriptor)

    def _write(self, line: bytes) -> None:
        data = (b"\n" if self._torn else b"") + line
        written = 0
        try:
            written = os.write(self._descriptor, data)
        finally:
            self._torn = 0 < written < len(data) or (self._torn and written == 0)


_file = _File()


def phase(name: str, **more: Any) -> None:
    """The job is now in a phase, one of PHASES."""
    _tell("phase", {"phase": name, **more})


def step(number: int, **more: Any) -> None:
    """A step is done: `loss`, `grad_norm`, `tokens_per_s`, `step_time` (seconds), `max_steps`, ..., as far as they are known."""
    _tell("step", {"step": number, **more})


def metric(**values: Any) -> None:
    """Numbers that belong to no step: `eval_loss`, `memory` (bytes), `queue`, ..."""
    _tell("metric", values)


def checkpoint(path: Any, **more: Any) -> None:
    """A checkpoint is complete: `step`."""
    _tell("checkpoint", {"path": str(path), **more})


def note(text: str, **more: Any) -> None:
    """A sentence for people: `level` (info, warning, error)."""
    _tell("note", {"text": str(text), **more})


def _tell(kind: str, told: dict[str, Any]) -> None:
    path = os.environ.get(VARIABLE)
    if not path:
        return
    try:
        document = {"v": 1, "t": round(time.time(), 3), "rank": _rank(), "ev": kind}
        document.update((name, _plain(value)) for name, value in told.items() if value is not None and name not in document)
        _file.append(path, _line(document))
    except Exception:  # whatever it is, the job is worth more
        pass


def _rank() -> int:
    for name in _RANKS:
        value = os.environ.get(name, "")
        if value.isdigit() and value.isascii():
            return int(value)
    return 0


def _plain(value: Any) -> Any:
    """A number, a truth, or a text; what has an `item` (an array of one number) is that."""
    if isinstance(value, (str, bool)):
        return value
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value[:64]]
    value = value.item() if hasattr(value, "item") else value
    if isinstance(value, int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    return str(value)


def _line(document: dict[str, Any]) -> bytes:
    data = json.dumps(document).encode() + b"\n"
    while len(data) > LONGEST:
        name = max((key for key in document if key not in ("v", "t", "rank", "ev")), key=lambda key: len(json.dumps(document[key])))
        value = document[name]
        if isinstance(value, str) and len(value) > 64:
            document[name] = value[: max(32, len(value) // 2)] + "..."
        else:
            del document[name]
        data = json.dumps(document).encode() + b"\n"
    return data


class Callback:
    """A callback of transformers.Trainer, by its methods alone: no import of transformers, any version of it."""

    def __init__(self) -> None:
        self._evaluates = False
        self._tokens: tuple[Any, float] | None = None

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        phase("warmup", max_steps=getattr(state, "max_steps", None), step=getattr(state, "global_step", None))

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if self._evaluates:
            self._evaluates = False
            phase("step")
        step(state.global_step, max_steps=getattr(state, "max_steps", None))

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **kwargs: Any) -> None:
        told = {name: value for name, value in (logs or {}).items() if isinstance(name, str) and _counts(value)}
        if "loss" in told or "grad_norm" in told:
            step(state.global_step, **told, tokens_per_s=self._speed(state))
        elif told:
            metric(step=state.global_step, **told)

    def on_prediction_step(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if not self._evaluates:
            self._evaluates = True
            phase("evaluate")

    def on_save(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        checkpoint(os.path.join(str(args.output_dir), f"checkpoint-{state.global_step}"), step=state.global_step)

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        phase("exit")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("on_"):
            return _nothing  # events that other versions have
        raise AttributeError(name)

    def _speed(self, state: Any) -> float | None:
        """Tokens a second since the last time, where the trainer counts them (include_num_input_tokens_seen)."""
        seen, now = getattr(state, "num_input_tokens_seen", None), time.monotonic()
        before, self._tokens = self._tokens, (seen, now)
        if not seen or before is None or not before[0] or now <= before[1] or seen <= before[0]:
            return None
        return float((seen - before[0]) / (now - before[1]))


def _counts(value: Any) -> bool:
    return isinstance(value, (int, float, str)) or hasattr(value, "item")


def _nothing(*args: Any, **kwargs: Any) -> None:
    return None


callback = Callback()
