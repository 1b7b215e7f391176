"""A recording is evidence and can be played again."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from store_support import T0, readings

from neuronwatch.model.diagnosis import SourceReport
from neuronwatch.model.live import Appended, Delivery, Reading, Whole
from neuronwatch.model.records import Fact, Origin
from neuronwatch.store import timeline
from neuronwatch.store.capture import Recorder, RecorderLimits
from neuronwatch.store.errors import StoreError
from neuronwatch.store.recording import Recording

TEXT = st.text(max_size=8)
PATH = st.sampled_from(
    ["host:/proc/modules", "/var/log/a.log", "/var/log/a.log/b", "../../etc/passwd", "", "host:/x/*/ü" * 90, "/", "..", "-", ".new"]
)
DELIVERY = st.builds(
    Delivery, source=st.sampled_from(["a", "b"]), time=st.floats(T0, T0 + 60),
    readings=st.lists(st.builds(Reading, TEXT, TEXT, st.none() | st.floats(allow_nan=False), TEXT), max_size=3).map(tuple),
    wholes=st.lists(st.builds(Whole, PATH, st.none() | st.binary(max_size=30)), max_size=2).map(tuple),
    appended=st.lists(st.builds(Appended, PATH, st.binary(max_size=30), st.booleans(), st.integers(0, 5), st.integers(1, 9)), max_size=2).map(tuple),
    facts=st.none() | st.lists(st.builds(Fact, TEXT, st.none() | TEXT | st.integers(), st.builds(Origin, TEXT, st.none() | st.integers(1, 9)), TEXT, st.booleans()), max_size=2).map(tuple),
    reports=st.none() | st.lists(st.builds(SourceReport, TEXT, TEXT, TEXT, TEXT), max_size=2).map(tuple),
    alive=st.none() | st.dictionaries(st.integers(1, 99), st.floats(0, 1e9), max_size=3),
)  # fmt: skip


def record(directory: Path, deliveries, **more) -> Recorder:
    recorder = Recorder(directory, T0, RecorderLimits(**more), threaded=False)
    for item in deliveries:
        recorder.add(item)
    recorder.close()
    return recorder


def evidence(directory: Path) -> dict[str, bytes]:
    """Original path to the bytes of its file."""
    manifest = json.loads((directory / "manifest.json").read_bytes())
    files = {item["original"]: directory / item["path"] for item in manifest["files"]}
    return {original: path.read_bytes() for original, path in files.items() if path.is_file()}


def log(second: int, data: bytes, **more) -> Delivery:
    return Delivery("logs", T0 + second, appended=(Appended("/var/log/nrt.log", data, **more),))


@given(st.lists(DELIVERY, max_size=12))
@settings(max_examples=25)
def test_what_is_recorded_is_played(tmp_path_factory, deliveries):
    directory = tmp_path_factory.mktemp("recording") / "r"
    record(directory, deliveries, segment=400)
    if not deliveries:
        with pytest.raises(StoreError, match="without a timeline"):
            Recording(directory)
        return
    recording = Recording(directory)
    assert list(recording.play()) == deliveries and recording.damaged == 0
    inside = [path for path in directory.rglob("*") if path.is_file()]
    assert {path.resolve().is_relative_to(directory.resolve()) for path in inside} == {True}
    assert not (directory / "evidence/.new").is_symlink() and sorted(os.listdir(directory.parent)) == ["r"]


def test_the_evidence_is_the_last_state_and_the_whole_logs(tmp_path):
    record(tmp_path / "r", [
        Delivery("files", T0, wholes=(Whole("host:/proc/modules", b"old"), Whole("host:/proc/gone", b"x"))),
        log(1, b"one\n"), log(2, b"two\n"),
        Delivery("files", T0 + 3, wholes=(Whole("host:/proc/modules", b"new"), Whole("host:/proc/gone", None))),
        log(4, b"new beginning\n", fresh=True), log(5, b"three\n", dropped=7),
        Delivery("logs", T0 + 9, wholes=(Whole("/var/log/nrt.log", None),)),
    ])  # fmt: skip
    found = evidence(tmp_path / "r")
    assert found["host:/proc/modules"] == b"new" and "host:/proc/gone" not in found
    assert found["/var/log/nrt.log"] == b"new beginning\n[neuronwatch: 7 lines left out here]\nthree\n"
    assert [data for path, data in found.items() if "before" in path] == [b"one\ntwo\n"]
    manifest = json.loads((tmp_path / "r/manifest.json").read_bytes())
    assert manifest["created"] == T0 + 9 and manifest["schema"] == "neuronwatch.bundle/1"
    assert (tmp_path / "r/evidence/host/proc/modules").read_bytes() == b"new"


def test_diagnose_reads_it(tmp_path):
    line = b"2025-10-09T08:55:00Z ip-10-0-0-1 kernel: Out of memory: Killed process 4242 (neuronx-cc) total-vm:9kB, anon-rss:8kB\n"
    facts = (Fact("host.hostname", "here", Origin("host:/etc/hostname", 1, "here")),)
    reports = (SourceReport("host:neuron-ls", "neuron-ls", "missing", "not found"),)
    record(tmp_path / "r", [log(1, line), Delivery("host", T0 + 2, facts=facts, reports=reports)])
    done = subprocess.run(
        [sys.executable, "-m", "neuronwatch", "diagnose", tmp_path / "r", "--format", "json"], capture_output=True, check=False
    )
    found = json.loads(done.stdout)
    assert found["facts"]["host.hostname"] == "here"
    states = {item["path"]: (item["format"], item["state"]) for item in found["sources"]}
    assert states["timeline/000001.timeline"] == ("timeline", "skipped") and states["host:neuron-ls"] == ("neuron-ls", "missing")
    assert any("evidence/var/log/nrt.log" in item["path"] for entry in found["findings"] for item in entry["evidence"])


def test_it_is_the_owner_s_alone(tmp_path):
    old = os.umask(0)
    try:
        record(tmp_path / "r", [Delivery("a", T0, wholes=(Whole("host:/a/b/c", b"x"),)), log(1, b"x\n")])
    finally:
        os.umask(old)
    modes = {(path.is_dir(), path.stat().st_mode & 0o777) for path in (tmp_path / "r", *(tmp_path / "r").rglob("*"))}
    assert modes == {(True, 0o700), (False, 0o600)}


def test_only_a_new_directory(tmp_path):
    record(tmp_path / "r", [log(1, b"x\n")])
    for place in (tmp_path / "r", tmp_path / "r/manifest.json"):
        with pytest.raises(StoreError) as caught:
            Recorder(place, T0)
        assert caught.value.mend
    with pytest.raises(StoreError, match="no recording"):
        Recording(tmp_path / "nowhere")


def test_a_replay_begins_at_any_time(tmp_path):
    deliveries = [
        Delivery("files", T0, wholes=(Whole("host:/a", b"first"), Whole("host:/b", b"b")), facts=(Fact("f", 1, Origin("p")),))
    ]
    deliveries += [log(second, b"line %d\n" % second, fresh=second == 1) for second in range(1, 50)]
    deliveries[20:20] = [Delivery("files", T0 + 19, wholes=(Whole("host:/a", b"second"), Whole("host:/b", None)))]
    record(tmp_path / "r", deliveries, segment=300)
    assert len(list((tmp_path / "r/timeline").iterdir())) > 3
    for start in (0, 7, 25, 48, 49):
        played = list(Recording(tmp_path / "r").play(T0 + start))
        later = [item for item in deliveries if item.time >= T0 + start]
        assert played[len(played) - len(later) :] == later
        standing = played[: len(played) - len(later)]
        assert all(item.time == T0 + start for item in standing)
        if start == 25:
            (files,) = (item for item in standing if item.source == "files")
            assert files.wholes == (Whole("host:/a", b"second"),) and files.facts == (Fact("f", 1, Origin("p")),)
            (logs,) = (item for item in standing if item.source == "logs")
            assert logs.appended == (Appended("/var/log/nrt.log", b"", True, 0, 25),)
    assert Recording(tmp_path / "r").span() == (T0, T0 + 49)
    assert len(list(Recording(tmp_path / "r").play(T0 + 1e6))) == 2  # how things stand at the end


def test_sizes_are_bounds(tmp_path):
    chunk = [os.urandom(500).hex().encode() + b"\n" for _ in range(300)]
    deliveries = [log(second * 6, data) for second, data in enumerate(chunk)]
    recorder = record(tmp_path / "r", deliveries, total=50_000, segment=10_000, text=60_000)
    assert recorder.health().size <= 61_000 and recorder.health().state == "closed"
    assert sum(path.stat().st_size for path in (tmp_path / "r/timeline").iterdir()) <= 61_000
    found = evidence(tmp_path / "r")
    assert sum(map(len, found.values())) <= 95_000
    assert found["/var/log/nrt.log (head)"].startswith(chunk[0]) and found["/var/log/nrt.log"].endswith(chunk[-1])
    (entry,) = (
        item for item in json.loads((tmp_path / "r/manifest.json").read_bytes())["files"] if item["original"] == "/var/log/nrt.log"
    )
    assert entry["cut"] and int(entry["reason"].split()[0]) == sum(map(len, chunk)) - sum(map(len, found.values()))
    played = list(Recording(tmp_path / "r").play())
    assert played[-1] == deliveries[-1] and len(played) < len(deliveries)
    assert played[0].appended[0].line > 1  # the state in front of what is left


def test_too_many_texts_are_said(tmp_path):
    wholes = tuple(Whole(f"host:/{number}", b"x") for number in range(20))
    recorder = record(tmp_path / "r", [Delivery("a", T0, wholes=wholes)], files=5)
    assert recorder.health().left_out == 15 and len(evidence(tmp_path / "r")) == 5
    assert json.loads((tmp_path / "r/manifest.json").read_bytes())["left_out"][0]["reason"] == "more than 5 texts"


@given(st.data())
@settings(max_examples=40)
def test_a_damaged_timeline(tmp_path_factory, data):
    directory = tmp_path_factory.mktemp("recording") / "r"
    deliveries = [Delivery("m", T0 + 6 * second, readings=tuple(readings(T0 + second))) for second in range(8)]
    record(directory, deliveries)
    (path,) = (directory / "timeline").iterdir()
    content = bytearray(path.read_bytes())
    cut = data.draw(st.booleans())
    place = data.draw(st.integers(0, len(content) - 1))
    if cut:
        del content[place:]
    else:
        content[place] ^= data.draw(st.integers(1, 255))
    path.write_bytes(content)
    recording = Recording(directory)
    played = list(recording.play())
    assert all(item.readings in [other.readings for other in deliveries] for item in played)
    assert len(played) < len(deliveries) or not recording.damaged
    recording.span()
    list(recording.play(T0 + 20))


WRITE = """
import sys
sys.path.insert(0, sys.argv[2])
from pathlib import Path
from test_capture import T0, log
from neuronwatch.store.capture import Recorder
recorder = Recorder(Path(sys.argv[1]), T0, threaded=False)
second = 0
while True:
    recorder.add(log(second, b"line %d\\n" % second, fresh=not second))
    print(second, flush=True)
    second += 1
