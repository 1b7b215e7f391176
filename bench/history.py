"""The history's size, write and query costs, beside rows in SQLite in the same run.

    python bench/history.py [--hours 24] [--cores 128] [--dir /var/tmp] [--markdown]

Ten metrics of each core at 1 Hz, as a training run moves them: noise of utilisation and power around a level with phases, counters
that run on, memory that changes in steps, and some that stay. Ten minutes of it are made in advance and played round and round:
blocks are packed one by one, so that this changes no size. CPU is that of this process, with what is told of it by the kernel.
"""

from __future__ import annotations

import argparse
import random
import shutil
import sqlite3
import statistics
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Sequence
from pathlib import Path

from neuronwatch.model.live import Reading
from neuronwatch.store.frames import Splitter
from neuronwatch.store.history import History
from neuronwatch.store.history_query import Reader
from neuronwatch.store.ring import Ring

START = 1_760_000_100.0
PERIOD = 600
DAY = 86_400
KIB64 = 65_536.0


def utilisation(chance: random.Random, before: float, second: int) -> float:
    level = 91.0 if second % 200 < 185 else 20.0  # a checkpoint now and then
    return min(100.0, max(0.0, chance.gauss(level, 1.5)))


def power(chance: random.Random, before: float, second: int) -> float:
    return min(100.0, max(0.0, chance.gauss(62.0 if second % 200 < 185 else 35.0, 0.08)))


def steps(share: float) -> Callable[[random.Random, float, int], float]:
    def moved(chance: random.Random, before: float, second: int) -> float:
        return before if chance.random() > share else max(0.0, before + chance.randrange(-400, 401) * KIB64)

    return moved


def counter(rate: float) -> Callable[[random.Random, float, int], float]:
    return lambda chance, before, second: before + max(0, round(chance.gauss(rate, rate / 20)))


def stays(chance: random.Random, before: float, second: int) -> float:
    return before


METRICS: tuple[tuple[str, float, Callable[[random.Random, float, int], float]], ...] = (
    ("core.utilization", 90.0, utilisation),
    ("device.power", 60.0, power),
    ("core.executions", 1e6, counter(40.0)),
    ("core.errors", 0.0, stays),
    ("core.memory.tensors", 9e9, steps(0.05)),
    ("core.memory.scratchpad", 1e9, steps(0.01)),
    ("core.memory.constants", 3e9, stays),
    ("core.memory.model_code", 2e8, stays),
    ("core.memory.runtime", 1e7, stays),
    ("core.memory.used", 13e9, steps(0.06)),
)


def rounds(cores: int) -> list[list[Reading]]:
    chance = random.Random(1)
    names = [f"nd{core // 2}:nc{core % 2}" for core in range(cores)]
    values = {
        (metric, name): first + index * KIB64 * (first > 1e7) for metric, first, _ in METRICS for index, name in enumerate(names)
    }
    made = []
    for second in range(PERIOD):
        row = []
        for metric, _, move in METRICS:
            for name in names:
                value = values[metric, name] = move(chance, values[metric, name], second)
                row.append(Reading(metric, name, value))
        made.append(row)
    return made


def cpu(work: Callable[[], object]) -> float:
    begun = time.process_time()
    work()
    return time.process_time() - begun


def median_ms(work: Callable[[], object], times: int = 60) -> tuple[float, float]:
    """Median and smallest wall time in ms."""
    taken = []
    for _ in range(times):
        begun = time.perf_counter()
        work()
        taken.append((time.perf_counter() - begun) * 1000)
    return statistics.median(taken), min(taken)


def shown_as(taken: tuple[float, float]) -> str:
    return f"{taken[0]:.2f} ms (best {taken[1]:.2f})"


