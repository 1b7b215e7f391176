"""Sources that fail: each in each way, what a reader meets, and that everything is as before when it is cleared."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import threading
from pathlib import Path

import pytest
from drill.conftest import MakeHost, run

from neuronwatch.drill import outages
from neuronwatch.drill.host import DrillHost, Refused

TREE = "sys/devices/virtual/neuron_device"


def tree(root: Path, name: str) -> dict[str, bytes]:
    """Path to content of all regular files below it."""
    return {str(path.relative_to(root)): path.read_bytes() for path in sorted((root / name).rglob("*")) if path.is_file()}


@pytest.mark.parametrize("fault", outages.names())
def test_the_host_is_whole_again(make_host: MakeHost, fault: str) -> None:
    """The host lives through each outage, and what it shows afterwards is what it would have shown."""
    host = make_host()
    host.inject(fault)
    run(host, 30)
    host.clear(fault)
    run(host, 4)
    assert not host.running and not host.machine.outages
    for path in host.files.below(""):
        shown = (host.root / path[1:]).read_bytes()
        assert shown.startswith(host.files.content(path)), path
    pids = {name for name in os.listdir(host.root / "proc") if name.isdecimal()}
    assert pids == {str(pid) for pid in host.machine.processes}
    kept = (host.root / "var/log/kern.log").read_bytes()
    assert all(line.encode() in kept for line in list(host.machine.kernel.ring)[-5:])
    assert os.access(host.root / "opt/aws/neuron/bin/neuron-ls", os.X_OK)


@pytest.mark.parametrize("how", ["garbled", "killed", "hung", "absent"])
def test_links_and_pipes_of_others_are_left_alone(make_host: MakeHost, tmp_path: Path, how: str) -> None:
    """A link out of the host among its logs: nothing is written behind it. A pipe: nobody waits for its reader."""
    outside = tmp_path / "outside.txt"
    outside.write_text("precious\n")
    host = make_host()
    logs = host.root / "var/log/neuron"
    (logs / "link.log").symlink_to(outside)
    os.mkfifo(logs / "pipe.log")
    assert not [path for path in host.files.logs("/var/log/neuron") if path.endswith(("link.log", "pipe.log"))]
    host.inject(f"source.runtime-log.{how}")
    run(host, 12)
    host.clear(f"source.runtime-log.{how}")
    run(host, 4)
    assert outside.read_text() == "precious\n"


def reading(path: Path) -> tuple[threading.Thread, list[bytes]]:
    """A thread that reads the file, and what it got."""
    got: list[bytes] = []

    def read() -> None:
        descriptor = os.open(path, os.O_RDONLY)
        got.append(os.read(descriptor, 100))
        os.close(descriptor)

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    thread.join(0.3)
    return thread, got


def test_a_hung_sysfs_read_waits_until_it_is_cleared(make_host: MakeHost) -> None:
    host = make_host()
    path = host.root / TREE / "neuron0/stats/hardware/sram_ecc_uncorrected"
    inode = path.stat().st_ino
    host.inject("source.sysfs.hung")
    run(host, 2)
    assert path.stat().st_ino != inode, "who keeps descriptors can see that they lead nowhere"
    thread, got = reading(path)
    assert thread.is_alive() and not got
    host.clear(None)
    run(host, 2)
    thread.join(10)
    assert got == [b""] and path.read_bytes() == b"0\n"


def test_a_slow_sysfs_read_gets_the_value_late(make_host: MakeHost) -> None:
    host = make_host()
    host.inject("source.sysfs.slow")
    run(host, 2)
    thread, got = reading(host.root / TREE / "neuron0/info/serial_number")
    assert thread.is_alive()
    run(host, 10)
    thread.join(10)
    assert got == [host.machine.devices[0].serial.encode() + b"\n"]


def test_absent_and_denied(make_host: MakeHost) -> None:
    host = make_host()
    host.inject("source.sysfs.absent")
    host.inject("source.neuron-ls.denied")
    run(host, 2)
    assert not (host.root / TREE).exists() and (host.root / "dev/neuron0").exists()
    assert (host.root / "opt/aws/neuron/bin/neuron-ls").stat().st_mode & 0o777 == 0
    with pytest.raises(Refused, match=r"suffers from source\.sysfs\.absent already"):
        host.inject("source.sysfs.hung")
    with pytest.raises(ValueError, match=r"did you mean `source\.sysfs\.hung`"):
        host.inject("source.sysfs.hang")


def program(host: DrillHost, name: str, *arguments: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([str(host.root / name), *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE)


@pytest.mark.parametrize(("source", "name"), [("neuron-ls", "opt/aws/neuron/bin/neuron-ls"), ("kernel-log", "usr/bin/dmesg")])
def test_tools_that_fail(make_host: MakeHost, source: str, name: str) -> None:
    host = make_host(rate=100)
    arguments = ("-j",) if source == "neuron-ls" else ()
    host.inject(f"source.{source}.killed")
    run(host, 2)
    assert program(host, name, *arguments).wait(20) == -signal.SIGKILL
    host.clear(None)
    host.inject(f"source.{source}.garbled")
    run(host, 2)
    told, _ = program(host, name, *arguments).communicate(timeout=20)
    assert b"\xff\xfe" in told
    host.clear(None)
    run(host, 2)
    host.inject(f"source.{source}.hung")
    run(host, 2)
    waiting = program(host, name, *arguments)
    with pytest.raises(subprocess.TimeoutExpired):
        waiting.wait(0.6)
    host.clear(None)
    run(host, 2)
    told, _ = waiting.communicate(timeout=20)
    assert waiting.returncode == 0 and told


def test_a_monitor_that_runs_already_fails_too(make_host: MakeHost) -> None:
    host = make_host(rate=100)
    monitor = program(host, "opt/aws/neuron/bin/neuron-monitor")
    try:
        assert monitor.stdout is not None and monitor.stdout.readline()
        host.inject("source.neuron-monitor.hung")
        run(host, 2)
        while select.select([monitor.stdout], [], [], 0.5)[0]:
            assert monitor.stdout.readline(), "it hangs, it does not end"
        host.clear(None)
        run(host, 2)
        assert monitor.stdout.readline()
        host.inject("source.neuron-monitor.killed")
        run(host, 2)
        assert monitor.wait(20) == -signal.SIGKILL
        host.clear(None)
        run(host, 2)
        for how in ("flapping", "denied"):
            again = program(host, "opt/aws/neuron/bin/neuron-monitor")
            assert again.stdout is not None and again.stdout.readline()
            host.inject(f"source.neuron-monitor.{how}")
            run(host, 2)
            assert again.wait(20) == 1
            host.clear(None)
            run(host, 2)
    finally:
        if monitor.poll() is None:
            monitor.kill()
            monitor.wait()


def test_garbled_files(make_host: MakeHost) -> None:
    host = make_host()
    path = host.root / TREE / "neuron0/neuron_core0/stats/memory_usage/device_mem/total"
    kept = os.open(path, os.O_RDONLY)
    host.inject("source.sysfs.garbled")
    run(host, 2)
    assert b"\xff\xfe" in os.pread(kept, 100, 0), "a kept descriptor sees it too"
    os.close(kept)
    host.clear(None)
    run(host, 2)
    assert int(path.read_text()) > 0


def test_a_fault_that_breaks_does_not_end_the_host(make_host: MakeHost, capsys: pytest.CaptureFixture[str]) -> None:
    host = make_host()

    class Broken:
        ID, WHAT, NEAR_MISS = "hw.broken", "", ""

        def run(self, *_: object) -> object:
            yield 1.0
            raise RuntimeError("of the fault")

    host.faults["hw.broken"] = Broken()  # type: ignore[assignment]
    host.inject("hw.broken")
    run(host, 4)
    assert not host.running and "the fault hw.broken broke: RuntimeError: of the fault" in capsys.readouterr().err


def test_nothing_is_seen_half_made(make_host: MakeHost) -> None:
    """While the compile cache comes and goes, no entry is ever seen with an empty NEFF, and no counter without its number."""
    host = make_host()
    neffs = [host.root / host.machine.cache.neff(entry.module)[1:] for entry in host.machine.cache.good()]
    counter = host.root / TREE / "neuron0/neuron_core0/stats/memory_usage/device_mem/total"
    bad: list[str] = []
    stop = threading.Event()

    def watch() -> None:
        while not stop.is_set():
            for path in neffs:
                try:
                    if path.stat().st_size == 0:
                        bad.append(str(path))
                except OSError:
                    continue
            try:
                if not counter.read_bytes():
                    bad.append(str(counter))
            except OSError:
                continue

    watcher = threading.Thread(target=watch)
    watcher.start()
    host.inject("source.compile-cache.killed")
    host.inject("source.sysfs.killed")
    run(host, 90)
    host.clear(None)
    host.inject("source.compile-cache.garbled")
    run(host, 4)
    host.clear(None)
    run(host, 4)
    stop.set()
    watcher.join()
    assert not bad
