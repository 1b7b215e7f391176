"""`neuronwatch status` shows the words and figures of the dashboard."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import jsonschema
import pytest
from tui import hosts, pictures
from tui.fake_daemon import FakeDaemon
from tui.test_overview import shown

from neuronwatch.cli import schema
from neuronwatch.cli.report import status_text
from neuronwatch.cli.status import shown as document_of
from neuronwatch.tui.view import summary
from neuronwatch.tui.view.picture import Picture


@pytest.mark.parametrize("case", ["healthy", "faulty", "blind"])
def test_text_json_and_page_say_the_same(case: str) -> None:
    picture = hosts.CASES[case]()
    document = document_of(picture)
    jsonschema.validate(json.loads(json.dumps(document)), schema.status())
    text, page = status_text.render(picture, document, "text"), shown(picture, 200, 60)
    assert document["verdict"] == picture.verdict and picture.verdict.upper() in text.split("\n")[0]
    cores = document["overview"]["cores"]
    for name in ("busy", "faulty", "stale", "free"):
        if cores[name]:
            assert f"{cores[name]} {name}" in text and f"{cores[name]} {name}" in page
    for job in document["overview"]["jobs"]:
        assert job["name"] in text and job["name"] in page
    load = document["overview"]["host"]["load"]
    assert f"{load['value']:.1f}" in text and f"{load['value']:.1f}" in page
    assert (load["trust"] == "stale") == (f"{load['value']:.1f}~" in text) == (case == "blind")
    assert status_text.render(picture, document, "markdown").startswith(f"# Status: {picture.verdict}\n")


def test_old_news_are_believed_no_more_than_on_the_screen() -> None:
    picture = pictures.picture()
    picture.apply("time", pictures.NOW + 120)
    document = document_of(picture)
    assert document["verdict"] == picture.verdict == "unknown"
    assert {item["state"] for item in document["sources"]} == {"stale"}
    assert "status is 120 s old" in status_text.render(picture, document, "text").split("\n")[0]


def test_nothing_is_known_without_a_daemon() -> None:
    assert document_of(Picture())["daemon"] is None and "overview" not in document_of(Picture())


def test_a_core_is_counted_once_and_in_one_state() -> None:
    found = summary.plain(hosts.faulty())["cores"]
    assert found["total"] == sum(found[name] for name in ("busy", "idle", "free", "faulty", "stale", "unknown")) == 128
    assert found["hottest"]["utilization"] >= found["mean"] >= found["idlest"]["utilization"]


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_the_command_and_one_frame_of_top_agree(encoding: str) -> None:
    with tempfile.TemporaryDirectory(prefix="nw", dir="/tmp") as name, FakeDaemon(Path(name) / "s") as daemon:

        def run(*argv: str) -> str:
            done = subprocess.run([sys.executable, "-m", "neuronwatch", *argv, "--socket", str(daemon.path)], capture_output=True,
                                  timeout=60, env={**os.environ, "PYTHONIOENCODING": encoding})  # fmt: skip
            assert done.returncode == 0, done.stderr
            return done.stdout.decode(encoding)

        text = run("status")
        assert "HEALTHY" in text and "8 busy" in text
        told = json.loads(run("status", "--format", "json")), json.loads(run("top", "--once", "--format", "json"))
        for document in told:
            jsonschema.validate(document, schema.status())
        assert told[0]["overview"]["cores"]["busy"] == told[1]["overview"]["cores"]["busy"] == 8


def test_a_daemon_that_tells_odd_things_is_unknown() -> None:
    with tempfile.TemporaryDirectory(prefix="nw", dir="/tmp") as name, FakeDaemon(Path(name) / "s") as daemon:
        daemon.answers["snapshot"] = {"metrics": 7}
        daemon.answers["status"] = {"nothing": "that is a status"}
        done = subprocess.run([sys.executable, "-m", "neuronwatch", "status", "--socket", str(daemon.path)], capture_output=True,
                              text=True, timeout=60)  # fmt: skip
        assert done.returncode != 0 and "UNKNOWN" in done.stdout and "Traceback" not in done.stderr
