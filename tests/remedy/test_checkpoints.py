"""Checkpoints with real files: whole ones are found, torn ones are skipped and said."""

from __future__ import annotations

import json
import pickle
import struct
import zipfile
from pathlib import Path

import pytest
from remedy_support import FAILED, spec
from remedy_support import case as a_case

from neuronwatch.model.dataclass import replace
from neuronwatch.remedy import checkpoints, survey
from neuronwatch.remedy.actions import restart
from neuronwatch.remedy.api import Proposal


def safetensors(path: Path, size: int = 16) -> None:
    header = json.dumps(
        {"w": {"dtype": "F32", "shape": [size // 4], "data_offsets": [0, size]}, "__metadata__": {"format": "pt"}}
    ).encode()
    path.write_bytes(struct.pack("<Q", len(header)) + header + b"\0" * size)


def checkpoint(root: Path, step: int, done: bool = False) -> Path:
    place = root / f"checkpoint-{step}"
    place.mkdir(parents=True)
    safetensors(place / "model.safetensors")
    (place / "trainer_state.json").write_text('{"global_step": 1}')
    with zipfile.ZipFile(place / "optimizer.pt", "w") as file:
        file.writestr("data.pkl", b"x")
    if done:
        (place / "done").write_text("")
    return place


def test_the_newest_whole_one_comes_first(tmp_path: Path) -> None:
    for step in (2, 10, 9):
        checkpoint(tmp_path, step)
    (tmp_path / "runs").mkdir()
    good, torn = checkpoints.look(tmp_path)
    assert [item.step for item in good] == [10, 9, 2] and torn == []
    assert checkpoints.look(tmp_path / "none") == ([], [])


def cut(place: Path) -> None:
    data = (place / "model.safetensors").read_bytes()
    (place / "model.safetensors").write_bytes(data[:-4])


def index(place: Path) -> None:
    (place / "model.safetensors.index.json").write_text('{"weight_map": {"w": "model-00002-of-00002.safetensors"}}')


@pytest.mark.parametrize(
    ("tear", "said"),
    [
        (cut, "bytes are there"),
        (lambda place: (place / "model.safetensors").write_bytes(b""), "no header"),
        (lambda place: (place / "model.safetensors").write_bytes(b"\xff" * 100), "header is longer"),
        (lambda place: (place / "model.safetensors").write_bytes(struct.pack("<Q", 50) + b"[" * 50), "cannot be read"),
        (lambda place: (place / "trainer_state.json").write_text('{"global'), "trainer_state.json"),
        (lambda place: (place / "optimizer.pt").write_bytes((place / "optimizer.pt").read_bytes()[:30]), "optimizer.pt"),
        (lambda place: (place / "optimizer.pt").write_bytes(b""), "optimizer.pt"),
        (index, "is missing"),
        (lambda place: (place / "model.safetensors").rename(place / "model.safetensors.tmp"), "did not finish"),
        (lambda place: (place / "model.safetensors").unlink() or (place / "optimizer.pt").unlink(), "no weights"),
    ],
)  # fmt: skip
def test_a_torn_one_is_skipped_and_said(tmp_path: Path, tear: object, said: str) -> None:
    checkpoint(tmp_path, 5)
    tear(checkpoint(tmp_path, 6))  # type: ignore[operator]
    good, torn = checkpoints.look(tmp_path)
    assert [item.step for item in good] == [5]
    assert len(torn) == 1 and said in torn[0].why


def test_the_done_marker_counts_where_this_writer_makes_one(tmp_path: Path) -> None:
    checkpoint(tmp_path, 5, done=True)
    checkpoint(tmp_path, 6)
    good, torn = checkpoints.look(tmp_path)
    assert [item.step for item in good] == [5] and "done" in torn[0].why


def test_the_old_pickle_is_whole_too(tmp_path: Path) -> None:
    place = checkpoint(tmp_path, 5)
    (place / "scheduler.pt").write_bytes(pickle.dumps({"a": 1}))
    assert len(checkpoints.look(tmp_path)[0]) == 1


def test_links_out_of_it_and_odd_names_are_no_checkpoints(tmp_path: Path) -> None:
    (tmp_path / "o").mkdir()
    for name in ("checkpoint-", "checkpoint-x", "checkpoint-99999999999999", "..."):
        (tmp_path / "o" / name).mkdir()
    (tmp_path / "o" / "checkpoint-3").write_text("a file")
    assert checkpoints.look(tmp_path / "o") == ([], [])


@pytest.mark.parametrize(
    ("flags", "resumes"),
    [
        ("--save_steps 5", "--resume_from_checkpoint {good}"),
        ("--save_steps 5 --resume_from_checkpoint True", "--resume_from_checkpoint {good}"),
        ("--save_steps 5 --resume_from_checkpoint={torn}", "--resume_from_checkpoint={good}"),
    ],
)
def test_a_restart_goes_on_from_the_newest_that_verifies(tmp_path: Path, flags: str, resumes: str) -> None:
    good, torn = checkpoint(tmp_path / "out", 5), checkpoint(tmp_path / "out", 6)
    cut(torn)
    command = f"python t.py --output_dir out {flags}".format(good=good, torn=torn)
    failed = replace(a_case(command), spec=spec(command, cwd=str(tmp_path)))
    found = survey.completed(failed, tmp_path / "jobs", "", FAILED.time)
    assert [item.step for item in found.checkpoints] == [5] and found.survey.torn == (str(torn),)
    answer = restart.propose(found, None)
    assert isinstance(answer, Proposal) and answer.spec is not None
    assert resumes.format(good=good) in " ".join(answer.spec.argv)


def test_a_program_that_finds_its_whole_checkpoint_by_itself_is_left_alone(tmp_path: Path) -> None:
    checkpoint(tmp_path / "out", 6)
    for more in ("--save_steps 5", "--save_steps 5 --resume_from_checkpoint True", ""):
        command = f"python t.py --output_dir {tmp_path / 'out'} {more}"
        answer = restart.propose(survey.completed(a_case(command), tmp_path, "", 1.0), None)
        assert isinstance(answer, Proposal) and answer.spec is None and "checkpoint-6" in answer.words


def test_a_run_that_makes_progress_is_not_searched_for_checkpoints(tmp_path: Path) -> None:
    checkpoint(tmp_path / "out", 6)
    lives = a_case(f"python t.py --output_dir {tmp_path / 'out'}", exit=None)
    assert survey.completed(lives, tmp_path, "", 1.0).checkpoints == ()
