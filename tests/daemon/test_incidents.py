"""An incident from its first line to its end, through the real daemon: told, acknowledged, exported, and never lost."""

from __future__ import annotations

import json
import os
import signal
import socket
import time

import pytest
from daemon_support import Daemon, cli, small_host, until

from neuronwatch.daemon.api import MAX_EVENT_BYTES, MAX_EVENTS, Peer

RULE = """
id = "site.{name}"
fault = "site.{name}"
title = "the {name} is broken"
stage = "site"
severity = "error"
cause = "because"
fix = ["mend it"]
[ends]
how = "fact"
when = ["driver.version == '9.9.9'"]
[[join]]
name = "version"
when = ["driver.version == '{version}'"]
[[sample]]
expect = "fires"
[sample.files]
"modinfo.txt" = "$ cat /sys/module/neuron/version\\n{version}\\n"
[[sample]]
expect = "silent"
text = "nothing"
"""
VERSION = "sys/module/neuron/version"


@pytest.fixture
def place(tmp_path):
    """A host, and a rule that fires on driver 1.1.1."""
    host, rules = small_host(tmp_path / "host"), tmp_path / "rules"
    rules.mkdir()
    (rules / "one.toml").write_text(RULE.format(name="thing", version="1.1.1"))
    (host / VERSION).write_text("1.1.1\n")
    return host, rules, tmp_path / "s"


def opened(client, state: str = "open"):
    return [item for item in client.call("incidents", state=[state])["incidents"] if item["fault"].startswith("site.")]


def test_an_incident_survives_a_kill_and_is_acknowledged(place):
    host, rules, state = place
    with Daemon(host, state, "--rules", str(rules)) as daemon, daemon.client() as client:
        incident = until(lambda: opened(client), "an incident")[0]
        assert incident["title"] == "the thing is broken" and incident["findings"][0]["fix"] == ["mend it"]
        done = cli("status", "--state-dir", str(state), "--format", "json")
        assert done.returncode == 2 and json.loads(done.stdout)["incidents"][0]["id"] == incident["id"]
        daemon.process.send_signal(signal.SIGKILL)
        daemon.process.wait()
    with Daemon(host, state, "--rules", str(rules)) as daemon, daemon.client() as client:
        assert [item["id"] for item in until(lambda: opened(client), "the incident again")] == [incident["id"]]
        done = cli("ack", incident["id"], "--state-dir", str(state))
        assert done.returncode == 0 and "acknowledged" in done.stdout
        assert [item["id"] for item in opened(client, "acknowledged")] == [incident["id"]]
        assert cli("ack", "nothing", "--state-dir", str(state)).returncode == 1
        assert incident["id"] in cli("incidents", "--state-dir", str(state)).stdout
        assert "mend it" in cli("incidents", "show", incident["id"], "--state-dir", str(state)).stdout
        target = state.parent / "case"
        done = cli("incidents", "export", incident["id"], "--as-test", str(target), "--state-dir", str(state))
        assert done.returncode == 0, done.stderr
        assert (target / "case.toml").exists() and any((target / "evidence").rglob("*"))


def test_a_damaged_memory_is_set_aside(place):
    host, rules, state = place
    state.mkdir(mode=0o700)
    (state / "judge.json").write_text("{ half")
    with Daemon(host, state, "--rules", str(rules)) as daemon, daemon.client() as client:
        until(lambda: opened(client), "an incident")
        assert list(state.glob("judge.json.damaged-*")) and "set aside" in daemon.said()


def test_a_reload_takes_good_rules_and_keeps_the_last_good_ones(place):
    host, rules, state = place
    with Daemon(host, state, "--rules", str(rules)) as daemon, daemon.client() as client:
        until(lambda: opened(client), "an incident")
        (rules / "two.toml").write_text("id = \n")
        daemon.process.send_signal(signal.SIGHUP)
        assert "two.toml:1" in until(lambda: client.call("rules")["last_reload"], "the reload is refused")
        assert [rule["id"] for rule in client.call("rules")["rules"]] == ["site.thing"]
        assert "two.toml" in cli("status", "--state-dir", str(state)).stdout
        (rules / "two.toml").write_text(RULE.format(name="other", version="1.1.1"))
        daemon.process.send_signal(signal.SIGHUP)
        until(lambda: len(client.call("rules")["rules"]) == 2, "the new rule")
        assert client.call("rules")["last_reload"] == ""
        (rules / "three.toml").write_text(RULE.format(name="third", version="1.1.1"))  # nobody says so: the file is noticed
        until(lambda: len(client.call("rules")["rules"]) == 3, "a rule that came by itself")
        (rules / "three.toml").unlink()
        until(lambda: len(client.call("rules")["rules"]) == 2, "a rule that went by itself")
        until(lambda: {c["key"] for c in client.call("conditions")["conditions"] if c["state"] == "true" and "site." in c["key"]}
              == {"site.thing", "site.other"}, "both, and no orphan")  # fmt: skip