def ours(directory: Path, made: Sequence[list[Reading]], seconds: int) -> dict[str, str]:
    splitter = Splitter()
    history = History.open(directory, START, threaded=False, splitter=splitter)
    ring = Ring(splitter=splitter)
    ring_cpu = 0.0

    def write() -> None:
        nonlocal ring_cpu
        for second in range(seconds):
            row = made[second % PERIOD]
            begun = time.process_time()
            ring.add(row, START + second, "bench")
            ring_cpu += time.process_time() - begun
            history.add(row, START + second)

    total = cpu(write)
    history.add((), START + seconds + 20)
    size = history.health().size
    history.close()
    reader = Reader(directory)
    end = START + seconds
    day = median_ms(lambda: reader.query("core.utilization", None, START, end, 288))
    wide = median_ms(lambda: reader.query("core.utilization", None, START, end, 96))
    one = median_ms(lambda: reader.query("core.utilization", ["nd0:nc0"], START, end, 288))
    minutes = median_ms(lambda: reader.query("core.utilization", ["nd0:nc0"], end - 3600, end, 360))
    shown = median_ms(lambda: ring.series("core.utilization"))
    reader.close()
    return {
        "bytes a day": f"{size / seconds * DAY / 1e6:.1f} MB",
        "write CPU": f"{(total - ring_cpu) / seconds * 100:.3f} % of a core",
        "ring CPU": f"{ring_cpu / seconds * 100:.3f} % of a core",
        f"{seconds / 3600:.0f} h of all cores, 288 points": shown_as(day),
        "the same, 96 points": shown_as(wide),
        "the same of one core": shown_as(one),
        "one hour of one core, 360 points": shown_as(minutes),
        "15 minutes of all cores from the ring": shown_as(shown),
    }


def naive(directory: Path, made: Sequence[list[Reading]], seconds: int) -> dict[str, str]:
    path = directory / "rows.sqlite"
    rows = sqlite3.connect(path, isolation_level=None)
    rows.execute("PRAGMA journal_mode=WAL")
    rows.execute("PRAGMA synchronous=NORMAL")
    rows.execute("CREATE TABLE sample (time REAL, metric TEXT, entity TEXT, value REAL)")
    rows.execute("CREATE INDEX sample_time ON sample (metric, time)")

    def write() -> None:
        for second in range(seconds):
            rows.execute("BEGIN")
            row = made[second % PERIOD]
            values = [(START + second, item.metric, item.entity, item.value) for item in row]
            rows.executemany("INSERT INTO sample VALUES (?, ?, ?, ?)", values)
            rows.execute("COMMIT")

    total = cpu(write)
    rows.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    width = seconds / 288
    question = (
        "SELECT entity, CAST((time - ?) / ? AS INTEGER), min(value), max(value), avg(value) FROM sample"
        " WHERE metric = 'core.utilization' GROUP BY 1, 2"
    )
    taken = median_ms(lambda: rows.execute(question, (START, width)).fetchall(), 3)
    rows.close()
    return {
        "bytes a day": f"{path.stat().st_size / seconds * DAY / 1e6:.0f} MB",
        "write CPU": f"{total / seconds * 100:.2f} % of a core",
        f"{seconds / 60:.0f} min of all cores, 288 points": f"{taken[0]:.0f} ms (so {taken[0] * DAY / seconds:.0f} ms for a day)",
    }


def ring_memory(made: Sequence[list[Reading]]) -> float:
    tracemalloc.start()
    ring = Ring()
    for second in range(900):
        ring.add(made[second % PERIOD], START + second, "bench")
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return held / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--hours", type=float, default=24.0)
    parser.add_argument("--cores", type=int, default=128)
    parser.add_argument("--dir", type=Path, default=None, help="where to write (default: the temporary directory)")
    parser.add_argument("--markdown", action="store_true")
    args = parser.parse_args()
    directory = Path(tempfile.mkdtemp(prefix="neuronwatch-history-", dir=args.dir))
    try:
        made = rounds(args.cores)
        found = [("history", ours(directory, made, int(args.hours * 3600))), ("rows in SQLite", naive(directory, made, PERIOD))]
        found.append(("ring", {"memory of 15 minutes": f"{ring_memory(made):.1f} MB"}))
    finally:
        shutil.rmtree(directory)
    for name, figures in found:
        for what, figure in figures.items():
            print(f"| {name} | {what} | {figure} |" if args.markdown else f"{name:<15} {what:<40} {figure}")


if __name__ == "__main__":
    main()
