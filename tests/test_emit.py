"""The progress protocol: what a job tells, and that it is never held up by it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuronwatch import emit

EMIT = Path(emit.__file__)


@pytest.fixture
def place(tmp_path, monkeypatch):
    path = tmp_path / "emit.jsonl"
    monkeypatch.setenv(emit.VARIABLE, str(path))
    for name in ("RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID"):
        monkeypatch.delenv(name, raising=False)
    return path


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_what_is_told_is_one_line_each(place, monkeypatch):
    monkeypatch.setenv("RANK", "3")
    emit.phase("compile", graphs=1, of_graphs=7)
    emit.step(12, loss=2.5, grad_norm=float("nan"), tokens_per_s=None)
    emit.metric(eval_loss=2.0)
    emit.checkpoint(Path("out/checkpoint-12"), step=12)
    emit.note("done")
    told = lines(place)
    assert [item["ev"] for item in told] == ["phase", "step", "metric", "checkpoint", "note"]
    assert all(item["v"] == 1 and item["rank"] == 3 and item["t"] > 1e9 for item in told)
    assert told[1]["grad_norm"] == "nan" and "tokens_per_s" not in told[1] and told[3]["path"] == "out/checkpoint-12"


def test_without_the_variable_nothing_happens(tmp_path, monkeypatch):
    monkeypatch.delenv(emit.VARIABLE, raising=False)
    monkeypatch.chdir(tmp_path)
    emit.step(1, loss=1.0)
    assert not list(tmp_path.iterdir())


def test_what_cannot_be_written_is_dropped(tmp_path, monkeypatch):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    for path in (tmp_path / "no" / "such" / "place", tmp_path, fifo, "/dev/full", "/dev/tty"):
        monkeypatch.setenv(emit.VARIABLE, str(path))
        emit.step(1)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    monkeypatch.setenv(emit.VARIABLE, str(fifo))
    for number in range(5000):  # more than a pipe holds: the rest is dropped
        emit.step(number, text="x" * 100)
    assert json.loads(os.read(reader, 1 << 20).splitlines()[0])["step"] == 0
    os.close(reader)


def test_a_line_that_was_torn_by_a_full_disk_does_not_spoil_the_next(place):
    script = (
        "import resource, signal; from neuronwatch import emit\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "emit.step(1); resource.setrlimit(resource.RLIMIT_FSIZE, (100, resource.RLIM_INFINITY))\n"
        "emit.step(2, text='y' * 200)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY)); emit.step(3)\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
    good = [line for line in place.read_text().splitlines() if line.endswith("}")]
    assert [json.loads(line)["step"] for line in good] == [1, 3]


def test_many_processes_tear_no_line_apart(place):
    script = "from neuronwatch import emit\nfor n in range(300): emit.step(n, text='z' * 3000)"
    children = [subprocess.Popen([sys.executable, "-c", script], env={**os.environ, "RANK": str(rank)}) for rank in range(4)]
    assert [child.wait() for child in children] == [0] * 4
    told = lines(place)
    assert len(told) == 1200 and {item["rank"] for item in told} == {0, 1, 2, 3}


@given(
    st.dictionaries(
        st.text(max_size=20),
        st.one_of(st.none(), st.text(max_size=9000), st.floats(), st.integers(), st.binary(max_size=50)),
        max_size=8,
    )
)
def test_every_line_is_json_of_bounded_length(values):
    document = {"v": 1, "t": 1.0, "rank": 0, "ev": "metric"}
    document.update((key, emit._plain(value)) for key, value in values.items() if key not in document)
    data = emit._line(document)
    assert len(data) <= emit.LONGEST and data.endswith(b"\n") and data.count(b"\n") == 1
    assert json.loads(data, parse_constant=pytest.fail)["ev"] == "metric"


def test_the_callback_needs_nothing_of_transformers(place):
    state = SimpleNamespace(global_step=5, max_steps=10, num_input_tokens_seen=100)
    args = SimpleNamespace(output_dir="out")
    callback = emit.Callback()
    callback.on_init_end(args, state, None)
    callback.on_train_begin(args, state, None)
    callback.on_step_end(args, state, None)
    callback.on_log(args, state, None, logs={"loss": 1.5, "learning_rate": 1e-4, "epoch": 0.1})
    state.num_input_tokens_seen = 900
    callback.on_log(args, state, None, logs={"loss": float("inf")})
    callback.on_prediction_step(args, state, None)
    callback.on_log(args, state, None, logs={"eval_loss": 2.0})
    callback.on_step_end(args, state, None)
    callback.on_save(args, state, None)
    callback.on_an_event_of_a_later_version(args, state, None)
    callback.on_train_end(args, state, None)
    told = lines(place)
    assert [item["ev"] for item in told] == [
        "phase",
        "step",
        "step",
        "step",
        "phase",
        "metric",
        "phase",
        "step",
        "checkpoint",
        "phase",
    ]
    assert (
        told[2]["loss"] == 1.5
        and told[3]["loss"] == "inf"
        and told[3]["tokens_per_s"] > 0
        and told[8]["path"] == "out/checkpoint-5"
    )


def test_the_file_alone_is_enough(tmp_path):
    (tmp_path / "emit.py").write_bytes(EMIT.read_bytes())
    env = {"PATH": os.environ["PATH"], emit.VARIABLE: str(tmp_path / "told")}
    subprocess.run(
        [sys.executable, "-I", "-c", f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import emit; emit.step(1)"],
        env=env,
        check=True,
    )
    assert lines(tmp_path / "told")[0]["step"] == 1
