"""A job on disk: `<state-dir>/jobs/<name>/` (docs/design/0011-supervisor.md). It tells what runs and what ended."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import shutil
import stat
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

from neuronwatch.model.job import Exit, Identity, JobSpec
from neuronwatch.store.json_files import read_json, write_json
from neuronwatch.supervise.errors import JobError

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
RUN = re.compile(r"\d{4,9}")
WAITING = ".next"
_SPEC_KEYS = {
    "name": str, "argv": list, "cwd": str, "env": dict, "config": dict, "interpreter": str, "grace": (int, float),
    "settled": (int, float), "hang_limits": dict, "step_pattern": str, "price_per_hour": (int, float, type(None)),
}  # fmt: skip


class Started(NamedTuple):
    """Who was started: the command and its shim."""

    command: Identity
    shim: Identity
    time: float


class Run:
    """One start of the command: `runs/NNNN/`."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def number(self) -> int:
        return int(self.path.name)

    @property
    def stdout(self) -> Path:
        return self.path / "stdout.log"

    @property
    def stderr(self) -> Path:
        return self.path / "stderr.log"

    @property
    def emit(self) -> Path:
        return self.path / "emit.jsonl"

    def intent(self) -> Mapping[str, Any] | None:
        return read_json(self.path / "intent.json")

    def mark(self) -> str:
        """What the environment of every process of this run holds, "" where nothing was to be started."""
        found = (self.intent() or {}).get("mark")
        return found if isinstance(found, str) else ""

    def started(self) -> Started | None:
        """None: the shim never came so far, or what it wrote is torn."""
        found = read_json(self.path / "started.json")
        try:
            boot = str(found["boot_id"])  # type: ignore[index]  # None is caught below
            command = Identity(boot, int(found["pid"]), int(found["start"]))  # type: ignore[index]
            shim = Identity(boot, int(found["shim"]), int(found["shim_start"]))  # type: ignore[index]
            return Started(command, shim, float(found["time"]))  # type: ignore[index]
        except (KeyError, TypeError, ValueError):
            return None

    def ended(self) -> Exit | None:
        """How the command ended, as the shim wrote it; None: it has not, or nobody knows."""
        found = read_json(self.path / "exit.json")
        try:
            status, number = found["status"], found["signal"]  # type: ignore[index]  # None is caught below
            made = Exit(None if status is None else int(status), None if number is None else int(number),
                        float(found["time"]), str(found.get("reason", "")))  # type: ignore[index, union-attr]  # fmt: skip
        except (KeyError, TypeError, ValueError):
            return None
        return made if made.known else None

    def lock(self) -> int | None:
        """Takes the lock of this run: a descriptor, or None while its shim (or an owner that is starting it) holds it."""
        return _locked(self.path / "lock")

    def held(self) -> bool:
        descriptor = self.lock()
        if descriptor is None:
            return True
        os.close(descriptor)
        return False

    def give_up(self, now: float) -> Exit:
        """Writes that nobody knows how this run ended, so that it is not asked again."""
        end = Exit(None, None, now, "its parent was killed before it could tell")
        write_json(self.path / "unknown.json", end._asdict())
        return end

    def given_up(self) -> Exit | None:
        found = read_json(self.path / "unknown.json")
        return None if found is None else Exit(None, None, float(found.get("time") or 0.0), str(found.get("reason", "")))


