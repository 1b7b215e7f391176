# dmesg: the ring of the kernel. Follows with -w; -T shows dates.
from __future__ import annotations

import re
import sys
import time

from neuronwatch.drill.tools.shared import alive, die, garble, outage, put, read_file, read_state, suffer

RING = ".drill/dmesg"


def dated(text: str, boot: float) -> str:
    def one(found: re.Match[str]) -> str:
        return time.strftime("[%a %b %e %H:%M:%S %Y] ", time.gmtime(boot + float(found.group(1))))

    return re.sub(r"(?m)^\[ *(\d+\.\d+)\] ", one, text)


def main() -> int:
    state = suffer("kernel-log")
    arguments = set(sys.argv[1:])
    if state is None:
        sys.stderr.write("dmesg: read kernel buffer failed: No such file or directory\n")
        return 1
    shown = 0
    while True:
        how = outage(state, "kernel-log")
        if how == "killed":
            die()
        if how in ("absent", "denied"):
            sys.stderr.write("dmesg: read kernel buffer failed: Operation not permitted\n")
            return 1
        text = read_file(RING)
        if how == "hung":
            text = text[:shown]
        elif how == "garbled":
            put(garble(text[shown:]))
        else:
            put(dated(text[shown:], float(state["boot"])) if "-T" in arguments else text[shown:])
        if not arguments & {"-w", "--follow"}:
            return 0
        shown = len(text)
        time.sleep(0.2)
        state = read_state()
        if state is None or not alive(state):
            return 0


if __name__ == "__main__":
    sys.exit(main())
