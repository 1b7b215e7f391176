"""Jobs as the daemon knows them from followed logs."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from daemon_support import Daemon, small_host

from neuronwatch.daemon.job_pace import Asked, pace
from neuronwatch.daemon.job_processes import Runner
from neuronwatch.daemon.jobs import explain, jobs
from neuronwatch.daemon.process_details import Details, numbers
from neuronwatch.daemon.protocol import ApiError
from neuronwatch.judge.heard import Heard
from neuronwatch.judge.live import Followed
from neuronwatch.judge.series import SeriesView
from neuronwatch.model.diagnosis import Finding
from neuronwatch.model.job import Change, JobSpec
from neuronwatch.model.live import Condition, Incident
from neuronwatch.model.records import Origin, Sample
from neuronwatch.remedy.api import Proposal
from neuronwatch.remedy.desk import Desk
from neuronwatch.remedy.state import Pending, State
from neuronwatch.source.host.root import HostRoot
from neuronwatch.supervise.directory import JobDirectory


def text(
    path: str, *series: tuple[str, float, float | None], spoke: float = 100.0, heard: Heard | None = None, **facts: object
) -> Followed:
    samples = [
        Sample(name, value, Origin(path, number, ""), "", "", None, step) for number, (name, value, step) in enumerate(series)
    ]
    told = {name.replace("_", ".", 1): value for name, value in facts.items()}
    return Followed(path, told, SeriesView(samples), spoke, heard or Heard())  # type: ignore[arg-type]


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


def test_a_job_that_dies_before_its_first_number_is_still_one() -> None:
    heard = Heard()
    heard.note(3, None, 90.0, lambda: {"loss"})
    gone = runner()._replace(pids=[], holds=False, stdout=False, ended=True)
    (job,) = jobs([text("host:/a.log", heard=heard)], 101.0, {"host:/a.log": gone})
    assert (job["kind"], job["phase"], job["curves"]) == ("train", "ended", {})


def runner(**more: object) -> Runner:
    known = {"pids": [7], "kind": "train", "command": "", "owner": "ubuntu", "cores": ["nd0:nc0"], "utilization": 70.0,
             "device_memory": 1e9, "p50": None, "p99": None, "holds": True, "stdout": True, "compiles": False, "ended": False}  # fmt: skip
    return Runner(**{**known, **more})  # type: ignore[arg-type]


def test_a_point_without_a_time_has_the_one_at_which_it_was_heard_and_older_ones_none() -> None:
    heard = Heard()
    heard.note(1, None, 50.0)
    heard.note(3, None, 60.0)
    (job,) = jobs([text("host:/a.log", ("loss", 3.0, 1), ("loss", 2.5, 2), ("loss", 2.0, 3), ("loss", 1.5, 4), heard=heard)], 101.0)
    assert [point[2] for point in job["curves"]["loss"]] == [None, 50.0, 60.0, 60.0]


def test_a_start_banner_after_points_is_a_restart_and_the_first_one_of_a_run_is_none() -> None:
    heard = Heard()
    heard.note(0, ("Running training", 3), 10.0)
    heard.note(5, ("Running training", 3), 20.0)
    heard.note(5, ("OMP_NUM_THREADS", 9), 30.0)
    heard.note(5, ("Running training", 12), 40.0)
    heard.note(14, ("Running training", 12), 50.0)
    assert heard.restarts == [30.0]


def test_lines_that_are_numbered_anew_keep_their_times_and_memory_has_an_end() -> None:
    heard = Heard()
    for line in range(1, 5000):
        heard.note(line, None, float(line))
    assert len(heard.lines) <= 512 and heard.time_of(4999) == 4999.0
    heard.shift(5000)
    assert heard.time_of(-1) == 4999.0 and heard.time_of(3) is None


def test_what_the_command_says_stands_in_for_a_log_that_does_not() -> None:
    command = "python x.py --max_steps 4000 --logging_steps=5 --max-num-seqs 16 --set '{\"context_encoding_buckets\": [128, 1024]}'"
    (job,) = jobs([text("host:/a.log", ("loss", 3.0, 1))], 101.0, {"host:/a.log": runner(command=command)})
    assert (job["max_steps"], job["batch_limit"], job["buckets"]) == (4000, 16, [128, 1024])
    assert (job["pids"], job["owner"], job["utilization"]) == ([7], "ubuntu", 70.0)


@pytest.mark.parametrize(("more", "phase"), [({"compiles": True}, "compile"), ({"ended": True}, "ended"), ({}, "step")])
def test_the_phase_is_what_its_processes_show(more: dict[str, object], phase: str) -> None:
    (job,) = jobs([text("host:/a.log", ("loss", 3.0, 1))], 101.0, {"host:/a.log": runner(**more)})
    assert job["phase"] == phase


def test_a_job_that_holds_a_device_is_known_before_its_first_number() -> None:
    known = {"host:/a.log": runner(), "host:/nrt.log": runner(stdout=False), "host:/b.log": runner(holds=False)}
    found = jobs([text(path) for path in known], 101.0, known)
    assert [(job["id"], job["kind"], job["phase"], job["step"]) for job in found] == [("host:/a.log", "train", "load", None)]


def test_the_pace_is_the_median_of_the_run_that_goes_on() -> None:
    old = [[float(step), 1.0, 9.0 * step] for step in range(50)]
    now = [[float(step), 1.0, 1000.0 + 2.0 * step + (60.0 if step > 10 else 0.0)] for step in range(1, 21)]
    found = pace([], {"loss": [*old, *now]}, Asked(100.0, None, None))
    assert (found["step"], found["seconds_per_step"], found["seconds_left"]) == (20.0, 2.0, 160.0)


def test_steps_follow_from_rounded_epochs_once_these_are_exact_enough() -> None:
    points: list[list[float | None]] = [[round(2 * 5 * at / 4000, 2), 1.0, 12.0 * at] for at in range(200)]
    found = pace([], {"loss": points}, Asked(4000.0, 5.0, None))
    assert found["step_estimated"] and abs(found["step"] - 995) < 30 and abs(found["seconds_per_step"] - 2.4) < 0.2
    early = pace([], {"loss": points[:12]}, Asked(4000.0, 5.0, None))
    assert early["step"] is None and early["epoch"] is not None and early["seconds_left"] is None


def test_cores_as_the_environment_names_them() -> None:
    assert numbers("0-3,8") == (0, 1, 2, 3, 8) and numbers("") is None and numbers("3-1") is None and numbers("0-99999") is None


def test_details_of_a_process_come_from_its_own_files(tmp_path: Path) -> None:
    place = tmp_path / "proc" / "7"
    (place / "fd").mkdir(parents=True)
    (place / "status").write_text("Name:\tpython\nUid:\t1000\t1000\t1000\t1000\n")
    (place / "environ").write_bytes(b"A=1\0NEURON_RT_VISIBLE_CORES=2-3\0NEURON_PROCESS_TAG=qwen\0SECRET=x")
    (place / "fd" / "1").symlink_to("/var/log/a.log")
    (place / "fd" / "2").symlink_to("/dev/null")
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc" / "passwd").write_text("root:x:0:0::/:/bin/sh\nubuntu:x:1000:1000::/:/bin/sh\n")
    details = Details(HostRoot(tmp_path))
    found = details.look([(7, "python"), (8, "gone")])
    assert found[7] == ("ubuntu", (2, 3), 2, "qwen", ("/var/log/a.log",))
    assert found[8] == (None, None, None, None, ())
    details.look([(8, "gone")])
    assert details.beside == {"/var/log/a.log": {"/var/log/a.log"}} and details.complete


def test_a_restart_is_explained_by_the_incident_of_its_own_log() -> None:
    def incident(id: str, opened: float, path: str, fault: str) -> Incident:
        finding = Finding("r", fault, "cause", "error", 0.9, "t", "c", evidence=(Origin(path, 3, "x"),))
        condition = Condition("r", "true", opened, finding)
        return Incident(id, fault, "error", "open", opened, "r", (condition,), opened)

    restarts = [{"time": time, "reason": "", "incident": ""} for time in (1000.0, 9000.0)]
    found = [{"id": "host:/a.log", "restarts": restarts}]
    explain(found, [incident("1", 700.0, "host:/a.log", "a.first"), incident("2", 900.0, "host:/a.log", "b.second"),
                    incident("3", 950.0, "host:/b.log", "c.other")], {})  # fmt: skip
    assert [item["reason"] for item in restarts] == ["b.second", ""]
    explain(found, [incident("4", 9000.0, "host:/nrt.log", "runtime.x")], {"host:/a.log": {"host:/nrt.log", "host:/a.log"}})
    assert restarts[1]["reason"] == "runtime.x"


def test_a_run_that_began_anew_and_has_not_told_a_number_loads() -> None:
    heard = Heard()
    heard.note(1, ("a", 0), 10.0)
    heard.note(1, ("a", 5), 20.0)
    (job,) = jobs([text("host:/a.log", ("loss", 3.0, 1), heard=heard)], 101.0)
    assert job["phase"] == "load" and len(job["restarts"]) == 1


def test_a_proposal_is_told_and_answered_through_the_daemon(tmp_path: Path) -> None:
    host, state = small_host(tmp_path / "host"), tmp_path / "s"
    with Daemon(host, state) as daemon, daemon.client() as client:
        assert client.call("proposals")["proposals"] == []
        directory = JobDirectory(state, "sft")
        directory.make()
        spec = JobSpec("sft", ("python", "train.py", "--per_device_train_batch_size", "8"))
        directory.write_spec(spec)
        change = Change("argv", "--per_device_train_batch_size", 8, 4)
        now = time.time()
        pending = Pending(
            "0a1b2c3d", "train.batch-size-device-oom", "batch-size", Proposal("halve the batch", (change,), spec), 1, now, now + 600
        )
        Desk(directory.path).save(State(pending=pending))
        (told,) = client.call("proposals")["proposals"]
        assert told["job"] == "sft" and told["preview"] == ["--per_device_train_batch_size 8 -> 4"]
        for wrong in ({"id": "0a1b2c3d", "answer": "perhaps"}, {"id": "ffffffff", "answer": "approve"}, {"answer": "approve"}):
            with pytest.raises(ApiError):
                client.call("answer", **wrong)
        assert client.call("answer", id="0a1b2c3d", answer="approve") == {"heard": False}
        desk = Desk(directory.path)
        assert desk.heard(desk.load(now))[1] == {"0a1b2c3d": "approve"}