def test_subscribers_hear_of_it(place):
    host, rules, state = place
    with Daemon(host, state, "--rules", str(rules)) as daemon, daemon.client() as client, daemon.client() as other:
        incident = until(lambda: opened(client), "an incident")[0]
        client.call("subscribe", topics=["incidents"])
        other.call("ack", id=incident["id"])
        event = until(lambda: client.event(1.0), "an event")
        assert event["event"] == "incidents" and event["dropped"] == 0 and event["data"]["what"] == "acknowledged"
        assert event["data"]["incident"]["id"] == incident["id"]


def test_a_slow_subscriber_is_told_what_it_missed():
    one, other = socket.socketpair()
    with one, other:
        peer = Peer(one, 0)
        for number in range(MAX_EVENTS + 44):
            peer.put("samples", b'{"event":"samples","data":%d}\n' % number)
        assert len(peer.events) == MAX_EVENTS and peer.next_output()
        assert json.loads(peer.output) == {"event": "samples", "data": 44, "dropped": 44}
        peer.output.clear()
        assert peer.next_output() and json.loads(peer.output) == {"event": "samples", "data": 45, "dropped": 0}
        peer.put("logs", b"x" * (2 * MAX_EVENT_BYTES))
        assert len(peer.events) == 1 and peer.dropped["samples"] == MAX_EVENTS - 2


def test_alerts_reach_a_program_once(place, tmp_path):
    host, rules, state = place
    got = tmp_path / "got"
    got.mkdir()
    script = tmp_path / "alert"
    script.write_text(
        f'#!/bin/sh\nset -C\ncat > "{got}/$NEURONWATCH_STATE-$$"\n[ -e {got}/failed ] || {{ : > {got}/failed; exit 3; }}\n'
    )
    script.chmod(0o700)
    config = tmp_path / "c.toml"
    config.write_text(
        f'[[alerts]]\nname = "x"\ncommand = ["{script}", "; touch {got}/shell"]\n[exporters.jsonl]\npath = "{tmp_path}/events.jsonl"\n'
    )
    config.chmod(0o600)
    arguments = ("--rules", str(rules), "--config", str(config))
    with Daemon(host, state, *arguments) as daemon:
        until(lambda: len(list(got.glob("open-*"))) == 2, "the second attempt")
        until(lambda: "alert sent" in daemon.said(), "it is sent")
        body = json.loads(next(got.glob("open-*")).read_text())
        assert body["incident"]["fault"] == "site.thing" and body["schema"] == "neuronwatch.alert/1"
        assert not (got / "shell").exists()
        kinds = {json.loads(line)["event"] for line in (tmp_path / "events.jsonl").read_text().splitlines()}
        assert kinds == {"incident", "source"}
        daemon.end()
    with Daemon(host, state, *arguments) as daemon, daemon.client() as client:
        until(lambda: opened(client), "the incident again")
        time.sleep(0.3)
        assert len(list(got.glob("open-*"))) == 2


def test_an_alert_that_hangs_is_ended_with_the_daemon(place, tmp_path):
    host, rules, state = place
    config = tmp_path / "c.toml"
    config.write_text('[[alerts]]\ncommand = ["/bin/sleep", "6543"]\ntimeout = 100\n')
    config.chmod(0o600)
    with Daemon(host, state, "--rules", str(rules), "--config", str(config)) as daemon:
        child = until(lambda: children(daemon.pid), "the child")[0]
        assert daemon.end() == 0
        until(lambda: not os.path.exists(f"/proc/{child}"), "the child is gone")
        assert not daemon.socket.exists()


def children(pid: int) -> list[int]:
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        return [int(word) for word in file.read().split()]


def test_a_recording_is_judged_as_it_was_live_and_as_evidence(place, tmp_path):
    host, rules, state = place
    with Daemon(host, state, "--rules", str(rules)) as daemon, daemon.client() as client:
        until(lambda: opened(client), "an incident")
        capture = tmp_path / "capture"
        done = cli("record", "--out", str(capture), "--seconds", "0.2", "--state-dir", str(state))
        assert done.returncode == 0, done.stderr
        live = [item["finding"]["fault"] for item in client.call("conditions")["conditions"] if item["finding"]["role"] == "cause"]
    replayed = cli("replay", str(capture), "--rules", str(rules), "--format", "json")
    lines = [json.loads(line) for line in replayed.stdout.splitlines()]
    assert lines[0]["what"] == "opened" and lines[-1]["faults"] == ["site.thing"] and replayed.returncode == 2
    offline = json.loads(cli("diagnose", str(capture), "--rules", str(rules), "--format", "json").stdout)
    assert [item["fault"] for item in offline["findings"] if item["role"] == "cause"] == ["site.thing"] == live
    assert cli("replay", str(capture), "--at", "1", "--rules", str(rules)).returncode == 3
    assert cli("replay", str(tmp_path)).returncode == 64
