"""neuron-monitor as a supervised child, one record a second: utilisation, executions, latency and memory of runtimes.

It is killed and started anew when it gives no record for a while. The judge gets the records in which something changed that a
rule can see, and one a minute, as lines of `host:neuron-monitor` with their time in front and without what nobody judges.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable
from pathlib import Path

from neuronwatch.model.diagnosis import SourceReport
from neuronwatch.model.live import Appended, Delivery
from neuronwatch.source.host.root import HostRoot
from neuronwatch.source.live.api import Broken, Now
from neuronwatch.source.live.child import Child
from neuronwatch.source.live.layout import Layout
from neuronwatch.source.live.monitor_readings import FAILURES, Readings
from neuronwatch.source.live.monitor_record import NoRecord, Record, decode, told

PATH = "host:neuron-monitor"
HANG = 12.0
"""Seconds of the machine without a record after which the child is killed."""
LOOK = 4.0
"""Seconds between looks whether it still speaks: what it says is read when it comes."""
MINUTE = 60.0
BURST, BETWEEN = 5, 10.0
"""So many records in a row go to the judge at once; while errors go on, one each BETWEEN seconds."""
CONFIG = {
    "period": "1s",  # whole seconds: "1.0s" is silently taken for 5 s
    "neuron_runtimes": [
        {"tag_filter": ".*", "metrics": [{"type": name} for name in
                                         ("neuroncore_counters", "memory_used", "neuron_runtime_vcpu_usage", "execution_stats")]}
    ],
    "system_metrics": [{"type": "memory_info"}, {"type": "neuron_hw_counters"}],
}  # fmt: skip


class NeuronMonitor:
    name = "neuron-monitor"
    budget = 5.0
    interval = LOOK
    mandatory = False
    blocking = False

    def __init__(self, root: HostRoot, layout: Layout, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._root = root
        self._layout = layout
        self._readings = Readings(layout)
        self._directory: str | None = None
        self._child: Child | None = None
        self._heard = 0.0
        """When a record came last, or the child was started."""
        self._judged = _Judged()
        self._first = True
        self._wrong = ""

    def poll(self, now: Now) -> Delivery | None:
        child = self._running()
        lines = child.lines()
        records: list[tuple[bytes, Record]] = []
        wrong = ""
        for line in lines:
            try:
                record, left_out = decode(line)
            except NoRecord:
                wrong = f"the output of neuron-monitor is no record: {line[:60].decode('utf-8', 'replace')}"
                continue
            wrong = wrong or (f"a part of its records cannot be read: {left_out}" if left_out else "")
            records.append((line, record))
        if child.too_long:
            child.too_long, wrong = 0, "a line of neuron-monitor's output is too long to be a record"
        if not records:
            self._silent(child, wrong)
            return None
        self._heard = self._clock()
        self._tidy()
        return self._delivery(records, wrong, now)

    def _running(self) -> Child:
        """The child, started when it is not there. Raises Absent or Broken."""
        if self._child is None:
            self._child = Child(self._root, ["neuron-monitor"], self._clock)
        if not self._child.alive:
            path = Path(self._configuration()) / "config.json"
            path.write_text(json.dumps(CONFIG), "ascii")
            self._child.argv[1:] = ["-c", str(path)]
            self._child.start()
            self._heard = self._clock()
        return self._child

    def _configuration(self) -> str:
        """A private directory for the child's configuration; it goes with the first record, since it is read only once."""
        if self._directory is None:
            self._directory = _private_directory()
        return self._directory

    def _tidy(self) -> None:
        if self._directory is not None:
            with contextlib.suppress(OSError):
                (Path(self._directory) / "config.json").unlink(missing_ok=True)
                Path(self._directory).rmdir()
            self._directory = None

    def _silent(self, child: Child, wrong: str) -> None:
        """No record came. Raises Broken when what came instead was garbage, or nothing came for too long."""
        silence = self._clock() - self._heard
        if silence > HANG:
            what = f"neuron-monitor gave no record for {HANG:g} s and is started anew" + (f": {wrong}" if wrong else "")
            child.kill(what)
            raise Broken(what)
        if wrong:
            raise Broken(wrong)

    def _delivery(self, records: list[tuple[bytes, Record]], wrong: str, now: Now) -> Delivery:
        readings = [self._readings.of(record) for _, record in records][-1]
        stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now.wall)).encode()
        kept = [stamp + b" " + told(line) + b"\n" for line, record in records if self._judged.wants(record, now.mono)]
        appended = [Appended(PATH, b"".join(kept), self._first, records=True)] if kept else []
        self._first = self._first and not kept
        reports = None
        if wrong != self._wrong:
            self._wrong = wrong
            reports = [SourceReport(PATH, self.name, "partial", wrong)] if wrong else []
        return Delivery(self.name, now.wall, readings, appended=appended, reports=reports)

    def descriptors(self) -> tuple[int, ...]:
        return self._child.descriptors() if self._child else ()

    def close(self) -> None:
        if self._child is not None:
            self._child.kill("ended")
        self._child = None
        self._tidy()


class _Judged:
    """Which records rules must see."""

    def __init__(self) -> None:
        self._seen: object = None
        self._minute = -MINUTE
        self._last = 0.0
        self._row = 0

    def wants(self, record: Record, now: float) -> bool:
        seen, failing = _visible(record)
        news = seen != self._seen
        if failing and not news:
            self._row = self._row + 1 if now - self._last < MINUTE else 0
            news = self._row < BURST or now - self._last >= BETWEEN
        if not news and now - self._minute < MINUTE:
            return False
        self._seen = seen
        self._last = self._minute = now
        return True


def _visible(record: Record) -> tuple[object, bool]:
    """What rules see in a record besides its tallies, and whether these tell of failures."""
    runtimes = record.neuron_runtime_data or []
    failing = False
    errors: list[object] = []
    for runtime in runtimes:
        report = runtime.report
        stats = (report.execution_stats or report.inference_stats) if report else None
        if report and stats:
            failing = failing or any((stats.error_summary or {}).values())
            failing = failing or any((stats.execution_summary or {}).get(name) for name in FAILURES)
        groups = (report.neuroncore_counters, stats, report.memory_used, report.neuron_runtime_vcpu_usage) if report else ()
        errors += [runtime.error or None, *((group.error or None) if group else None for group in groups)]
    hardware = record.system_data.neuron_hw_counters if record.system_data else None
    devices = [
        (item.neuron_device_index, item.mem_ecc_uncorrected, item.sram_ecc_uncorrected)
        for item in ((hardware.neuron_devices or []) if hardware else [])
    ]
    info = record.neuron_hardware_info
    who = sorted((runtime.pid or 0, runtime.neuron_runtime_tag or "") for runtime in runtimes)
    return (who, errors, devices, hardware.error if hardware else None, info.error if info else None), failing


def _private_directory() -> str:
    """A new directory that only we may enter. (`tempfile` loads three compressors and `random`: 0.8 MB for this.) Raises Broken."""
    wrong: OSError | None = None
    for place in dict.fromkeys((os.environ.get("TMPDIR") or "/tmp", "/tmp", "/var/tmp")):
        name = Path(os.path.abspath(place), f"neuronwatch-monitor-{os.urandom(8).hex()}")
        try:
            name.mkdir(0o700)  # fails where something of that name is there, a link too
        except OSError as error:
            wrong = error
        else:
            return str(name)
    raise Broken(f"no directory for neuron-monitor's configuration: {wrong}")
