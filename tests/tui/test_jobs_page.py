"""Jobs, serving and processes as rows."""

from __future__ import annotations

import time
from typing import Any

import pytest
from tui import pictures

from neuronwatch.tui.draw.glyphs import ASCII, UNICODE, Glyphs
from neuronwatch.tui.draw.row import plain, width_of
from neuronwatch.tui.frame import compose
from neuronwatch.tui.pages.api import Frame, Page
from neuronwatch.tui.pages.job_rows import job_line
from neuronwatch.tui.pages.jobs import Jobs
from neuronwatch.tui.pages.processes import Processes
from neuronwatch.tui.pages.serving import Serving
from neuronwatch.tui.view import jobs as view
from neuronwatch.tui.view.picture import Picture

NOW = pictures.NOW


def job(name: str = "qwen3", kind: str = "train", **more: Any) -> dict[str, Any]:
    loss = [[10.0 * step, 3.0 - step / 50, NOW - 600 + 5 * step] for step in range(100)]
    return {"id": f"host:/logs/{name}.log", "name": name, "kind": kind, "phase": "step", "age": 2.0, "step": 990.0, "epoch": None,
            "max_steps": 4000.0, "ranks": 1, "curves": {"loss": loss}, "loss": 1.02} | more  # fmt: skip


def server(name: str = "vllm", **more: Any) -> dict[str, Any]:
    curves = {name: [[None, value + at % 3, NOW - 600 + 10 * at] for at in range(60)]
              for name, value in (("running", 4.0), ("waiting", 0.0), ("tokens_per_s", 160.0), ("kv_usage", 20.0))}  # fmt: skip
    newest = {"running": 6.0, "waiting": 2.0, "tokens_per_s": 162.0, "kv_usage": 22.0, "batch_limit": 16}
    return job(name, "serve", phase="serve", step=None, max_steps=None, curves=curves, **(newest | more))


def process(pid: int, parent: int = 1, **more: Any) -> dict[str, Any]:
    return {"pid": pid, "age": 1.0, "cpu": 50.0, "rss": 6e9, "threads": 18.0, "device_memory": 1e9 * pid, "p50": 0.02, "p99": 0.03,
            "parent": parent, "state": "S", "command": f"python train.py --rank {pid}", "devices": [pid % 16], "owner": "ubuntu",
            "cores": [f"nd{pid % 16}:nc0"]} | more  # fmt: skip


def picture(jobs: list[dict[str, Any]] | None = None, processes: list[dict[str, Any]] | None = None) -> Picture:
    found = pictures.picture()
    if jobs is not None:
        found.apply("jobs", jobs)
    if processes is not None:
        found.apply("processes", processes)
    return found


def text(page: Page, picture: Picture, width: int = 150, height: int = 40, glyphs: Glyphs = UNICODE) -> str:
    rows = compose(picture, page, [page], width, height, glyphs)
    assert len(rows) == height and {width_of(row) for row in rows} == {width}
    return "\n".join(map(plain, rows))


def test_a_run_is_shown_with_its_curve_and_what_is_not_told_is_a_mark() -> None:
    shown = text(Jobs(), picture([job()]))
    line = next(line for line in shown.split("\n") if "▸" in line)
    assert "990/4000" in line and "1.02" in line and "?" in line and "✓ step" in line
    assert "Loss" in shown and any("\u2800" < c < "\u2900" for c in shown)


def test_a_loss_that_is_no_number_is_said_in_the_list_and_marked_in_the_curve() -> None:
    found = job(loss=None)
    found["curves"]["loss"] += [[1000.0, None, NOW - 5]]
    shown = text(Jobs(), picture([found]))
    assert "NaN" in shown and "✗ no number" in shown and shown.count("✗") >= 2
    assert "NaN" in plain(job_line(picture(), found, Frame(100, 20, UNICODE)))


def test_two_runs_in_one_log_are_two_curves() -> None:
    points = [[float(step), 3.0, None] for step in range(50)] + [[float(step), 2.0, None] for step in range(30)]
    found = job(curves={"loss": points})
    curve = view.curve_of(picture([found]), found, "loss")
    assert curve is not None and [len(run) for run in curve.runs] == [50, 30]
    assert "2 runs" in text(Jobs(), picture([found]))


