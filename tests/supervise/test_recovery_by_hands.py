"""From a fault to a verified recovery where the spec stays: the compile cache, its locks, leftovers, checkpoints; with real files and
processes, under `--policy act`."""

from __future__ import annotations

import json
import os
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path

import pytest
from supervise_support import left, owner

from neuronwatch.remedy import cache, leftovers, locks
from neuronwatch.remedy.audit import Audit
from neuronwatch.supervise.directory import JobDirectory

STEPS = """
for step in range(1, 6):
    print({'loss': 3.0 - step / 10, 'grad_norm': 1.0, 'learning_rate': 1e-4, 'epoch': step / 8}, flush=True)
    time.sleep(0.02)
"""
MODULE = "neuronxcc-2.12.68.0+4480452af/MODULE_11203961494150985019+6bd63055"


def run(tmp_path: Path, script: str, *words: str, environ: dict[str, str] | None = None):
    program, report = tmp_path / "train.py", tmp_path / "report.json"
    program.write_text("import os, socket, sys, time\n" + script + STEPS)
    before = {**os.environ}
    os.environ.update(environ or {})
    try:
        with owner(
            tmp_path / "state", sys.executable, str(program), *words, options=("--policy", "act", "--report", str(report)), name="t"
        ) as process:
            _, said = process.communicate(timeout=120)
    finally:
        os.environ.clear()
        os.environ.update(before)
    directory = JobDirectory(tmp_path / "state", "t")
    assert Audit(directory.path).verify()[1] == [] and left(tmp_path / "state", "t") == [], said
    return json.loads(report.read_text()), said, directory, process.returncode


def remedied(document: dict, action: str) -> None:
    assert [(item["action"], item["result"]) for item in document["remedies"]] == [(action, "helped")], document["remedies"]


def test_a_failed_entry_of_the_cache_is_moved_aside_and_compiled_anew(tmp_path):
    root = tmp_path / "cache"
    (root / MODULE).mkdir(parents=True)
    (root / MODULE / "model.log").write_text("Failed compilation")
    script = f"""
if os.path.exists({str(root / MODULE / "model.log")!r}):
    sys.exit("2024-01-09 10:11:00.000230:  40101  ERROR ||NEURON_CC_WRAPPER||: Got a cached failed neff at {root / MODULE}/model.neff. "
             "Will skip compilation, please set --retry_failed_compilation for recompilation:")
"""
    document, said, _directory, code = run(tmp_path, script, environ={"NEURON_COMPILE_CACHE_URL": str(root)})
    assert code == 0, said
    remedied(document, "quarantine-entry")
    moved = cache.moved(root)
    assert [item.items for item in moved] == [(MODULE,)]
    assert cache.restore(root, moved[0].id)[0] == [MODULE] and (root / MODULE / "model.log").read_text() == "Failed compilation"


def test_entries_that_were_moved_in_vain_come_back(tmp_path):
    root = tmp_path / "cache"
    (root / MODULE).mkdir(parents=True)
    (root / MODULE / "model.log").write_text("Failed compilation")
    script = f"""
sys.exit("2024-01-09 10:11:00.000230:  40101  ERROR ||NEURON_CC_WRAPPER||: Got a cached failed neff at {root / MODULE}/model.neff. "
         "Will skip compilation, please set --retry_failed_compilation for recompilation:")
"""
    document, _said, _directory, code = run(tmp_path, script, environ={"NEURON_COMPILE_CACHE_URL": str(root)})
    assert code == 1 and ("quarantine-entry", "did not help") in [(item["action"], item["result"]) for item in document["remedies"]]
    assert (root / MODULE / "model.log").read_text() == "Failed compilation" and cache.moved(root) == []