"""


def test_kill_9_loses_at_most_five_seconds(tmp_path):
    child = subprocess.Popen(
        [sys.executable, "-c", WRITE, tmp_path / "r", Path(__file__).parent], stdout=subprocess.PIPE, text=True
    )
    for _ in range(200):
        child.stdout.readline()
    time.sleep(0.01)
    child.send_signal(signal.SIGKILL)
    last = max(int(word) for word in child.stdout.read().split("\n")[:-1] or ["199"])
    child.wait()
    child.stdout.close()
    played = list(Recording(tmp_path / "r").play())
    assert [item.appended[0].data for item in played] == [b"line %d\n" % second for second in range(len(played))]
    assert len(played) >= last - 5
    assert evidence(tmp_path / "r")["/var/log/nrt.log"].startswith(b"line 0\nline 1\n")


def test_without_room_it_says_so_and_goes_on(tmp_path, monkeypatch):
    recorder = Recorder(tmp_path / "r", T0, threaded=False)
    recorder.add(Delivery("files", T0 + 10, wholes=(Whole("host:/a", b"old"),)))
    original = os.write

    def full(descriptor, data):
        original(descriptor, bytes(data[: len(data) // 2]))
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    recorder.add(Delivery("files", T0 + 20, wholes=(Whole("host:/a", b"new"),)))
    recorder.add(log(30, b"lost\n", fresh=True))
    assert recorder.health()[:2] == ("full", "the disk is full") and recorder.health().lost == 2
    monkeypatch.setattr(os, "write", original)
    recorder.add(log(40, b"found\n"))
    assert recorder.health().state == "ok"
    recorder.close()
    assert evidence(tmp_path / "r")["host:/a"] == b"new"
    played = list(Recording(tmp_path / "r").play())
    assert [whole for item in played for whole in item.wholes] == [Whole("host:/a", b"old"), Whole("host:/a", b"new")]
    assert [part.data for item in played for part in item.appended] == [b"", b"found\n"]


def test_a_thread_writes(tmp_path):
    recorder = Recorder(tmp_path / "r", T0)
    deliveries = [log(second, b"x\n") for second in range(100)]
    for item in deliveries:
        recorder.add(item)
    assert recorder.close(60) and recorder.close()
    assert list(Recording(tmp_path / "r").play()) == deliveries


def test_a_bomb_is_not_unpacked():
    import io
    import struct
    import zlib

    import zstandard

    bomb = zstandard.compress(bytes(9 * timeline.MAX_FRAME))
    file = io.BytesIO(timeline.TIMELINE + struct.pack("<IIdd", len(bomb), zlib.crc32(bomb), T0, T0) + bomb)
    assert list(timeline.frames(file)) == [None]


def test_facts_keep_that_they_are_past(tmp_path):
    fact = Fact("host.hostname", "here", Origin("a.log", 3, "here"), past=True)
    record(tmp_path / "r", [Delivery("a", T0, facts=(fact, replace(fact, entity="hostB", past=False)))])
    told = json.loads((tmp_path / "r/evidence/host-facts.json").read_bytes())["facts"]
    assert [item["past"] for item in told] == [True, False]
