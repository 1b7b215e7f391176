"""Who writes a followed text, and when another run began in it."""

from __future__ import annotations

import pytest

from neuronwatch.judge.writers import Writers, all_gone, pid_of
from neuronwatch.parse import trainer_banner

NRT = "2024-Apr-05 11:41:02.0111   {0}:{0}    INFO   NRT:x   y"


@pytest.mark.parametrize(
    ("text", "pid"),
    [
        (NRT.format(32), 32),
        ("2026-Sep-01 21:14:40.000101   288:290   ERROR  TDRV:dma_check_abort   x", 288),
        ("E1201 01:18:13.235491 51583 torch/distributed/elastic/multiprocessing/api.py:874] failed", 51583),
        ("INFO:     Started server process [4120]", 4120),
        ("[2022-07-21 11:15:58 +0000] [21628] [ERROR] Exception in worker process", 21628),
        ("(EngineCore_DP0 pid=812) ERROR 06-09 07:59:41", 812),
        ("Nov 12 03:10:44 ip-10-2-3-4 neuronwatch[2211]: source neuron-monitor failed", 2211),
        ("2026-11-12T03:10:44.123+00:00 ip-10 python3[77]: hello", 77),
        ("Nov 12 03:10:44 ip-10-2-3-4 kernel: [1.2] neuron: x", None),
        ("step 12:13 INFO nothing", None),
        ("", None),
        ("9" * 5000, None),
    ],
)
def test_processes_of_lines(text, pid):
    assert pid_of(text) == pid


def fed(*lines):
    """`(time, text)` in order."""
    writers = Writers()
    for number, (mono, text) in enumerate(lines, start=1):
        writers.line(text, number, mono)
    return writers


def test_workers_of_one_run_are_no_new_run():
    writers = fed(*((float(worker), NRT.format(100 + worker)) for worker in range(30)), (40.0, NRT.format(100)))
    assert writers.began_anew(1, frozenset({100}), 45.0) is None
    assert writers.older_run(45.0) is None


def test_another_process_after_a_minute_of_silence_is_one():
    writers = fed((0.0, NRT.format(1)), (0.1, "trouble"), (5.0, NRT.format(2)), (6.0, NRT.format(2)))
    assert writers.at(2) == {1}
    assert writers.began_anew(2, frozenset({1}), 30.0) is None, "the old one may only be slow"
    assert writers.began_anew(2, frozenset({1}), 61.0) == (3, 5.0)
    assert writers.older_run(61.0) == 1
    writers.retire(1)
    assert set(writers.processes) == {2}


def test_two_that_write_in_turns_are_one_run():
    writers = fed(*((float(turn), NRT.format(1 + turn % 2)) for turn in range(100)))
    assert writers.older_run(500.0) is None


def test_a_banner_that_comes_again_is_a_new_run_and_one_of_each_rank_is_not():
    banner = "***** Running training *****"
    writers = fed((0.0, banner), (0.1, banner), (1.0, "trouble"))
    assert writers.began_anew(3, frozenset(), 500.0) is None
    writers.line(banner, 4, 300.0)
    assert writers.began_anew(3, frozenset(), 300.0) == (4, 300.0) and writers.older_run(300.0) == 3
    writers.retire(3)
    assert writers.older_run(400.0) is None
    assert writers.began_anew(3, frozenset(), 400.0) == (4, 300.0), "also when the old run is forgotten"


def test_lines_of_a_log_of_many_programs_belong_to_no_run():
    writers = fed((0.0, "Nov 12 03:10:44 ip-10 kubelet[900]: x"), (1.0, "trouble"))
    assert writers.at(2) == frozenset()


def test_a_hundred_thousand_processes_are_bounded():
    writers = fed(*((float(number), NRT.format(number)) for number in range(1, 3000)))
    assert len(writers.processes) <= 256 and 2999 in writers.processes


def test_what_is_gone():
    assert all_gone(frozenset({7}), {}, 100.0)
    assert not all_gone(frozenset({7}), None, 100.0), "nobody looks"
    assert not all_gone(frozenset(), {}, 100.0), "nobody to look for"
    assert not all_gone(frozenset({7, 8}), {8: 0.0}, 100.0)
    assert all_gone(frozenset({7}), {7: 500.0}, 100.0), "another process with its number"


def test_all_ended_needs_to_have_seen_them_alive():
    writers = fed((0.0, NRT.format(1)))
    assert not writers.all_ended({}, 500.0), "perhaps it has another number out here"
    assert not writers.all_ended({1: 0.0}, 500.0)
    assert writers.all_ended({}, 500.0)
    writers.spoke = 490.0
    assert not writers.all_ended({}, 500.0)


def test_a_line_that_is_told_again_is_no_news():
    """What a line stands in may go on; then it is given again."""
    started = "[    8.21] Neuron Driver Started with Version:2.24.7.0 at: 2026-nov-28"
    writers = fed((0.0, started), (0.0, NRT.format(1)), (5.0, NRT.format(2)))
    for number, text in enumerate((started, NRT.format(1), NRT.format(2)), start=1):
        writers.line(text, number, 90.0)
    assert writers.driver == (1, 0.0) and writers.processes[1].spoke == 0.0
    assert writers.began_anew(2, frozenset({1}), 90.0) == (3, 5.0)


def test_the_launcher_begins_a_run_before_its_script_says_anything():
    launch = (
        "Setting OMP_NUM_THREADS environment variable for each process to be 1 in default, to avoid your system being overloaded"
    )
    writers = fed((0.0, launch), (5.0, launch), (30.0, "***** Running training *****"), (60.0, "{'loss': 1}"), (300.0, launch))
    assert writers.older_run(310.0) == 4


def test_the_line_of_the_launcher_is_read():
    assert any("OMP_NUM_THREADS" in trigger for trigger in trainer_banner.FORMAT.triggers)
