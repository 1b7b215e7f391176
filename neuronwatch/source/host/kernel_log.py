"""The kernel log: /dev/kmsg without waiting, else `dmesg`, else what syslog kept."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator

from neuronwatch.model.diagnosis import SourceReport
from neuronwatch.source.host import HostItem
from neuronwatch.source.host.root import HostRoot, VirtualFile

LIMIT = 8 * 1024 * 1024
FILES = ("/var/log/kern.log", "/var/log/dmesg", "/var/log/messages", "/var/log/syslog")
_RECORD = re.compile(rb"^(\d{1,4}),(\d{1,18}),(\d{1,18}),[^;]{1,60};(.*)", re.S)


def collect(root: HostRoot) -> Iterator[HostItem]:
    refused = ""
    if root.live:
        data, refused = _kmsg()
        if data:
            yield VirtualFile("host:/dev/kmsg", data)
            return
    answer = root.run(("dmesg",), timeout=10.0)
    if answer.status == 0 and answer.stdout.strip():
        yield VirtualFile("host:dmesg", answer.stdout[-LIMIT:])
        return
    for name in FILES:
        kept = root.tail(name, LIMIT)
        if kept:
            yield VirtualFile(f"host:{name}", kept)
            return
    why = refused or answer.reason or answer.stderr.decode("utf-8", "replace").strip()[:200] or "nothing in it"
    yield SourceReport("host:/dev/kmsg", "kernel-log", "missing", f"the kernel log cannot be read: {why}")


def _kmsg() -> tuple[bytes, str]:
    """All records that the ring still holds, as dmesg shows them, and why there are none."""
    try:
        descriptor = os.open("/dev/kmsg", os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except OSError as error:
        return b"", (error.strerror or str(error)).lower()
    lines: list[bytes] = []
    size = 0
    try:
        while size < LIMIT:
            try:
                record = os.read(descriptor, 16 * 1024)
            except BlockingIOError:
                break
            except OSError as error:
                if error.errno == errno.EPIPE:  # overwritten while we read: the next read continues
                    continue
                return b"", (error.strerror or str(error)).lower()
            found = kmsg_line(record)
            if found is None:
                if not record:
                    break
                continue
            lines.append(found[1])
            size += len(found[1])
    finally:
        os.close(descriptor)
    return b"".join(lines), "" if lines else "empty"


def kmsg_line(record: bytes) -> tuple[int, bytes] | None:
    """The sequence number of a record of /dev/kmsg, and its line as dmesg shows it."""
    found = _RECORD.match(record)
    if not found:
        return None
    seconds, micro = divmod(int(found.group(3)), 1_000_000)
    text = found.group(4).split(b"\n")[0]  # what follows are key=value pairs of the device
    return int(found.group(2)), b"[%5d.%06d] %s\n" % (seconds, micro, text)
