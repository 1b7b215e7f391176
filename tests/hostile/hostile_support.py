"""Runs the program as a user does, in a process of its own, and measures it.

`run` starts it through a trampoline of a few megabytes that waits for it: the peak memory that the kernel reports for a
child includes that of the process which forked it, and pytest is bigger than the program.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FAULT = "2024-Apr-05 11:41:02.0111   32:32    ERROR   NRT:nrt_allocate_neuron_cores   NeuronCore(s) not available - Requested:nc1-nc1 Available:0"
"""A line of which the shipped rules make the fault ANSWER."""
ANSWER = "runtime.cores-busy"
NEURONWATCH = [sys.executable, "-c", "import sys; from neuronwatch.cli.main import main; sys.exit(main())"]
MIB = 1024 * 1024

_TRAMPOLINE = """
import os, resource, sys
child = os.fork()
if not child:
    file, uid = sys.argv[2], int(sys.argv[1])
    if file:
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(file), int(file)))
    if uid < 0:  # root that may no longer read what is not its own
        os.execvp("setpriv", ["setpriv", "--bounding-set=-all", "--inh-caps=-all", *sys.argv[4:]])
    if uid:
        os.setgroups([]); os.setgid(uid); os.setuid(uid)
    os.execv(sys.argv[4], sys.argv[4:])
import signal
signal.signal(signal.SIGINT, signal.SIG_IGN)
_, status, used = os.wait4(child, 0)
with open(sys.argv[3], "w") as out:
    out.write(f"{used.ru_maxrss} {used.ru_utime + used.ru_stime}")
os._exit(os.waitstatus_to_exitcode(status) % 256)
"""


@dataclass(frozen=True)
class Result:
    """`memory` is the peak in MiB, `seconds` the processor time."""

    code: int
    out: str
    err: str
    memory: float
    seconds: float

    @property
    def json(self) -> dict[str, Any]:
        return json.loads(self.out)

    @property
    def faults(self) -> list[str]:
        return [item["fault"] for item in self.json["findings"] if item["role"] == "cause"]

    @property
    def sources(self) -> dict[str, str]:
        """Path to `state: reason`."""
        return {item["path"]: f"{item['state']}: {item['reason']}" for item in self.json["sources"]}


def environment(extra: Mapping[str, str | None] | None = None) -> dict[str, str]:
    values: dict[str, str | None] = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **(extra or {})}
    return {key: value for key, value in values.items() if value is not None}


def run(
    *argv: str | Path, env: Mapping[str, str | None] | None = None, cwd: Path | None = None, uid: int = 0, file_limit: int | None = None,
    timeout: float = 120, stdin: bytes = b"", memory: float = 150, seconds: float = 60,
) -> Result:  # fmt: skip
    """Runs `neuronwatch ARGV`; whatever the evidence is, it ends in time, in bounds and without a traceback."""
    note = Path(os.environ.get("TMPDIR", "/tmp")) / f"neuronwatch-usage-{os.getpid()}-{time.monotonic_ns()}"
    command = [sys.executable, "-S", "-E", "-c", _TRAMPOLINE, str(uid), "" if file_limit is None else str(file_limit), str(note),
               *NEURONWATCH, *map(str, argv)]  # fmt: skip
    try:
        done = subprocess.run(command, input=stdin, capture_output=True, timeout=timeout, env=environment(env), cwd=cwd)
        peak, used = note.read_text().split()
    finally:
        note.unlink(missing_ok=True)
    out, err = done.stdout.decode("utf-8", "surrogateescape"), done.stderr.decode("utf-8", "surrogateescape")
    result = Result(done.returncode, out, err, int(peak) / 1024, float(used))
    assert "Traceback" not in err, err
    assert result.code not in (70, 139, 134, 137), (result.code, err)
    assert result.memory < memory, f"{result.memory:.0f} MiB"
    assert result.seconds < seconds, f"{result.seconds:.1f} s"
    return result


def diagnose(*argv: str | Path, **options: Any) -> Result:
    """`diagnose --format json`; the result is one JSON document of the contract, whatever was read."""
    result = run("diagnose", "--format", "json", *argv, **options)
    assert result.code in (0, 1, 2, 3), (result.code, result.err)
    assert result.json["schema"] == "neuronwatch.diagnosis/1"
    assert "(neuronwatch)" not in result.sources, result.sources["(neuronwatch)"]
    return result


def still_judged(result: Result) -> Result:
    """The fault in the good file beside the hostile one is the answer."""
    assert result.code == 2 and result.faults[:1] == [ANSWER], (result.code, result.faults, result.sources)
    return result


def evidence(directory: Path, files: Mapping[str, bytes | str]) -> Path:
    """The directory with these files, and good.log, in which FAULT stands."""
    directory.mkdir(parents=True, exist_ok=True)
    for name, content in {**files, "good.log": f"starting\n{FAULT}\n"}.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return directory


def one_line_error(result: Result, *words: str, code: int = 64) -> None:
    """Exactly one line on stderr that says all of `words`, and the code."""
    assert result.code == code, (result.code, result.err)
    assert len(result.err.strip().split("\n")) == 1, result.err
    for word in words:
        assert word in result.err, result.err


def start(*argv: str | Path, **options: Any) -> subprocess.Popen[bytes]:
    """The program without the trampoline: for signals and pipes."""
    command: Sequence[str] = [*NEURONWATCH, *map(str, argv)]
    return subprocess.Popen(command, env=environment(options.pop("env", None)), **options)


def wait_until_it_reads(child: subprocess.Popen[bytes], path: Path) -> None:
    """On a busy machine the imports take longer than any fixed time."""
    place, end = Path(f"/proc/{child.pid}/fd"), time.monotonic() + 20
    while place.exists() and child.poll() is None and time.monotonic() < end:
        with contextlib.suppress(OSError):
            if any(str(link.readlink()).startswith(str(path)) for link in place.iterdir()):
                return
        time.sleep(0.02)
