"""Long campaigns, run by `make torture`: each fuzz target for a while, a million small files, big and growing evidence.

NEURONWATCH_FUZZ_SECONDS (default 60) and NEURONWATCH_FUZZ_SEED (default 1) set how long each target runs and from where.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import threading
from functools import partial
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "hostile"))

from hostile_support import ANSWER, FAULT, diagnose, evidence, run, still_judged

pytestmark = pytest.mark.torture
SECONDS = os.environ.get("NEURONWATCH_FUZZ_SECONDS", "60")
SEED = os.environ.get("NEURONWATCH_FUZZ_SEED", "1")


@pytest.mark.parametrize("target", ["parsers", "archives", "rules", "redactor"])
def test_fuzz(target: str) -> None:
    program = Path(__file__).with_name(f"fuzz_{target}.py")
    done = subprocess.run([sys.executable, str(program), "--seconds", SECONDS, "--seed", SEED], capture_output=True, text=True)
    print(done.stdout[-2000:])
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]


def test_a_million_small_files(tmp_path: Path) -> None:
    root = evidence(tmp_path / "e", {})
    for folder in range(20):
        (root / f"{folder:02d}").mkdir()
        for number in range(50_000):
            os.close(os.open(root / f"{folder:02d}" / f"{number:05d}.log", os.O_CREAT | os.O_WRONLY))
    result = still_judged(diagnose(root, timeout=1800, seconds=1500, memory=150))
    assert len(result.sources) < 5000


def test_files_that_change_while_they_are_read(tmp_path: Path) -> None:
    """A writer appends, truncates, renames, removes and replaces files during forty scans; good.log is always judged."""
    root = evidence(tmp_path / "e", {})
    rng, stop = random.Random(int(SEED)), threading.Event()

    def disturb() -> None:
        while not stop.is_set():
            path = root / f"{rng.randrange(40)}.log"
            choice = rng.randrange(6)
            try:
                if choice == 0:
                    with path.open("ab") as out:
                        out.write(b"some line of a log\n" * rng.choice((1, 1000, 100_000)))
                elif choice == 1:
                    os.truncate(path, rng.randrange(1000))
                elif choice == 2:
                    path.unlink()
                elif choice == 3:
                    path.rename(root / f"{rng.randrange(40)}.log")
                elif choice == 4:
                    path.unlink(missing_ok=True)
                    rng.choice((os.mkfifo, os.mkdir, partial(os.symlink, "/etc/passwd")))(path)
                elif path.is_dir():
                    path.rmdir()
            except OSError:
                continue

    writer = threading.Thread(target=disturb)
    writer.start()
    try:
        for number in range(40):
            assert ANSWER in diagnose(root, timeout=300, seconds=200).faults
            if number % 8 == 0:
                assert run("collect", root, "-o", tmp_path / "b.tgz", timeout=600, seconds=500, memory=250).code == 0
    finally:
        stop.set()
        writer.join()


def test_a_log_of_four_gigabytes(tmp_path: Path) -> None:
    root = evidence(tmp_path / "e", {})
    block = b"".join(b"2026-01-02 03:04:05 INFO step %d loss %d.%d of the run\n" % (n, n % 7, n) for n in range(20_000))
    with (root / "big.log").open("wb") as out:
        while out.tell() < 4 << 30:
            out.write(block)
        out.write(f"{FAULT}\n".encode())
    still_judged(diagnose(root, timeout=1800, seconds=1500, memory=100))
