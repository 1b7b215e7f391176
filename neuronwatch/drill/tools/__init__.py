"""The host's own programs. Each is one script: `shared.py`, then the program's file, behind the shebang of this interpreter.

They import nothing of neuronwatch (so they start fast, and share no code with what reads them) and know only what the host
publishes below `.drill`.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from neuronwatch.drill.files import Files

PROGRAMS = {
    "neuron-ls": ("/opt/aws/neuron/bin/neuron-ls", "neuron_ls"),
    "neuron-monitor": ("/opt/aws/neuron/bin/neuron-monitor", "neuron_monitor"),
    "neuron-top": ("/opt/aws/neuron/bin/neuron-top", "neuron_top"),
    "dmesg": ("/usr/bin/dmesg", "dmesg"),
    "rmmod": ("/usr/sbin/rmmod", "operator"),
    "modprobe": ("/usr/sbin/modprobe", "operator"),
    "systemctl": ("/usr/bin/systemctl", "operator"),
    "kubectl": ("/usr/local/bin/kubectl", "operator"),
    "journalctl": ("/usr/bin/journalctl", "journalctl"),
}
"""Program to its path on the host and the module with its text."""


def install(files: Files, family: str = "") -> None:
    """All programs of that family of instances, executable. The journal is asked on Inf1 alone, for the old daemon."""
    for name, (path, module) in PROGRAMS.items():
        if name == "journalctl" and family != "inf1":
            continue
        files.put(path, script(module), 0o755)


def script(module: str) -> str:
    here = Path(__file__).parent
    texts = [(here / f"{name}.py").read_text(encoding="utf-8") for name in ("shared", module)]
    own = r"(?m)^from (?:__future__|neuronwatch\.drill\.tools\.shared) import (?:\([^)]*\)|.*)\n"
    body = "\n".join(re.sub(own, "", text) for text in texts)
    return f"#!{sys.executable} -SE\nfrom __future__ import annotations\n{body}"
