"""What a job is doing, by what it says."""

from __future__ import annotations

import json

import pytest

from neuronwatch.judge.phases import MARKS, Phases
from neuronwatch.model.job import Progress

LOG = [
    (
        b"*****************************************\nSetting OMP_NUM_THREADS environment variable for each process to be 1 in default\n",
        "import",
    ),
    (b"Map (num_proc=8):  12%|#2        | 1200/10000 [00:01<00:08]\n", "data"),
    (b"Loading checkpoint shards: 100%|##########| 5/5 [00:02<00:00]\n", "load"),
    (b"***** Running training *****\n  Num examples = 1,000\n", "warmup"),
    (
        b"2025-05-01 10:00:00.000123:  1234  INFO ||NEURON_CC_WRAPPER||: Call compiler with cmd: neuronx-cc compile --target=trn1\n",
        "compile",
    ),
    (b".\nCompiler status PASS\n", "compile"),
    (b"Saving model checkpoint to out/checkpoint-10\n", "checkpoint"),
    (b"***** Running Evaluation *****\n", "evaluate"),
    (b"{'train_runtime': 12.3, 'train_samples_per_second': 3.1}\n", "exit"),
]


def test_a_log_goes_through_its_phases() -> None:
    phases = Phases(Progress())
    for number, (data, phase) in enumerate(LOG):
        phases.piece(data, 100.0 + number)
        assert phases.progress.phase == phase, data
    assert (phases.progress.cache_misses, phases.progress.graphs) == (1, 1)


def test_the_last_mark_of_a_piece_counts_and_a_step_ends_the_others() -> None:
    phases = Phases(Progress())
    phases.piece(b"".join(data for data, _ in LOG[:4]), 100.0)
    assert phases.progress.phase == "warmup"
    phases.stepped(1.0, 101.0, loss=2.5)
    assert (phases.progress.phase, phases.progress.step, phases.progress.since) == ("step", 1, 101.0)
    phases.piece(b"nothing that is a mark\n", 102.0)
    assert (phases.progress.phase, phases.progress.moved) == ("step", 102.0)


def test_events_outweigh_the_log_but_for_a_compile() -> None:
    phases = Phases(Progress())
    phases.line(json.dumps({"v": 1, "t": 1, "rank": 0, "ev": "phase", "phase": "step", "max_steps": 50}), 1.0)
    phases.line(json.dumps({"v": 1, "t": 1, "rank": 0, "ev": "step", "step": 4, "loss": "nan"}), 2.0)
    phases.piece(b"Saving model to out\n", 3.0)
    assert (phases.progress.phase, phases.progress.step, phases.progress.max_steps) == ("step", 4, 50)
    assert phases.progress.loss != phases.progress.loss
    phases.piece(b"Call compiler with cmd: neuronx-cc compile\n", 4.0)
    assert phases.progress.phase == "compile"
    phases.compiling(False, 5.0)
    assert phases.progress.phase == "step"


def test_a_compiler_that_lives_is_a_compile_whatever_the_log_says() -> None:
    phases = Phases(Progress(phase="load", since=1.0))
    phases.compiling(True, 2.0)
    assert (phases.progress.phase, phases.progress.since) == ("compile", 2.0)


@pytest.mark.parametrize("line", ['{"v": 1, "ev": "phase", "phase": "dance"}', '{"v": 1, "ev": "step", "step": 1e300}', '{"ev": "step"}', "[" * 100_000 + '"ev"',
                                  '{"v": 1, "ev": "step", "step": -1}', '{"v": 1, "ev": "phase", "phase": "step", "max_steps": 1e999}'])  # fmt: skip
def test_odd_events_change_nothing_that_counts(line: str) -> None:
    phases = Phases(Progress())
    phases.line(line, 1.0)
    assert phases.progress.step is None and phases.progress.max_steps is None


def test_graphs_of_a_parallel_compile_are_counted() -> None:
    phases = Phases(Progress())
    phases.piece(b"Total graphs: 7\nCompiler status PASS\nCompiler status PASS\nUsing a cached neff at /cache/x\n", 1.0)
    assert (phases.progress.graphs, phases.progress.of_graphs, phases.progress.cache_hits) == (2, 7, 1)


def test_every_phase_of_the_marks_is_one_of_the_model() -> None:
    assert all(literals and all(literals) for literals in MARKS.values())


@pytest.mark.parametrize(
    "line",
    [
        '{"v":1,"t":1,"ev":"phase","phase":"compile","graphs":NaN}',
        '{"v":1,"t":1,"ev":"note","graphs":1e999,"of_graphs":3}',
        '{"v":1,"t":1,"ev":"note","graphs":-5}',
        '{"v":1,"t":1,"ev":"step","step":NaN,"max_steps":Infinity}',
        '{"v":1,"t":1,"ev":"step","step":-1}',
        '{"v":1,"t":1,"ev":"phase","phase":["compile"]}',
        '{"v":1,"ev":[]}',
        '{"v":1,"ev":{}}',
    ],
)
def test_an_event_of_impossible_numbers_or_kinds_is_survived_and_counts_nothing(line: str) -> None:
    phases = Phases()
    phases.line(line, 5.0)
    told = phases.progress
    assert (told.graphs, told.of_graphs, told.step, told.max_steps) == (None, None, None, None)
    phases.line('{"v":1,"t":2,"ev":"phase","phase":"compile","graphs":2,"of_graphs":Infinity}', 6.0)
    assert (phases.progress.graphs, phases.progress.of_graphs) == (2, None)


@pytest.mark.parametrize("step", [float("nan"), float("inf"), -1.0])
def test_a_step_of_a_log_that_is_no_number_changes_no_step(step: float) -> None:
    phases = Phases()
    phases.stepped(7.0, 1.0)
    phases.stepped(step, 2.0, max_steps=float("inf"))
    assert (phases.progress.step, phases.progress.max_steps) == (7, None)
