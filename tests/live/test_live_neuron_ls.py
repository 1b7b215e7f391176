"""neuron-ls, live: told when it changed, the table of an old tool, errors as evidence, a tool that hangs or prints garbage."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from host.host_support import as_other_user
from source_support import RealClock, turned_until, until
from tool_support import tool
from tree_support import Polled, whole

from neuronwatch.source.host import HostRoot, VirtualFile, tools
from neuronwatch.source.live.api import Absent, Broken
from neuronwatch.source.live.holders import Holders
from neuronwatch.source.live.layout import Layout
from neuronwatch.source.live.neuron_ls import NeuronLs
from neuronwatch.source.live.runner import Runner

DEVICES = [{"neuron_device": 0, "bdf": "00:1e.0", "connected_to": None, "nc_count": 4, "memory_size": 1, "neuron_processes": []}]
PRINT = """
import sys, time
open(HERE + ".asked", "a").write(" ".join(sys.argv[1:]) + "\\n")
sys.stdout.write(open(HERE + ".out").read())
sys.stderr.write(open(HERE + ".err").read())
time.sleep(float(open(HERE + ".sleep").read()))
sys.exit(int(open(HERE + ".status").read()))
"""


class Ls:
    def __init__(self, host: Path) -> None:
        self.path = tool(host, "neuron-ls", PRINT)
        self.says(json.dumps(DEVICES))

    def says(self, out: str, err: str = "", status: int = 0, sleep: float = 0.0) -> None:
        for name, text in (("out", out), ("err", err), ("status", str(status)), ("sleep", str(sleep))):
            Path(f"{self.path}.{name}").write_text(text)

    def asked(self) -> int:
        path = Path(f"{self.path}.asked")
        return len(path.read_text().splitlines()) if path.exists() else 0


def polled(host: Path, layout: Layout | None = None) -> Polled:
    return Polled(NeuronLs(HostRoot(host, allow_exec=True), layout or Layout({}), Holders()))


def test_told_as_diagnose_reads_it_and_only_when_it_changed(tmp_path: Path) -> None:
    ls = Ls(tmp_path)
    poll = polled(tmp_path)
    first = poll()
    offline = [item for item in tools.collect(HostRoot(tmp_path, allow_exec=True)) if isinstance(item, VirtualFile)]
    assert [(item.path, item.data) for item in first.wholes] == [(item.path, item.data) for item in offline]
    assert not poll(30.0).wholes
    ls.says(json.dumps([{**DEVICES[0], "neuron_processes": [{"pid": 5, "command": "x"}]}]))
    assert whole(poll(30.0), "host:neuron-ls -j") is not None


def test_the_configuration_of_logical_cores_is_learnt(tmp_path: Path) -> None:
    layout = Layout({})
    Ls(tmp_path).says(json.dumps([{**DEVICES[0], "logical_neuroncore_config": 2}]))
    polled(tmp_path, layout)()
    assert layout.config == 2


def test_an_old_tool_without_json_gives_its_table(tmp_path: Path) -> None:
    tool(tmp_path, "neuron-ls", """
import sys
if "-j" in sys.argv:
    print("unknown flag `j'")
    sys.exit(1)
print("+--------+--------+")
""")  # fmt: skip
    delivery = polled(tmp_path)()
    assert [(item.path, item.data) for item in delivery.wholes] == [("host:neuron-ls", b"+--------+--------+\n")]


def test_the_words_of_a_tool_that_fails_are_evidence(tmp_path: Path) -> None:
    Ls(tmp_path).says("", 'level=error msg="no neuron device found"\n', 1)
    with pytest.raises(Broken, match='neuron-ls ended with status 1: level=error msg="no neuron device found"') as error:
        polled(tmp_path)()
    assert error.value.delivery is not None
    text = whole(error.value.delivery, "host:neuron-ls -j")
    assert text is not None
    assert text.data == b'level=error msg="no neuron device found"\n'


def test_garbage_does_not_take_the_place_of_what_is_known(tmp_path: Path) -> None:
    ls = Ls(tmp_path)
    poll = polled(tmp_path)
    poll()
    ls.says('[{"neuron_dev\ufffd')
    with pytest.raises(Broken, match="the output of neuron-ls is no list of devices") as error:
        poll(30.0)
    assert error.value.delivery is None
    ls.says(json.dumps(DEVICES))
    assert not poll(30.0).wholes


def test_absent_and_hung(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    poll = polled(tmp_path)
    with pytest.raises(Absent, match="neuron-ls: not installed"):
        poll()
    ls = Ls(tmp_path)
    assert poll().wholes
    monkeypatch.setattr(tools, "TIMEOUT", 0.3)
    ls.says("[]", sleep=30.0)
    with pytest.raises(Broken, match=r"neuron-ls: no (answer|end) within 0.3 s") as error:
        poll()
    told = error.value.delivery
    assert told is not None
    assert [fact.name for fact in told.facts or ()] == ["source.unavailable"]
    ls.says(json.dumps(DEVICES))
    assert [(list(told.facts or ()), list(told.reports or ())) for told in [poll()]] == [([], [])]


def test_asked_at_once_when_the_holders_change(tmp_path: Path) -> None:
    ls, holders, taken = Ls(tmp_path), Holders(), []
    runner = Runner([NeuronLs(HostRoot(tmp_path, allow_exec=True), Layout({}), holders)], RealClock(), taken.append)
    turned_until(runner, RealClock(), lambda: taken)
    before = ls.asked()
    holders.are(frozenset((1, 2)))
    turned_until(runner, RealClock(), lambda: len(taken) == 2)
    assert ls.asked() == before + 1
    holders.are(frozenset((1, 2)))
    runner.turn(RealClock().now())
    assert ls.asked() == before + 1
    runner.close()
    until(lambda: holders.changed._read == -1)


def test_a_tool_that_another_user_may_not_run(tmp_path: Path) -> None:
    Ls(tmp_path).path.chmod(0o700)
    for path in (tmp_path, *tmp_path.parents):
        if path != Path("/"):
            path.chmod(path.stat().st_mode | 0o011)

    def look() -> None:
        with pytest.raises(Absent, match="neuron-ls: not executable by this user"):
            polled(tmp_path)()

    as_other_user(look)


def test_two_queries_take_turns(tmp_path: Path) -> None:
    import threading

    tool(tmp_path, "neuron-ls", """
import os, sys, time
try:
    os.close(os.open(HERE + ".running", os.O_CREAT | os.O_EXCL))
except FileExistsError:
    sys.exit(9)
time.sleep(0.1)
os.unlink(HERE + ".running")
print("[]")
""")  # fmt: skip
    answers = []
    root = HostRoot(tmp_path, allow_exec=True)
    threads = [threading.Thread(target=lambda: answers.append(tools.ask(root)[1].status)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [0, 0, 0]
    assert os.path.exists(root.path)
