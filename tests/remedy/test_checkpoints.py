"""Checkpoints with real files: whole ones are found, torn ones are skipped and said."""

from __future__ import annotations

import json
import pickle
import struct
import zipfile
from pathlib import Path

import pytest

from neuronwatch.remedy import checkpoints


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