class JobDirectory:
    """All that is known of one job."""

    def __init__(self, state_dir: Path, name: str) -> None:
        """Raises JobError where this is no name for a job."""
        if not NAME.fullmatch(name):
            mend = "use up to 64 letters, digits, '.', '_' and '-', the first a letter or digit"
            raise JobError(f"{name!r} is no name for a job", mend)
        self.name = name
        self.path = state_dir / "jobs" / name
        self._owner: int | None = None

    def make(self) -> None:
        """Raises JobError where it cannot be made or others may write to it."""
        try:
            (self.path / "runs").mkdir(mode=0o700, parents=True, exist_ok=True)
            for place in (self.path.parent, self.path, self.path / "runs"):
                status = place.lstat()
                if status.st_uid != os.geteuid() or status.st_mode & 0o022 or place.is_symlink():
                    raise JobError(f"{place} is not ours alone to write", "chmod go-w it, or pass another --state-dir")
        except OSError as error:
            raise JobError(f"{self.path} cannot be made: {error.strerror}", "pass another --state-dir") from error

    def spec(self) -> JobSpec | None:
        """The spec as asked for. Raises JobError where it is torn or of a newer version."""
        return self._spec("spec.json")

    def current(self) -> JobSpec | None:
        """The spec after remedies."""
        return self._spec("current.json") or self.spec()

    def _spec(self, name: str) -> JobSpec | None:
        found = read_json(self.path / name)
        if found is None:
            return None
        mend = "move it aside and start the job with its command again"
        for key, value in found.items():
            if key not in _SPEC_KEYS or not isinstance(value, _SPEC_KEYS[key]):  # type: ignore[arg-type]  # a type or a tuple of them
                raise JobError(
                    f"{self.path / name}: what is this? {key!r}", "move it aside and start the job with its command again"
                )
        try:
            return JobSpec(**{**found, "argv": tuple(map(str, found["argv"]))})
        except (KeyError, TypeError) as error:
            raise JobError(f"{self.path / name}: {error}", mend) from error

    def write_spec(self, spec: JobSpec, name: str = "spec.json") -> None:
        write_json(self.path / name, asdict(spec))

    def over(self, why: str) -> None:
        """Writes that the job was brought to its end with its newest run: nobody starts it again by himself."""
        newest = self.newest()
        write_json(self.path / "over.json", {"run": newest.number if newest else 0, "why": why})

    def is_over(self) -> bool:
        newest, found = self.newest(), read_json(self.path / "over.json")
        return newest is not None and found is not None and found.get("run") == newest.number

    def runs(self) -> list[Run]:
        """All runs, the newest last."""
        with contextlib.suppress(FileNotFoundError):
            names = sorted((name for name in os.listdir(self.path / "runs") if RUN.fullmatch(name)), key=int)
            return [Run(self.path / "runs" / name) for name in names]
        return []

    def newest(self) -> Run | None:
        runs = self.runs()
        return runs[-1] if runs else None

    def next_run(self) -> Run:
        """The next one; it is not there yet."""
        newest = self.newest()
        return Run(self.path / "runs" / f"{(newest.number if newest else 0) + 1:04d}")

    def make_waiting(self) -> Run:
        """The directory in which the next run waits, made anew. Raises OSError."""
        self.clear_waiting()
        waiting = Run(self.path / "runs" / WAITING)
        waiting.path.mkdir(mode=0o700)
        return waiting

    def clear_waiting(self) -> None:
        """Nothing was ever started there."""
        with contextlib.suppress(OSError):
            shutil.rmtree(self.path / "runs" / WAITING)

    def admit(self, run: Run) -> None:
        """What waits becomes this run. Raises OSError."""
        (self.path / "runs" / WAITING).rename(run.path)

    def take(self) -> bool:
        """Becomes the owner; False while another lives. Raises JobError where the lock is no plain file."""
        descriptor = _locked(self.path / "owner.lock")
        if descriptor is None:
            return False
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise JobError(f"{self.path / 'owner.lock'} is no plain file", "move it aside")
        os.ftruncate(descriptor, 0)
        with contextlib.suppress(OSError):  # a full disk: the pid inside is for people only
            os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        self._owner = descriptor
        return True

    def owner(self) -> int | None:
        """The pid of the owner that lives, 0 where it does not say; None: there is none."""
        try:
            descriptor = os.open(self.path / "owner.lock", os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except FileNotFoundError:
            return None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
            return None
        except OSError:
            text = os.pread(descriptor, 32, 0).strip()
            return int(text) if text.isdigit() else 0
        finally:
            os.close(descriptor)

    def release(self) -> None:
        if self._owner is not None:
            os.close(self._owner)
            self._owner = None


def jobs(state_dir: Path) -> Iterator[JobDirectory]:
    """All jobs there, by name."""
    with contextlib.suppress(FileNotFoundError):
        for name in sorted(os.listdir(state_dir / "jobs")):
            if NAME.fullmatch(name) and (state_dir / "jobs" / name / "runs").is_dir():
                yield JobDirectory(state_dir, name)


def _locked(path: Path) -> int | None:
    """Takes the lock of a file that is made where it is not there: its descriptor, or None while another holds it."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(descriptor)
        if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
            return None
        raise
    return descriptor