def test_a_restart_parts_a_curve_without_steps() -> None:
    found = server(restarts=[{"time": NOW - 300, "reason": "killed", "incident": "1"}])
    curve = view.curve_of(picture([found]), found, "running")
    assert curve is not None and curve.axis == "time" and len(curve.runs) == 2


def test_ranks_that_are_a_step_apart_are_one_run() -> None:
    points = [[float(step), 3.0, None] for step in (1, 2, 1, 3, 2, 4, 3, 5)]
    found = job(curves={"loss": points})
    curve = view.curve_of(picture([found]), found, "loss")
    assert curve is not None and len(curve.runs) == 1


def test_the_log_scale_is_switched_by_its_key_and_the_log_is_opened() -> None:
    page, found = Jobs(), picture([job()])
    assert "  log" not in text(page, found)
    page.key("l", found)
    assert "  log" in text(page, found)
    asked = page.key("o", found)
    assert asked is not None and asked.arguments == ("logs", "host:/logs/qwen3.log")
    assert page.needs() == ("jobs host:/logs/qwen3.log",)


def test_a_silent_run_does_not_look_like_one_that_works() -> None:
    shown = text(Jobs(), picture([job(phase="silent", age=900.0)]))
    assert "! silent" in shown and "15m" in shown
    assert "last line 15m ago" in plain(job_line(picture(), job(phase="silent", age=900.0), Frame(200, 20, UNICODE)))


def test_restarts_are_told_with_their_reason_or_that_it_is_not_known() -> None:
    restarts = [
        {"time": NOW - 500, "reason": "hw.uncorrectable-memory", "incident": "i1"},
        {"time": NOW - 50, "reason": "", "incident": ""},
    ]
    shown = text(Jobs(), picture([job(restarts=restarts)]))
    assert "! 2" in shown and "hw.uncorrectable-memory" in shown and "the reason is not known" in shown


def test_a_server_shows_its_queue_batch_and_histogram() -> None:
    shown = text(Serving(), picture([server(p50=0.02, p99=0.05, buckets=[1, 4, 8])]), 160, 50)
    assert "6/16" in shown and "38%" in shown and "Batch size" in shown and "20ms" in shown and "1, 4, 8" in shown


def test_a_server_of_unknown_limit_has_no_fill() -> None:
    shown = text(Serving(), picture([server(batch_limit=None)]))
    assert "its limit is not known" in shown


@pytest.mark.parametrize("page", [Jobs(), Serving(), Processes()])
def test_unknown_is_not_none(page: Page) -> None:
    assert "has not told" in text(page, pictures.picture())
    assert "has not told" not in text(page, picture([], []))


def test_processes_are_sorted_and_the_cursor_stays_on_its_process() -> None:
    page, found = Processes(), picture(processes=[process(pid) for pid in (3, 9, 5)])
    lines = text(page, found).split("\n")
    assert [line.split()[1] for line in lines if "▸" in line] == ["9"]
    page.key("j", found)
    text(page, found)
    assert page.copied(found) == "5"
    for _ in range(5):
        page.key("s", found)
    assert "by pid" in text(page, found) and page.copied(found) == "5"
    page.filter("rank 3")
    assert "1 processes" in text(page, found) and page.copied(found) == "3"


def test_the_tree_shows_parents_of_what_is_found_and_survives_a_ring_of_parents() -> None:
    found = picture(processes=[process(10), process(11, 10), process(12, 11), process(20, 21), process(21, 20)])
    page = Processes()
    page.key("t", found)
    shown = text(page, found)
    assert "└ " in shown and all(f" {pid} " in shown for pid in (10, 11, 12, 20, 21))
    page.filter("rank 12")
    shown = text(page, found)
    assert " 10 " in shown and " 12 " in shown and " 20 " not in shown


def test_who_holds_what_is_told_apart_from_not_known() -> None:
    rows = [process(1, devices=None), process(2, devices=[]), process(3, devices=[0, 1, 2, 5], cores=None), process(4, owner=None)]
    shown = text(Processes(), picture(processes=rows))
    assert "not readable" in shown and "nd0-2,5 cores ?" in shown


