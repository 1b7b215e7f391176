"""What systemd is told (sd_notify by hand): READY, STATUS, RELOADING, STOPPING, and the food of its watchdog.

The watchdog is fed while the loop turns and no mandatory source that was fresh has gone silent. A restart may mend our reader
once. A source that was not fresh since the start is not mended by a further restart: then the daemon stays, to say so.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterable, Mapping

from neuronwatch.model.live import Health


class Notifier:
    """Says nothing where nobody asked (no NOTIFY_SOCKET)."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._address = environ.get("NOTIFY_SOCKET", "")
        self.feeding = _feeding(environ)
        """Real seconds between two feeds, half of systemd's limit; 0: there is no watchdog."""
        self._status = ""
        self._once_fresh: set[str] = set()

    def ready(self) -> None:
        self._say("READY=1")

    def stopping(self) -> None:
        self._say("STOPPING=1")

    def status(self, text: str) -> None:
        """One line for `systemctl status`; said when it changed."""
        if text != self._status:
            self._status = text
            self._say(f"STATUS={text[:500]}")

    def feed(self, healths: Iterable[Health]) -> str:
        """Feeds the watchdog; returns "" or why it was not fed."""
        starving = ""
        for item in healths:
            if not item.mandatory:
                continue
            if item.state == "fresh":
                self._once_fresh.add(item.source)
            elif item.state in ("stale", "failed") and item.source in self._once_fresh:
                starving = starving or f"source {item.source} is {item.state}: {item.reason}"
        if not starving:
            self._say("WATCHDOG=1")
        return starving

    def _say(self, text: str) -> None:
        if not self._address.startswith(("/", "@")):
            return
        address = "\0" + self._address[1:] if self._address.startswith("@") else self._address
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
                sender.setblocking(False)
                sender.sendto("".join(char if char.isprintable() else " " for char in text).encode(), address)
        except OSError:
            pass  # it missed a word; a watchdog that starves is systemd's to see


def _feeding(environ: Mapping[str, str]) -> float:
    usec, pid = environ.get("WATCHDOG_USEC", ""), environ.get("WATCHDOG_PID", "")
    if not usec.isdecimal() or len(usec) > 15 or (pid and pid != str(os.getpid())):
        return 0.0
    return int(usec) / 2_000_000
