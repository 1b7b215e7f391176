"""A real daemon in a process of its own, on a small host root."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from pathlib import Path

from neuronwatch.daemon.client import Client, NoDaemon
from neuronwatch.daemon.protocol import ApiError

PATIENCE = 90.0
"""Seconds to wait for anything on a loaded machine."""


def until(ask, what: str):
    """The first true answer of `ask`, polled."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        answer = ask()
        if answer:
            return answer
        time.sleep(0.05)
    raise AssertionError(f"never: {what}")


def small_host(root: Path) -> Path:
    """A host with one Neuron device and a driver, as files."""
    files = {
        "proc/version": "Linux version 5.15.0-1051-aws (buildd@x) (gcc 11.4.0) #56-Ubuntu SMP\n",
        "proc/modules": "neuron 405504 2 - Live 0x0000000000000000 (OE)\n",
        "sys/module/neuron/version": "2.21.37.0\n",
        "sys/devices/virtual/dmi/id/product_name": "trn1.2xlarge\n",
        "sys/devices/virtual/neuron_device/neuron0/info/serial_number": "0123456789abcdef\n",
        "sys/devices/virtual/neuron_device/neuron0/stats/hardware/mem_ecc_uncorrected/total": "0\n",
        "dev/neuron0": "",
        "etc/os-release": 'ID=ubuntu\nVERSION_ID="22.04"\n',
    }
    for name, text in files.items():
        place = root / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    return root


class Daemon:
    """`neuronwatch daemon` as a child; a context manager that ends it."""

    def __init__(self, root: Path, state: Path, *more: str, env: dict[str, str] | None = None, wait: bool = True) -> None:
        self.state = state
        self.socket = state / "neuronwatch.sock"
        self.log_path = state.parent / f"{state.name}.log"
        self.log = self.log_path.open("ab")
        argv = [sys.executable, "-m", "neuronwatch", "daemon", "--host-root", str(root), "--state-dir", str(state), *more]
        self.process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stderr=self.log, env={**os.environ, **(env or {})})
        if wait:
            until(self.answers, f"an answer of the daemon; its log: {self.said()}")

    @property
    def pid(self) -> int:
        return self.process.pid

    def answers(self) -> bool:
        assert self.process.poll() is None, self.said()
        try:
            with Client(self.socket):
                return True
        except (NoDaemon, ApiError):
            return False

    def client(self) -> Client:
        return Client(self.socket, timeout=PATIENCE)

    def said(self) -> str:
        return self.log_path.read_text(errors="replace")

    def end(self) -> int:
        self.process.terminate()
        return self.process.wait(PATIENCE)

    def __enter__(self) -> Daemon:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(PATIENCE)
            if self.process.poll() is None:
                self.process.kill()
                self.process.wait()
        self.log.close()


def cli(*argv: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "neuronwatch", *argv], capture_output=True, text=True, timeout=60, env={**os.environ, **(env or {})}
    )
