"""What the boot left behind (kernel log, other processes), and what a host does besides its jobs."""

from __future__ import annotations

from neuronwatch.drill import driver, oom, spec
from neuronwatch.drill.clock import MONTHS
from neuronwatch.drill.jobs import noise
from neuronwatch.drill.machine import Device, Machine

GIB = 1024**3
NOISE = (
    (5400.0, "systemd-journald[412]: Data hash table of /run/log/journal has a fill level at 75.0, suggesting rotation."),
    (3600.0, "TCP: request_sock_TCP: Possible SYN flooding on port 0.0.0.0:8000. Sending cookies."),
    (7200.0, "audit: type=1400 audit(0.0:42): apparmor=\"STATUS\" operation=\"profile_replace\" name=\"snap.lxd.check-kernel\""),
    (2700.0, "workqueue: output_poll_execute hogged CPU for >10000us 4 times, consider switching to WQ_UNBOUND"),
)  # fmt: skip
"""(mean seconds between two, message) of what a healthy kernel says now and then."""


def boot(machine: Machine) -> None:
    """The kernel log of the boot and the processes that every host has."""
    kernel, software = machine.kernel, machine.software
    kernel.say(f"Linux version {software.kernel} (buildd@lcy02-amd64-116) (x86_64-linux-gnu-gcc-12) #33~22.04.1-Ubuntu SMP", at=0.0)
    kernel.say(f"DMI: Amazon EC2 {machine.kind.name}/, BIOS 1.0 10/16/2017", at=0.01)
    kernel.say("ena 0000:00:05.0: Elastic Network Adapter (ENA) v2.13.0g", at=2.1)
    if machine.driver_loaded:
        load_driver(machine, at=8.2)
    _daemons(machine)


def load_driver(machine: Machine, at: float | None = None) -> None:
    """What the module says while it is loaded, and the reset of each device."""
    import time

    kernel, software = machine.kernel, machine.software
    up = machine.clock.uptime() if at is None else at
    kernel.say("neuron: loading out-of-tree module taints kernel.", at=up)
    kernel.say("neuron: module verification failed: signature and/or required key missing - tainting kernel", at=up)
    build = f"{abs(hash_of(software.loaded)):010x}"[:10]
    banner = f"Neuron Driver Started with Version:{software.loaded}-{build}"
    if spec.at_least(software.loaded, "2.17.17"):
        moment = time.gmtime(machine.clock.boot + up)
        month = MONTHS[moment.tm_mon - 1].lower()
        banner += f" at: {moment.tm_year}-{month}-{moment.tm_mday:02d} {moment.tm_hour:02d}:{moment.tm_min:02d}:{moment.tm_sec:02d}.204518"
    kernel.say(banner, at=up + 0.01)
    for device in machine.devices:
        if device.present:
            _found(machine, device, up + 0.1 + device.index * 0.06)
    for device in machine.devices:
        if device.present:
            kernel.driver("nr_reset_thread_fn", f"nd{device.index}: initiating device reset request 0", at=up + 1.2)
    for device in machine.devices:
        if device.present:
            kernel.driver("nr_reset_thread_fn", f"nd{device.index}: reset request 0 completed", at=up + 2.9)


def hash_of(text: str) -> int:
    """The same number for the same text in every run."""
    import zlib

    return zlib.crc32(text.encode()) * 2_654_435_761


def _found(machine: Machine, device: Device, at: float) -> None:
    short = device.address.partition(":")[2]
    text = f"** BDF: {short} => nd[{device.index}] (routing id: {(device.index + 12) % 16})"
    if machine.kind.generation >= 3:
        machine.kernel.driver(f"neuron_pci_get_device_id_v{machine.kind.generation}", text, at=at)
    else:
        machine.kernel.say(text, at=at)


def _daemons(machine: Machine) -> None:
    started = machine.clock.boot + 4.0
    for argv, rss in ((["/sbin/init"], 13), (["/lib/systemd/systemd-journald"], 60), (["/usr/sbin/sshd", "-D"], 8),
                      (["/usr/bin/containerd"], 55), (["/usr/bin/amazon-ssm-agent"], 30)):  # fmt: skip
        process = machine.spawn(argv, parent=0 if argv[0] == "/sbin/init" else 1, uid=0, rss=rss * 1024 * 1024)
        if argv[0] == "/sbin/init":
            del machine.processes[process.pid]
            process.pid, process.argv = 1, ["/sbin/init"]
            machine.processes[1] = process
        process.started = started


def background(machine: Machine, seconds: float) -> None:
    """Kernel messages of a healthy host, host load from the processes, power once a minute."""
    driver.tick(machine, seconds)
    for mean, text in NOISE:
        if machine.rng.random() < seconds / mean:
            machine.kernel.say(text)
    if machine.rng.random() < seconds / 40_000:
        noise.unattended(machine)
    _load(machine, seconds)
    for device in machine.devices:
        if int(machine.now) // 60 * 60 != device.power_time:
            device.power_time = int(machine.now) // 60 * 60
            mean_use = sum(core.utilization for core in device.cores) / len(device.cores)
            device.power = (max(0.0, mean_use * 0.3 - 1), mean_use * 0.62, mean_use * 0.5)


def _load(machine: Machine, seconds: float) -> None:
    host = machine.host
    busy = sum(process.cpu for process in machine.processes.values())
    host.user = min(99.0, 1.2 + busy / host.cpus * 0.92)
    host.system = min(40.0, 0.5 + busy / host.cpus * 0.08)
    host.load += (busy / 100 + 0.3 - host.load) * min(1.0, seconds / 60)
    oom.tick(machine)
    host.used = min(host.memory - GIB // 4, host.base + sum(process.rss for process in machine.processes.values()))
    host.context_switches += int(seconds * (9_000 + busy * 60))
    host.receive += int(seconds * 240_000)
    host.transmit += int(seconds * 310_000)
    host.disk_written += int(seconds * 900_000)
    host.disk_read += int(seconds * 120_000)
    idle = max(0.0, 100 - host.user - host.system - host.io_wait)
    for name, share in (("user", host.user), ("system", host.system), ("idle", idle), ("io_wait", host.io_wait)):
        host.cpu_seconds[name] += seconds * host.cpus * share / 100
    for process in machine.processes.values():
        process.user_time += seconds * process.cpu / 100 * 0.94
        process.system_time += seconds * process.cpu / 100 * 0.06
        process.state = (
            "R"
            if process.cpu > 50 and process.state == "S"
            else "S"
            if process.cpu <= 50 and process.state == "R"
            else process.state
        )
