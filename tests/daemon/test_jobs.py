"""Jobs as the daemon knows them from followed logs."""

from __future__ import annotations

from neuronwatch.daemon.jobs import jobs
from neuronwatch.judge.live import Followed
from neuronwatch.judge.series import SeriesView
from neuronwatch.model.records import Origin, Sample


def text(path: str, *series: tuple[str, float, float | None], spoke: float = 100.0, **facts: object) -> Followed:
    samples = [
        Sample(name, value, Origin(path, number, ""), "", "", None, step) for number, (name, value, step) in enumerate(series)
    ]
    return Followed(path, {name.replace("_", ".", 1): value for name, value in facts.items()}, SeriesView(samples), spoke)  # type: ignore[misc]


def test_a_training_run_has_its_step_loss_and_curve() -> None:
    found = jobs(
        [text("host:/logs/qwen3/train.log", ("loss", 2.5, 10), ("loss", 2.0, 20), ("progress", 20, 20), launch_max_steps=400)],
        101.0,
    )
    (job,) = found
    assert (job["name"], job["kind"], job["phase"]) == ("qwen3", "train", "step")
    assert (job["step"], job["max_steps"], job["loss"]) == (20, 400, 2.0)
    assert [point[1] for point in job["curves"]["loss"]] == [2.5, 2.0]


def test_an_epoch_is_no_step_and_what_is_not_told_is_null() -> None:
    (job,) = jobs([text("host:/a.log", ("loss", 2.5, 0.25))], 101.0)
    assert job["step"] is None and job["epoch"] == 0.25 and job["max_steps"] is None and "grad_norm" not in job


def test_a_loss_that_is_no_number_stays_visible_as_no_number() -> None:
    (job,) = jobs([text("host:/a.log", ("loss", float("nan"), 3))], 101.0)
    assert job["loss"] is None and job["step"] == 3


def test_a_server_and_a_silent_run_are_told_apart_and_texts_without_a_run_are_left_out() -> None:
    found = jobs([text("host:/a.log", ("loss", 1.0, 1), spoke=-900.0), text("host:/vllm.log", ("running", 8, None), ("waiting", 3, None)),
                  text("host:/var/log/syslog")], 101.0)  # fmt: skip
    assert [(job["kind"], job["phase"]) for job in found] == [("serve", "serve"), ("train", "silent")]
    assert found[0]["waiting"] == 3
