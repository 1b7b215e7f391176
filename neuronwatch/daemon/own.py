"""Numbers of the daemon itself, by their Prometheus names."""

from __future__ import annotations

import os
import time


def numbers(started: float) -> dict[str, float]:
    """CPU seconds, memory and descriptors; what the system does not tell is left out."""
    found = {"process_cpu_seconds_total": round(time.process_time(), 3), "process_start_time_seconds": started}
    try:
        with open("/proc/self/statm", "rb") as file:
            found["process_resident_memory_bytes"] = int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        found["process_open_fds"] = len(os.listdir("/proc/self/fd")) - 1
    except (OSError, ValueError, IndexError):
        pass
    return found
