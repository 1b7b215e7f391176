"""neuron-top on a pseudo-terminal: its screen as readings, and a tool that ends, hangs, draws rubbish, or is not needed."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from source_support import until
from tool_support import tool

from neuronwatch.model.live import Delivery
from neuronwatch.source.host import HostRoot
from neuronwatch.source.live.api import Absent, Broken, Now
from neuronwatch.source.live.neuron_top import NeuronTop

DRAW = """
import os, sys, time
if not (os.isatty(0) and os.isatty(1)):
    sys.exit("Error opening terminal: unknown.")
open(HERE + ".pid", "w").write(str(os.getpid()))
open(HERE + ".size", "w").write(str(os.get_terminal_size(1)))
while True:
    step = open(HERE + ".step").read()
    if step == "exit":
        sys.stderr.write("neuron-top: no Neuron device found\\n")
        sys.exit(1)
    if step == "draw":
        bar = "|" * 20
        rows = ["neuron-top 2.20.1.0 running on i-0123456789abcdef0 (trn1.2xlarge)", "NeuronCore v2 Utilization (Avg: 40.00%)",
                "          NC0                             NC1", "ND0   " + bar + "[ 62.50%]    " + bar + "[  0.00%]"]
        sys.stdout.write("\\x1b[2J\\x1b[H" + "\\r\\n".join("\\x1b[32m" + row + "\\x1b[0m\\x1b[K" for row in rows))
    elif step == "rubbish":
        sys.stdout.buffer.write(b"\\x1b[2J\\x1b[H\\xff\\xfe\\x00\\x81 what\\x1b[9999;9999H\\x1b]0;title\\x07")
    sys.stdout.flush()
    time.sleep(0.02)
"""


class Top:
    def __init__(self, host: Path) -> None:
        self.path = tool(host, "neuron-top", DRAW)
        self.ahead = 0.0
        self.source = NeuronTop(HostRoot(host, allow_exec=True), lambda: time.monotonic() + self.ahead)
        self.does("draw")

    def does(self, step: str) -> None:
        new = self.path.with_suffix(".new")
        new.write_text(step)
        new.rename(f"{self.path}.step")

    def poll(self) -> Delivery | None:
        return self.source.poll(Now(time.time(), time.monotonic()))

    def got(self) -> Delivery:
        found: list[Delivery] = []

        def look() -> bool:
            delivery = self.poll()
            found.extend([delivery] if delivery else [])
            return bool(found)

        until(look)
        return found[0]

    def pid(self) -> int:
        until(lambda: Path(f"{self.path}.pid").exists() and Path(f"{self.path}.pid").read_text())
        return int(Path(f"{self.path}.pid").read_text())


@pytest.fixture
def top(tmp_path: Path) -> Iterator[Top]:
    found = Top(tmp_path)
    yield found
    found.source.close()


def raised(action: Callable[[], object], kind: type[Exception]) -> str:
    found: list[Exception] = []

    def look() -> bool:
        try:
            action()
        except kind as error:
            found.append(error)
        return bool(found)

    until(look)
    return str(found[0])


def test_the_screen_as_readings(top: Top) -> None:
    delivery = top.got()
    found = {(item.metric, item.entity): item.value for item in delivery.readings}
    assert found == {("core.utilization", "nd0:nc0"): 62.5, ("core.utilization", "nd0:nc1"): 0.0}
    assert not delivery.wholes
    assert "columns=160, lines=60" in Path(f"{top.path}.size").read_text()


def test_not_needed_where_neuron_monitor_is(tmp_path: Path, top: Top) -> None:
    top.got()
    pid = top.pid()
    tool(tmp_path, "neuron-monitor", "")
    with pytest.raises(Absent, match="not needed: neuron-monitor is installed"):
        top.poll()
    until(lambda: not os.path.exists(f"/proc/{pid}"))
    (tmp_path / "opt/aws/neuron/bin/neuron-monitor").unlink()
    assert top.got().readings


def test_absent(tmp_path: Path) -> None:
    with pytest.raises(Absent, match="neuron-top: not installed"):
        NeuronTop(HostRoot(tmp_path, allow_exec=True)).poll(Now(0.0, 0.0))


def test_one_that_ends_says_its_words_and_is_started_again(top: Top) -> None:
    top.does("exit")
    assert raised(top.poll, Broken) == "neuron-top ended with status 1: neuron-top: no Neuron device found"
    top.does("draw")
    assert top.got().readings


def test_killed(top: Top) -> None:
    top.got()
    os.kill(top.pid(), 9)
    assert raised(top.poll, Broken) == "neuron-top was killed by signal 9"
    assert top.got().readings


def test_hung(top: Top) -> None:
    top.got()
    pid = top.pid()
    top.does("nothing")

    def nothing_more() -> bool:
        return top.poll() is None

    until(nothing_more)
    top.ahead += 20.0
    assert raised(top.poll, Broken) == "neuron-top drew nothing for 15 s and is started anew"
    until(lambda: not os.path.exists(f"/proc/{pid}"))


def test_rubbish(top: Top) -> None:
    top.does("rubbish")
    top.poll()
    top.ahead += 6.0
    assert raised(top.poll, Broken) == "there is no core on the screen of neuron-top"
    top.does("draw")

    def drawn() -> bool:
        with contextlib.suppress(Broken):  # what it drew before may come first
            delivery = top.poll()
            return delivery is not None and bool(delivery.readings)
        return False

    until(drawn)
