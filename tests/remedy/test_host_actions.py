"""Actions on the host, on a simulated one: disabled as shipped, they ask always, and they do what they say."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from remedy_support import case, finding

from neuronwatch.drill import control
from neuronwatch.remedy import actions, policy_file
from neuronwatch.remedy.actions import device_reset, drain, driver_reload, reboot
from neuronwatch.remedy.api import Case, Proposal, Refusal, RemedyError, Survey
from neuronwatch.remedy.decide import decide
from neuronwatch.remedy.policy import Policy, Rule, shipped
from neuronwatch.remedy.state import State

HOST = [action for action in actions.ACTIONS if action.kind == "host"]


def test_they_are_disabled_whatever_mode_is_asked_for() -> None:
    assert {action.name for action in HOST} == {"driver-reload", "device-reset", "reboot", "drain"}
    for mode in ("observe", "ask", "act"):
        for action in HOST:
            assert shipped(mode).mode_of(action, action.faults[0]) == "observe"
            assert Policy(mode, {action.name: Rule("act")}).mode_of(action, action.faults[0]) == "observe"


def test_an_enabled_one_asks_and_never_acts(tmp_path: Path) -> None:
    file = tmp_path / "host.toml"
    file.write_text('mode = "act"\n[host]\nenable = ["driver-reload"]\n')
    file.chmod(0o644)
    policy, _ = policy_file.load("act", [tmp_path])
    broken = case("python t.py", "hw.hbm-repairable-error")
    decision, _ = decide(broken, State(), policy, 1.0)
    assert (decision.kind, decision.action) == ("propose", "driver-reload")
    assert "modprobe" in decision.proposal.words if decision.proposal else False
    reported, _ = decide(broken, State(), shipped("act"), 1.0)
    assert reported.action == "restart" and "not driver-reload: it touches the host" in reported.why
    file.write_text('[actions.reboot]\nmode = "act"\n')
    with pytest.raises(Exception, match="always asks"):
        policy_file.load("act", [tmp_path])


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Callable[[str], Path]]:
    """Starts a simulated host as a process of its own."""
    started: list[subprocess.Popen[bytes]] = []

    def start(load: str) -> Path:
        root = tmp_path / f"host-{load}"
        command = [
            sys.executable,
            "-m",
            "neuronwatch",
            "drill",
            "host",
            "--dir",
            str(root),
            "--instance",
            "trn1.2xlarge",
            "--rate",
            "60",
            "--load",
            load,
        ]
        started.append(subprocess.Popen(command, stderr=subprocess.DEVNULL))
        until(lambda: (root / ".neuronwatch-drill-host").exists())
        until(lambda: answers(root))
        return root

    yield start
    for process in started:
        process.terminate()
        process.wait(30)


def answers(root: Path) -> bool:
    try:
        return "time" in control.ask(root, {"do": "state"})
    except control.NoHost:
        return False


def until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not true():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.05)


def on(root: Path, **more: object) -> Case:
    return case("python t.py", **{"survey": Survey(host_root=str(root)), **more})  # type: ignore[arg-type]


def test_the_driver_is_reloaded_and_not_under_a_job(host: Callable[[str], Path]) -> None:
    idle = host("idle")
    answer = driver_reload.propose(on(idle), None)
    assert isinstance(answer, Proposal)
    log = idle / "var/log/kern.log"
    assert driver_reload.apply(answer.hand) == {"did": "the driver was reloaded"}
    assert (idle / "sys/module/neuron/version").exists() or log.exists()
    busy = host("train")
    until(lambda: any((busy / "proc").glob("[0-9]*/fd")))
    answer = driver_reload.propose(on(busy), None)
    assert isinstance(answer, Proposal)

    def refused() -> bool:
        try:
            driver_reload.apply(answer.hand)
        except RemedyError as error:
            assert "rmmod neuron" in str(error) and "in use" in str(error)
            return True
        return False

    until(refused)


def test_a_device_is_reset_and_a_node_drained_and_back(host: Callable[[str], Path]) -> None:
    root = host("idle")
    answer = device_reset.propose(on(root), finding("runtime.dma-abort", entities=("nd0:nc1",)))
    assert isinstance(answer, Proposal) and answer.hand["devices"] == (0,)
    assert device_reset.apply(answer.hand) == {"did": "reset asked for: nd0"}
    until(lambda: "nd0: reset request 1 completed" in told(root))
    away = drain.propose(on(root, environ={"NODE_NAME": "ip-10-0-0-1.ec2.internal"}), finding("hw.device-missing"))
    assert isinstance(away, Proposal) and not away.restart
    record = drain.apply(away.hand)
    assert drain.undo(json.loads(json.dumps(record))) == "node ip-10-0-0-1.ec2.internal takes jobs again"
    rebooted = reboot.propose(on(root), None)
    assert isinstance(rebooted, Proposal) and reboot.apply(rebooted.hand) == {"did": "the host reboots"}


def told(root: Path) -> str:
    """What the kernel said, by the host's own program."""
    return subprocess.run([str(root / "usr/bin/dmesg")], capture_output=True, text=True, timeout=60).stdout


@pytest.mark.parametrize("action", HOST, ids=lambda item: str(item.name))
def test_nothing_is_done_where_no_host_lives(tmp_path: Path, action: object) -> None:
    hand = {"host_root": str(tmp_path), "devices": (0,), "node": "n"}
    with pytest.raises(RemedyError, match="no live host"):
        action.apply(hand)  # type: ignore[attr-defined]


def test_hostile_names_are_refused() -> None:
    for name in ("-v", "a b", "$(x)", "", "../x", "a;b"):
        assert isinstance(drain.propose(on(Path("/x"), environ={"NODE_NAME": name}), None), Refusal)
    assert isinstance(device_reset.propose(on(Path("/x")), finding("runtime.dma-abort", entities=("rank3",))), Refusal)
