"""What an operator can do about a source that is not fresh, by its name and state; said behind the reason. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from neuronwatch.model.live import SourceState

RIGHTS = "let the daemon's user read it (`neuronwatch service print` names the rights that a unit needs)"
_DENIED = ("permission denied", "not executable by this user", "operation not permitted", "cannot be read by this user")
_NO_MEND = ("not needed", "not executed", "this machine has no Neuron device", "a defect of neuronwatch")
"""Beginnings of reasons about which there is nothing to do, or nothing by hand."""
_BY_HAND = "see what `{0}` says by hand"
_HANGS = "see whether `{0}` answers by hand, and what the driver says: `dmesg | grep -i neuron`"
_ADVICE: Mapping[str, Mapping[SourceState, str]] = {
    "sysfs": {
        "missing": "load the driver: `sudo modprobe neuron`, then `lsmod | grep neuron` and `dmesg | grep -i neuron`",
        "stale": "the driver does not answer: `dmesg | grep -i neuron`; stop the jobs and load it anew, else reboot",
        "failed": "look at such a file with `cat`, and for a driver that was just replaced with `modinfo neuron`",
    },
    "neuron-monitor": {
        "missing": "install aws-neuronx-tools",
        "stale": _HANGS.format("neuron-monitor"),
        "failed": _BY_HAND.format("neuron-monitor"),
    },
    "neuron-top": {
        "missing": "install aws-neuronx-tools",
        "stale": _HANGS.format("neuron-top"),
        "failed": _BY_HAND.format("neuron-top"),
    },
    "neuron-ls": {
        "missing": "install aws-neuronx-tools",
        "stale": _HANGS.format("neuron-ls -j"),
        "failed": _BY_HAND.format("neuron-ls -j"),
    },
    "kernel-log": {
        "missing": "make one of them readable: group adm or systemd-journal, or CAP_SYSLOG (`neuronwatch service install` does)",
        "failed": "see what `dmesg` and `journalctl -k` say by hand",
    },
    "runtime-log": {
        "missing": "name the logs of your jobs under `[logs] globs` in the configuration (`neuronwatch config where`)",
        "failed": "let the jobs write regular files, or name others under `[logs] globs` in the configuration",
    },
    "processes": {
        "missing": "mount /proc",
        "stale": "a process in state D can hold up whoever reads of it: `ps -eo pid,stat,wchan,cmd | grep ' D'`",
        "failed": "see whether /proc is that of this host: `mount | grep proc`",
    },
    "compile-cache": {
        "missing": "none is needed before the first compile; one elsewhere is told by NEURON_COMPILE_CACHE_URL",
        "stale": "does its file system answer: `ls` it by hand, `mount`",
        "failed": "look at it with `ls -la`, and move what is no entry aside",
    },
}


def of(source: str, state: SourceState, reason: str) -> str:
    """What to do, "" where nothing is to be done."""
    lower = reason.lower()
    if state in ("fresh", "starting") or any(word in reason for word in _NO_MEND):
        return ""
    if state in ("missing", "failed") and any(word in lower for word in _DENIED):
        return _ADVICE["kernel-log"]["missing"] if source == "kernel-log" else RIGHTS
    return _ADVICE.get(source, {}).get(state, "")
