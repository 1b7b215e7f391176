"""The suggested configuration: beside the user's, never over it."""

from __future__ import annotations

import os

import pytest

from neuronwatch.model.job import Change, JobSpec
from neuronwatch.parse import _toml
from neuronwatch.supervise import suggest

CONFIG = """# night run
[train]
per_device_train_batch_size = 8  # as big as it goes
learning_rate = 1e-4
stages = [
  1,
]

[serve]
port = 8000
"""


def test_values_change_where_they_stand_and_nothing_else():
    text = suggest.applied(CONFIG, {"train.per_device_train_batch_size": 4, "train.gradient_accumulation_steps": 2,
                                    "serve.host": "::1", "data.num_proc": 2, "train.stages": [2]})  # fmt: skip
    found = _toml.loads(text)
    assert found["train"]["per_device_train_batch_size"] == 4 and found["train"]["gradient_accumulation_steps"] == 2
    assert found["train"]["learning_rate"] == 1e-4 and found["serve"] == {"port": 8000, "host": "::1"}
    assert found["data"] == {"num_proc": 2} and "# as big as it goes" in text and "# night run" in text
    assert found["train"]["stages"] == [1] and "# suggested: stages = [2]" in text
    assert suggest.applied(text, {}) == text


def test_it_is_written_beside_and_never_through_a_link(tmp_path):
    config, victim = tmp_path / "train.toml", tmp_path / "victim"
    config.write_text(CONFIG)
    victim.write_text("keep me")
    spec = JobSpec("t", ("python", "training", "train.toml"), cwd=str(tmp_path))
    changes = [Change("config", "train.per_device_train_batch_size", 8, 2), Change("env", "X", None, "1")]
    place = suggest.write(spec, changes)
    assert place == tmp_path / "train.toml.suggested" and "per_device_train_batch_size = 2" in place.read_text()
    assert config.read_text() == CONFIG
    place.unlink()
    place.symlink_to(victim)
    with pytest.raises(OSError, match="something else"):
        suggest.write(spec, changes)
    assert victim.read_text() == "keep me" and not os.path.lexists(tmp_path / ".train.toml.suggested.tmp")
    assert suggest.write(JobSpec("t", ("python", "x.py"), cwd=str(tmp_path)), changes) is None
