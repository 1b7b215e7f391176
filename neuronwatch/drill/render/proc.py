"""/proc of the host, in the formats of Linux: the machine as a whole, and each process with what it holds open."""

from __future__ import annotations

from neuronwatch.drill.files import Files
from neuronwatch.drill.machine import Machine, Process

TICKS = 100
PAGE = 4096
LIMITS = (
    ("Max cpu time", "unlimited", "unlimited", "seconds"), ("Max file size", "unlimited", "unlimited", "bytes"),
    ("Max data size", "unlimited", "unlimited", "bytes"), ("Max stack size", "8388608", "unlimited", "bytes"),
    ("Max core file size", "0", "unlimited", "bytes"), ("Max resident set", "unlimited", "unlimited", "bytes"),
    ("Max processes", "2061034", "2061034", "processes"), ("Max open files", "65535", "1048576", "files"),
    ("Max locked memory", "unlimited", "unlimited", "bytes"), ("Max address space", "unlimited", "unlimited", "bytes"),
    ("Max file locks", "unlimited", "unlimited", "locks"), ("Max pending signals", "2061034", "2061034", "signals"),
    ("Max msgqueue size", "819200", "819200", "bytes"), ("Max nice priority", "0", "0", ""),
    ("Max realtime priority", "0", "0", ""), ("Max realtime timeout", "unlimited", "unlimited", "us"),
)  # fmt: skip
MOUNTS = """\
sysfs /sys sysfs rw,nosuid,nodev,noexec,relatime 0 0
proc /proc proc rw,nosuid,nodev,noexec,relatime 0 0
udev /dev devtmpfs rw,nosuid,relatime,size={shm}k,nr_inodes=67108864,mode=755,inode64 0 0
tmpfs /run tmpfs rw,nosuid,nodev,size=6553600k,mode=755,inode64 0 0
/dev/nvme0n1p1 / ext4 rw,relatime,discard,errors=remount-ro 0 0
tmpfs /dev/shm tmpfs rw,nosuid,nodev,inode64 0 0
/dev/nvme0n1p15 /boot/efi vfat rw,relatime,fmask=0077,dmask=0077 0 0
"""


