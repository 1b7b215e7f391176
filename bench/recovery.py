"""Time to recovery: from the first evidence of a fault to the verified recovery, process starts included, of small real jobs.

    python bench/recovery.py [--times 3]

The jobs are those of tests/supervise/recovery_support.py, run under `--policy act`; the times are those of the job's own report.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "supervise")]

from recovery_support import PROGRAM, SCENARIOS  # noqa: E402

from neuronwatch.supervise.directory import JobDirectory  # noqa: E402

STEPS = "import time\nfor step in range(1, 40):\n    print({'loss': 3.0, 'epoch': step / 8}, flush=True)\n    time.sleep(0.1)\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=3)
    options = parser.parse_args()
    every: list[float] = []
    print("| fault | remedy | times | median s | worst s |\n|---|---|---|---|---|")
    for name in (*SCENARIOS, "kill -9"):
        found, fault = [], ""
        for _ in range(options.times):
            with tempfile.TemporaryDirectory() as place:
                document = killed(Path(place)) if name == "kill -9" else cured(Path(place), name)
            helped = [item for item in document["remedies"] if item["result"] == "helped"]
            first = document["remedies"][0]
            if not helped or document["exit"]:
                raise SystemExit(f"{name}: not cured: {document['remedies']}")
            fault = first["fault"] or "killed"
            found.append(helped[-1]["t_verified"] - first["t_fault"])
        every += found
        print(
            f"| {fault} | {helped[-1]['action']} | {len(found)} | {statistics.median(found):.1f} | {max(found):.1f} |", flush=True
        )
    print(f"\nall: median {statistics.median(every):.1f} s, worst {max(every):.1f} s")


def command(place: Path, *words: str) -> list[str]:
    run = [sys.executable, "-m", "neuronwatch", "run", "--name", "t", "--state-dir", str(place / "state"), "--policy", "act"]
    return [*run, "--settled", "2", "--report", str(place / "report.json"), "--", sys.executable, str(place / "train.py"), *words]


def cured(place: Path, name: str) -> dict:
    arguments, sick, message, _ = SCENARIOS[name]
    (place / "train.py").write_text(PROGRAM.format(sick=sick, message=message))
    subprocess.run(command(place, *arguments), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=300, check=False)
    return json.loads((place / "report.json").read_text())


def killed(place: Path) -> dict:
    (place / "train.py").write_text(STEPS)
    with subprocess.Popen(command(place), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        run = None
        while run is None or run.started() is None:
            time.sleep(0.02)
            run = JobDirectory(place / "state", "t").newest()
        time.sleep(1.5)
        os.kill(run.started().command.pid, signal.SIGKILL)
        process.wait(300)
    return json.loads((place / "report.json").read_text())


if __name__ == "__main__":
    main()
