# What all programs of the simulated host use: where it is, what it publishes, and how its tools fail.
from __future__ import annotations

import json
import os
import signal
import sys
import time
from typing import Any, NoReturn

STATE = ".drill/state.json"
NO_DRIVER = 'level=error msg="failed to get neuron devices" error="no neuron device found"'


def root() -> str:
    """The directory of the host that this program lies in."""
    here = os.path.dirname(os.path.realpath(__file__))
    while here != os.sep and not os.path.exists(os.path.join(here, STATE)):
        here = os.path.dirname(here)
    return here


def read_state() -> dict[str, Any] | None:
    """What the host published last; None when there is no host."""
    try:
        with open(os.path.join(root(), STATE), "rb") as file:
            state: dict[str, Any] = json.load(file)
    except (OSError, ValueError):
        return None
    return state


def read_file(name: str) -> str:
    try:
        with open(os.path.join(root(), name), encoding="utf-8") as file:
            return file.read()
    except OSError:
        return ""


def outage(state: dict[str, Any] | None, source: str) -> str:
    """What is wrong with this program now: "", or killed, hung, slow, garbled, absent."""
    return str(state["outages"].get(source, "")) if state else ""


def suffer(source: str) -> dict[str, Any] | None:
    """The state, after what the outage does to a program that starts: it dies, waits, or takes its time."""
    state = read_state()
    how = outage(state, source)
    if how == "killed":
        die()
    while how == "hung":
        time.sleep(0.2)
        state = read_state()
        how = outage(state, source)
    if how == "slow" and state:
        time.sleep(8.0 / state["rate"])
        state = read_state()
    return state


def die() -> None:
    sys.stdout.flush()
    os.kill(os.getpid(), signal.SIGKILL)


def garble(text: str) -> bytes:
    """Half of the text, then bytes that are none."""
    data = text.encode()
    return data[: len(data) * 3 // 5] + b"\xff\xfe\x00\x81\n"


def alive(state: dict[str, Any]) -> bool:
    """Whether the host still runs: its tools end with it."""
    try:
        os.kill(state["pid"], 0)
    except OSError:
        return False
    return True


def numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdigit())


def put(data: str | bytes) -> None:
    """Writes to stdout; a reader that went away ends the program quietly."""
    try:
        sys.stdout.buffer.write(data if isinstance(data, bytes) else data.encode())
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sys.exit(141)


def unknown_flag(flag: str) -> NoReturn:
    """As go-flags says it; on stdout, with exit status 1."""
    put(f"unknown flag `{flag.lstrip('-')}'\n")
    sys.exit(1)


def logical(state: dict[str, Any]) -> int:
    """Physical cores of a logical one: what the environment says, else what the host is set to."""
    wanted = os.environ.get("NEURON_LOGICAL_NC_CONFIG", "")
    return int(wanted) if wanted in ("1", "2") and state["instance"]["generation"] >= 3 else int(state["lnc"])