class Proc:
    """`render` writes the machine's files and each process; a process that ended is taken away."""

    def __init__(self, machine: Machine, files: Files) -> None:
        self._machine = machine
        self._files = files
        self._shown: set[int] = set()
        self._held: dict[int, tuple[int, ...]] = {}
        files.put("/proc/sys/kernel/hostname", machine.identity.hostname + "\n")
        files.put("/proc/cpuinfo", "".join(
            f"processor\t: {number}\nvendor_id\t: GenuineIntel\nmodel name\t: Intel(R) Xeon(R) Platinum 8375C CPU @ 2.90GHz\n"
            f"cpu cores\t: {max(1, machine.host.cpus // 2)}\n\n" for number in range(machine.host.cpus)), 0o444)  # fmt: skip
        files.put("/proc/sys/fs/file-nr", "4096\t0\t9223372036854775807\n", 0o444)
        files.put("/etc/hostname", machine.identity.hostname + "\n")

    def _release(self) -> None:
        release = self._machine.software.kernel
        self._files.put("/proc/version", f"Linux version {release} (buildd@lcy02-amd64-116) (x86_64-linux-gnu-gcc-12 (Ubuntu "
                        "12.3.0-1ubuntu1~22.04) 12.3.0, GNU ld 2.38) #33~22.04.1-Ubuntu SMP\n", 0o444)  # fmt: skip
        self._files.put("/proc/sys/kernel/osrelease", release + "\n", 0o444)
        host = self._machine.host
        self._files.put(
            "/proc/mounts", MOUNTS.format(shm=host.memory // 2048) + "".join(f"{row}\n" for row in host.mounts.values()), 0o444
        )

    def render(self) -> None:
        for text in (self._release, self._stat, self._memory, self._modules, self._network, self._disks):
            text()
        machine = self._machine
        running = sum(1 for process in machine.processes.values() if process.state == "R")
        load = machine.host.load
        self._files.put("/proc/loadavg", f"{load:.2f} {load * 0.97:.2f} {load * 0.93:.2f} {max(1, running)}/"
                        f"{sum(process.threads for process in machine.processes.values()) + 400} {max(machine.processes, default=1)}\n")  # fmt: skip
        self._files.put("/proc/uptime", f"{machine.clock.uptime():.2f} {machine.host.cpu_seconds['idle']:.2f}\n")
        for pid in self._shown - set(machine.processes):
            self._files.remove(f"/proc/{pid}")
            self._held.pop(pid, None)
        for pid, process in machine.processes.items():
            if pid not in self._shown:
                self._create(process)
            self._descriptors(process)
            self._process(process)
        self._shown = set(machine.processes)

    def _stat(self) -> None:
        host = self._machine.host
        times = [int(host.cpu_seconds[name] * TICKS) for name in ("user", "system", "idle", "io_wait")]
        rows = [f"cpu  {times[0]} 0 {times[1]} {times[2]} {times[3]} 0 0 0 0 0"]
        each = [value // host.cpus for value in times]
        rows += [f"cpu{number} {each[0]} 0 {each[1]} {each[2]} {each[3]} 0 0 0 0 0" for number in range(host.cpus)]
        rows += [f"intr {host.context_switches // 2}", f"ctxt {host.context_switches}", f"btime {int(self._machine.clock.boot)}",
                 f"processes {max(self._machine.processes, default=1)}", "procs_running 1", "procs_blocked 0"]  # fmt: skip
        self._files.put("/proc/stat", "\n".join(rows) + "\n", 0o444)

    def _memory(self) -> None:
        host = self._machine.host
        total, used = host.memory // 1024, host.used // 1024
        cached = min((total - used) // 3, 48 * 1024 * 1024)
        rows = {
            "MemTotal": total, "MemFree": total - used - cached, "MemAvailable": total - used - total // 100, "Buffers": cached // 50,
            "Cached": cached, "SwapCached": 0, "Active": used // 2, "Inactive": cached, "SwapTotal": 0, "SwapFree": 0, "Dirty": 412,
            "Shmem": 9_216, "Slab": total // 200, "Committed_AS": used,
        }  # fmt: skip
        text = "".join(f"{name + ':':<16}{value:>8} kB\n" for name, value in rows.items())
        self._files.put("/proc/meminfo", text + f"{'HugePages_Total:':<16}{0:>8}\n", 0o444)

    def _modules(self) -> None:
        machine = self._machine
        rows = ["ena 159744 0 - Live 0x0000000000000000", "nvme 57344 2 - Live 0x0000000000000000",
                "nvme_core 212992 3 nvme, Live 0x0000000000000000"]  # fmt: skip
        if machine.kind.efa:
            rows.append("efa 98304 0 - Live 0x0000000000000000 (OE)")
        if machine.driver_loaded:
            held = sum(len(process.devices) for process in machine.processes.values())
            rows.insert(0, f"neuron 425984 {held} - Live 0x0000000000000000 (OE)")
            self._files.put("/sys/module/neuron/refcnt", f"{held}\n", 0o444)
        self._files.put("/proc/modules", "\n".join(rows) + "\n", 0o444)

    def _network(self) -> None:
        host = self._machine.host
        head = (
            "Inter-|   Receive                                                |  Transmit\n"
            " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed\n"
        )
        rows = [("lo", host.receive // 9, host.receive // 9), ("ens5", host.receive, host.transmit)]
        body = "".join(
            f"{name:>6}: {received} {received // 900} 0 0 0 0 0 0 {sent} {sent // 900} 0 0 0 0 0 0\n"
            for name, received, sent in rows
        )
        self._files.put("/proc/net/dev", head + body, 0o444)

    def _disks(self) -> None:
        host = self._machine.host
        row = (f"{host.disk_read // 16384} 0 {host.disk_read // 512} {host.disk_read // 40_000} {host.disk_written // 32768} 0 "
               f"{host.disk_written // 512} {host.disk_written // 30_000} 0 {host.disk_written // 90_000} {host.disk_written // 30_000}")  # fmt: skip
        self._files.put(
            "/proc/diskstats", f" 259       0 nvme0n1 {row} 0 0 0 0 0 0\n 259       1 nvme0n1p1 {row} 0 0 0 0 0 0\n", 0o444
        )

    def _create(self, process: Process) -> None:
        """What does not change in the life of a process."""
        base, files = f"/proc/{process.pid}", self._files
        if files.content(f"{base}/stat"):
            files.remove(base)
        files.put(f"{base}/cmdline", "".join(f"{item}\0" for item in process.argv), 0o444)
        files.put(f"{base}/environ", "".join(f"{name}={value}\0" for name, value in process.environ.items()), 0o400)
        files.put(f"{base}/comm", process.name + "\n")
        files.put(f"{base}/cgroup", f"0::/system.slice/{process.name}.service\n" if process.uid == 0 else
                  "0::/user.slice/user-1000.slice/session-3.scope\n", 0o444)  # fmt: skip
        rows = [f"{'Limit':<26}{'Soft Limit':<21}{'Hard Limit':<21}{'Units':<10}"]
        for name, soft, hard, unit in LIMITS:
            own = process.limits.get(name.removeprefix("Max "))
            rows.append(f"{name:<26}{soft if own is None else own:<21}{hard if own is None else own:<21}{unit:<10}")
        files.put(f"{base}/limits", "\n".join(rows) + "\n", 0o444)
        files.link(f"{base}/exe", process.argv[0] if process.argv else "/bin/true")
        files.link(f"{base}/cwd", "/" if process.uid == 0 else "/home/ubuntu")
        files.link(f"{base}/root", "/")

    def _descriptors(self, process: Process) -> None:
        """What it holds open: its streams and the devices."""
        held = self._held.get(process.pid)
        if held == process.devices:
            return
        self._held[process.pid] = process.devices
        base = f"/proc/{process.pid}/fd"
        if held is not None:
            self._files.remove(base)
        opened = ["/dev/null", process.output or "/dev/null", process.log or process.output or "/dev/null"]
        for number, target in enumerate([*opened, *(f"/dev/neuron{device}" for device in process.devices)]):
            self._files.link(f"{base}/{number}", target)

    def _process(self, process: Process) -> None:
        base, pages = f"/proc/{process.pid}", process.rss // PAGE
        user, system = int(process.user_time * TICKS), int(process.system_time * TICKS)
        self._files.put(f"{base}/stat", self._stat_of(process, user, system), 0o444)
        self._files.put(f"{base}/status", _status(process, user, system), 0o444)
        self._files.put(f"{base}/statm", f"{pages * 3} {pages} {pages // 8} 700 0 {pages * 2} 0\n", 0o444)
        read, written = process.read_bytes, process.written_bytes
        rows = {"rchar": read * 2, "wchar": written * 2, "syscr": read // 4096, "syscw": written // 4096, "read_bytes": read,
                "write_bytes": written, "cancelled_write_bytes": 0}  # fmt: skip
        self._files.put(f"{base}/io", "".join(f"{name}: {value}\n" for name, value in rows.items()), 0o400)

    def _stat_of(self, process: Process, user: int, system: int) -> str:
        """The 52 fields of /proc/PID/stat: times in ticks, memory in bytes and pages."""
        begin = int((process.started - self._machine.clock.boot) * TICKS)
        head = f"{process.pid} ({process.name}) {process.state} {process.parent} {process.pid} {process.pid} 0 -1"
        faults, nice = "4194560 91822 0 12 0", "0 0 20 0"
        memory = f"{process.rss * 3} {process.rss // PAGE} 18446744073709551615"
        rest = "1 1 0 0 0 0 0 16781312 16386 0 0 0 17 2 0 0 0 0 0" + " 0" * 8
        return f"{head} {faults} {user} {system} {nice} {process.threads} 0 {begin} {memory} {rest}\n"


STATES = {"R": "running", "S": "sleeping", "D": "disk sleep", "Z": "zombie", "T": "stopped"}


def _status(process: Process, user: int, system: int) -> str:
    ids = f"{process.uid}\t" * 3 + str(process.uid)
    rss = process.rss // 1024
    rows = {
        "Name": process.name, "Umask": "0022", "State": f"{process.state} ({STATES[process.state]})", "Tgid": process.pid,
        "Pid": process.pid, "PPid": process.parent, "Uid": ids, "Gid": ids, "VmPeak": f"{rss * 3:>8} kB", "VmSize": f"{rss * 3:>8} kB",
        "VmRSS": f"{rss:>8} kB", "Threads": process.threads, "voluntary_ctxt_switches": user * 3, "nonvoluntary_ctxt_switches": system,
    }  # fmt: skip
    return "".join(f"{name}:\t{value}\n" for name, value in rows.items())
