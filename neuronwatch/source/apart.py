"""Work in a process of its own, of which only the result is kept: the compiler of the fast matcher takes 30 MiB for half a
second and does not give them back."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable


def apart(work: Callable[[], bytes]) -> bytes | None:
    """What `work` returns, done by a forked child; None where that is not to be had (then do it yourself)."""
    if sys.platform != "linux" or threading.active_count() > 1:
        return None
    try:
        readable, writable = os.pipe()
        child = os.fork()
    except OSError:
        return None
    if child == 0:
        status = 1
        try:
            os.close(readable)
            with os.fdopen(writable, "wb") as out:
                out.write(work())
            status = 0
        finally:
            os._exit(status)
    os.close(writable)
    with os.fdopen(readable, "rb") as handle:
        made = handle.read()
    _, status = os.waitpid(child, 0)
    return made if status == 0 and made else None