def test_hostile_names_are_text() -> None:
    evil = "\x1b[31m[bold]x\u202e\nnext" + "y" * 10_000
    shown = text(Jobs(), picture([job(evil)])) + text(
        Processes(), picture(processes=[process(7, command=evil, owner=evil, tag=evil)])
    )
    assert "\x1b" not in shown and "\u202e" not in shown and "[bold]x" in shown


@pytest.mark.parametrize("size", [(40, 8), (80, 24), (300, 80)])
@pytest.mark.parametrize("glyphs", [UNICODE, ASCII])
def test_many_jobs_and_processes_fit_and_are_drawn_quickly(size: tuple[int, int], glyphs: Glyphs) -> None:
    found = picture(
        [job(f"j{n}") for n in range(64)] + [server(name=f"s{n}") for n in range(3)], [process(n, n // 2) for n in range(1, 501)]
    )
    for page in (Jobs(), Serving(), Processes()):
        begun = time.process_time()
        for key in ("", "G", "t", "l", "s", "enter", "escape"):
            page.key(key, found)
            shown = text(page, found, *size, glyphs)
            assert glyphs is UNICODE or shown.isascii()
        assert (time.process_time() - begun) / 7 < 0.5


def test_a_latency_that_is_absent_is_told_apart_from_one_that_nobody_told() -> None:
    silent = process(3, p50=None)
    untold = process(4)
    del untold["p50"]
    lines = text(Processes(), picture(processes=[silent, untold])).split("\n")
    assert next(line for line in lines if " 3 " in line[:12]).split().count("·") == 1
    assert next(line for line in lines if " 4 " in line[:14]).split().count("?") == 1


def test_a_list_shows_programs_without_their_directories() -> None:
    found = picture(processes=[process(3, command="/opt/venv/bin/python3 -u /home/u/x/train.py --out /home/u/x/out")])
    assert any(
        line.endswith("python3 -u train.py --out /home/u/x/out") for line in map(str.rstrip, text(Processes(), found).split("\n"))
    )


def test_rounded_epochs_are_spread_out() -> None:
    points = [[round(at / 500, 2), 3.0, None] for at in range(100)]
    found = job(step=None, epoch=0.2, curves={"loss": points})
    curve = view.curve_of(picture([found]), found, "loss")
    assert curve is not None and curve.axis == "epoch" and len({x for x, _ in curve.runs[0]}) > 90


def test_the_utilisation_of_a_run_is_that_of_its_cores_and_as_old() -> None:
    cores = [f"nd{device}:nc{core}" for device in range(2) for core in range(4)]
    known = picture([job(cores=cores, utilization=12.0)])
    assert "75%" in text(Jobs(), known) and "12%" not in text(Jobs(), known)
    assert view.utilization(known, known.jobs[0]).trust == "fresh"
    known.apply("time", NOW + 30)  # nothing came since
    assert view.utilization(known, known.jobs[0]).trust == "stale"
    assert "75%~" in text(Jobs(), known)
    assert "cores 75%~" in plain(job_line(known, known.jobs[0], Frame(200, 20, UNICODE)))


def test_what_was_told_of_jobs_long_ago_looks_so() -> None:
    known = picture([job()])
    assert not view.is_old(known, known.jobs[0])
    known.apply("time", NOW + 60)
    assert view.is_old(known, known.jobs[0])


@pytest.mark.parametrize("page, item", [(Jobs, job), (Serving, server)])
def test_a_narrow_list_leaves_out_whole_columns_the_least_first(page: type[Page], item: Any) -> None:
    known = picture([item()])
    for width in range(60, 200, 9):
        head, line = text(page(), known, width, 24).split("\n")[2:4]
        titles = head.split()
        assert "…" not in head + line and len(line.rstrip()) == len(head.rstrip())
        assert width < 80 or {"age", "cores" if page is Jobs else "p99"} <= set(titles)


def test_the_phase_of_a_run_is_not_green_when_nobody_tells_of_it() -> None:
    known = picture([job()])
    assert "✓ step" in text(Jobs(), known)
    known.apply("time", NOW + 60)
    assert "✓ step" not in text(Jobs(), known) and "~ step" in text(Jobs(), known)
