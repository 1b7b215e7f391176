"""A job that writes a gigabyte: all of it is kept and passed on, and its owner and monitor stay small."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import threading
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "supervise"))
from supervise_support import until

from neuronwatch.supervise.directory import JobDirectory

pytestmark = pytest.mark.torture
SIZE = 1 << 30
SCRIPT = f"import os\npart = (b'x' * 126 + b'y\\n') * 512\nfor _ in range({SIZE} // len(part)): os.write(1, part)"
MOST = 160 << 20


def memory(pid: int) -> int:
    """The most that a process ever had, bytes."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM")), 0)


def children(pid: int) -> list[int]:
    found = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=False)
    return [int(word) for word in found.stdout.split()]


def test_a_gigabyte(tmp_path):
    command = [
        sys.executable,
        "-m",
        "neuronwatch",
        "run",
        "--name",
        "t",
        "--state-dir",
        str(tmp_path),
        "--",
        sys.executable,
        "-c",
        SCRIPT,
    ]
    most, digest, size = {}, hashlib.blake2b(), 0
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:

        def look() -> None:
            while process.poll() is None:
                for pid in (process.pid, *children(process.pid)):
                    try:
                        most[pid] = max(most.get(pid, 0), memory(pid))
                    except OSError:
                        continue
                threading.Event().wait(0.2)

        watcher = threading.Thread(target=look)
        watcher.start()
        while part := process.stdout.read(1 << 20):
            digest.update(part)
            size += len(part)
        assert process.wait(600) == 0
        watcher.join()
    until(lambda: JobDirectory(tmp_path, "t").newest().ended(), "the end")
    kept = hashlib.blake2b()
    with JobDirectory(tmp_path, "t").newest().stdout.open("rb") as file:
        while part := file.read(1 << 20):
            kept.update(part)
    assert size == SIZE and kept.digest() == digest.digest() and max(most.values()) < MOST, most
