"""Kills at random moments, and clocks that jump: incidents stay, nobody is told twice, nothing false comes up."""

from __future__ import annotations

import random
import signal
import sys
import time

import pytest
from daemon_support import Daemon, small_host, until
from test_incidents import RULE, VERSION

KILLS = 6


@pytest.fixture
def place(tmp_path):
    """A broken host, a rule that says so, and an alert that counts its calls."""
    host, rules, got = small_host(tmp_path / "host"), tmp_path / "rules", tmp_path / "got"
    rules.mkdir()
    got.mkdir()
    (rules / "one.toml").write_text(RULE.format(name="thing", version="1.1.1"))
    (host / VERSION).write_text("1.1.1\n")
    script = tmp_path / "alert"
    script.write_text(f'#!/bin/sh\ncat > /dev/null\n: > "{got}/$NEURONWATCH_INCIDENT-$NEURONWATCH_STATE-$$"\n')
    script.chmod(0o700)
    config = tmp_path / "c.toml"
    config.write_text(f'[sources.driver]\ninterval = 0.5\n[[alerts]]\ncommand = ["{script}"]\nfaults = ["site.thing"]\n')
    config.chmod(0o600)
    return host, ("--rules", str(rules), "--config", str(config)), tmp_path / "s"


def incidents(daemon):
    with daemon.client() as client:
        return [item for item in client.call("incidents")["incidents"] if item["fault"] == "site.thing"]


def test_kills_at_random_moments(place, tmp_path):
    host, arguments, state = place
    chance = random.Random(4711)
    with Daemon(host, state, *arguments) as daemon:
        (first,) = until(lambda: incidents(daemon), "an incident")
        until(lambda: "alert sent" in daemon.said(), "the alert")
        daemon.process.kill()
        daemon.process.wait()
    for _ in range(KILLS):
        with Daemon(host, state, *arguments, wait=False) as daemon:
            time.sleep(chance.uniform(0.0, 1.5))  # from the first import to the first judgements
            assert daemon.process.poll() is None, daemon.said()
            daemon.process.kill()
            daemon.process.wait()
    with Daemon(host, state, *arguments) as daemon:
        assert [item["id"] for item in until(lambda: incidents(daemon), "the incident")] == [first["id"]]
        assert incidents(daemon)[0]["opened"] == first["opened"]
        with daemon.client() as client:
            until(lambda: client.call("status")["verdict"] == "fault", "a judgement")
            assert client.call("status")["daemon"]["journal"]["state"] == "ok"
        assert daemon.end() == 0
    assert not list(state.glob("*damaged*")) and "damaged" not in daemon.said()
    assert [path.name.rpartition("-")[0] for path in (tmp_path / "got").iterdir()] == [f"{first['id']}-open"]


SHIFTED = """
import sys, time
real = time.time
def shifted():
    try:
        with open({file!r}) as file:
            return real() + float(file.read() or 0)
    except (OSError, ValueError):
        return real()
time.time = shifted
from neuronwatch.cli.main import main
sys.exit(main({argv!r}))
"""


@pytest.mark.parametrize("jump", [86400.0, -86400.0])
def test_a_clock_that_jumps_by_a_day(place, tmp_path, jump):
    """Everything in the daemon that asks for the wall time gets another day."""
    host, arguments, state = place
    offset = tmp_path / "offset"
    offset.write_text("0")

    class Shifted(Daemon):
        def __init__(self):
            import subprocess

            argv = ["daemon", "--host-root", str(host), "--state-dir", str(state), *arguments]
            self.state, self.socket, self.log_path = state, state / "neuronwatch.sock", state.parent / "s.log"
            self.log = self.log_path.open("ab")
            script = SHIFTED.format(file=str(offset), argv=argv)
            self.process = subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.DEVNULL, stderr=self.log)
            until(self.answers, "an answer")

    with Shifted() as daemon, daemon.client() as client:
        (first,) = until(lambda: incidents(daemon), "an incident")
        states = {item["name"]: item["state"] for item in client.call("sources")["sources"]}
        before = client.call("status")["time"]
        offset.write_text(str(jump))
        until(lambda: abs(client.call("status")["time"] - before - jump) < 600, "the new time")
        turned = time.monotonic()
        until(lambda: time.monotonic() - turned > 3, "some turns")  # at the new time
        assert {item["name"]: item["state"] for item in client.call("sources")["sources"]} == states
        (now,) = incidents(daemon)
        assert (now["id"], now["state"], now["opened"]) == (first["id"], "open", first["opened"])
        assert {item["fault"] for item in client.call("incidents")["incidents"]} == {"site.thing"}
        daemon.process.send_signal(signal.SIGKILL)
        daemon.process.wait()
    with Shifted() as daemon:
        assert [item["id"] for item in until(lambda: incidents(daemon), "the incident")] == [first["id"]]
        offset.write_text("0")
        until(lambda: [item["id"] for item in incidents(daemon)] == [first["id"]], "the incident")
        assert "defect" not in daemon.said()