def test_a_stale_lock_is_moved_aside(tmp_path):
    root = tmp_path / "cache"
    (root / MODULE).mkdir(parents=True)
    lock = root / MODULE / "model.hlo_module.pb.lock"
    lock.write_text("")
    os.utime(lock, (time.time() - 7200, time.time() - 7200))
    until = time.monotonic() + 60
    while locks.locks(root, time.time())[0].why_alive and time.monotonic() < until:
        time.sleep(0.2)  # another test of this machine plays a compiler
    script = f"""
if os.path.exists({str(lock)!r}):
    sys.exit("filelock.Timeout: The file lock '{lock}' could not be acquired.")
"""
    document, said, _directory, code = run(tmp_path, script, environ={"NEURON_COMPILE_CACHE_URL": str(root)})
    assert code == 0, said
    remedied(document, "stale-lock")
    assert not lock.exists() and len(cache.moved(root)) == 1


def test_what_an_earlier_job_left_on_the_port_is_ended(tmp_path):
    run_before = tmp_path / "state" / "jobs" / "before" / "runs" / "0001"
    run_before.mkdir(mode=0o700, parents=True)
    (run_before / "intent.json").write_text(json.dumps({"mark": "boot:before:1"}))
    (run_before / "lock").write_text("")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    holder = subprocess.Popen(
        [sys.executable, "-c", f"import socket, time; s = socket.create_server(('127.0.0.1', {port})); print('x', flush=True); time.sleep(300)"],
        env={**os.environ, leftovers.MARK: "boot:before:1"}, stdout=subprocess.PIPE,
    )  # fmt: skip
    try:
        assert holder.stdout is not None and holder.stdout.readline() == b"x\n"
        script = f"""
try:
    socket.create_server(("127.0.0.1", {port})).close()
except OSError:
    sys.exit("torch.distributed.DistNetworkError: The server socket has failed to listen on any local network address. port: {port}, "
             "useIpv6: false, code: -98, name: EADDRINUSE, message: address already in use")
"""
        document, said, _directory, code = run(tmp_path, script, "--master_port", str(port))
        assert code == 0, said
        remedied(document, "end-leftover")
        assert holder.wait(10) != 0
    finally:
        holder.kill()
        holder.wait()
        holder.stdout.close()


def test_the_scorecard_says_whether_people_did_what_would_have_been_done(tmp_path, capsys):
    from test_recovery import MEMORY

    from neuronwatch.cli.main import main

    script = tmp_path / "train.py"
    script.write_text(f"import sys\nif sys.argv[2] != '4': sys.exit({MEMORY!r})\n")
    for batch, steps in (("8", "1"), ("4", "2"), ("8", "1"), ("2", "4")):
        words = ("--per_device_train_batch_size", batch, "--gradient_accumulation_steps", steps)
        with owner(tmp_path / "state", sys.executable, str(script), *words, options=(), name="t") as process:
            process.communicate(timeout=120)
    assert main(["audit", "show", "t", "--summary", "--state-dir", str(tmp_path / "state"), "--format", "json"]) == 0
    rows = json.loads(capsys.readouterr().out)["jobs"]["t"]["shadow"]
    assert [row["then"] for row in rows if row["action"] == "batch-size"][:2] == ["same", "other"]


def weights(place: Path, torn: bool) -> None:
    place.mkdir(parents=True)
    header = json.dumps({"w": {"dtype": "F32", "shape": [4], "data_offsets": [0, 16]}}).encode()
    (place / "model.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + b"\0" * (8 if torn else 16))


@pytest.mark.parametrize("resume", ["True", "{torn}"])
def test_a_torn_checkpoint_is_skipped(tmp_path, resume):
    good, torn = tmp_path / "out" / "checkpoint-4", tmp_path / "out" / "checkpoint-6"
    weights(good, False)
    weights(torn, True)
    script = """
place = sys.argv[sys.argv.index("--resume_from_checkpoint") + 1]
if os.path.basename(place) != "checkpoint-4":
    os._exit(3)
"""
    words = ("--output_dir", str(tmp_path / "out"), "--save_steps", "2", "--resume_from_checkpoint", resume.format(torn=torn))
    document, said, directory, code = run(tmp_path, script, *words)
    assert code == 0, said
    remedied(document, "restart")
    assert str(good) in (directory.path / "current.json").read_text() and torn.is_dir()
