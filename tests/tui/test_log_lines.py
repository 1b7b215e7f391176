"""What a line says of itself, in the wordings of the stack."""

from __future__ import annotations

import calendar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuronwatch.tui.view.log_lines import (
    CRITICAL,
    ERROR,
    INFO,
    NOBODY,
    PLAIN,
    WARNING,
    core_name,
    core_of,
    rank_of_path,
    said,
    stamp,
)


@pytest.mark.parametrize(
    ("line", "level"),
    [
        (b"2026-Dec-01 04:12:13.1234 42:4250 ERROR  NRT:nrt_infodump  Neuron runtime information", ERROR),
        (b"2026-Dec-01 04:12:13.1234 42:4250  WARN  TDRV:tdrv_init  old driver", WARNING),
        (b"2026-Dec-01 04:12:13.1234 42:4250  INFO  NRT:nrt_init  ready", INFO),
        (b"nrt_execute failed, status = 1202", ERROR),
        (b"2026-12-01 04:12:13,123 - trainer - CRITICAL - out of everything", CRITICAL),
        (b"WARNING:root:something", WARNING),
        (b"INFO 12-01 04:12:13 [loader.py:12] weights loaded", INFO),
        (b"(EngineCore_0 pid=42) ERROR 12-01 04:12:13 [core.py:1] died", ERROR),
        (b"[rank3]: E1201 04:12:13.000000 42 torch/elastic: failed", ERROR),
        (b"[rank3]: Traceback (most recent call last):", ERROR),
        (b"RuntimeError: the device is gone", ERROR),
        (b"[rank3]: torch.cuda.OutOfMemoryError: no", ERROR),
        (b"kernel: [259313.6] NEURON_HW_ERR=SRAM nd0 uncorrectable", ERROR),
        (b"<3>[  123.4] neuron: nd0 reset failed", ERROR),
        (b"4,812,99123,-;neuron: slow", WARNING),
        (b"<14>systemd: started", INFO),
        (b'{"level": "warning", "message": "x"}', WARNING),
        (b"time=x level=error msg=y", ERROR),
        (b"[error] worker 7 died", ERROR),
        (b"no error was found, warnings are off", PLAIN),
        (b"error_count=0 errors: none", PLAIN),
        (b"step 12 loss 2.3", PLAIN),
        (b"", PLAIN),
    ],
)  # fmt: skip
def test_levels(line: bytes, level: int) -> None:
    assert said(line).level == level


def test_a_line_set_in_goes_on_with_the_error_before_it() -> None:
    assert said(b'  File "x.py", line 3, in <module>', ERROR).level == ERROR
    assert said(b'  File "x.py", line 3, in <module>', INFO).level == PLAIN
    assert said(b"next", ERROR).level == PLAIN


@pytest.mark.parametrize(
    ("line", "rank"),
    [
        (b"[rank3]: x", 3), (b"[default12]: x", 12), (b"rank=7 x", 7), (b"(RayWorkerWrapper rank=5, pid=1) x", 5), (b"[1,4]<stderr>:x", 4),
        (b"(Worker_TP2 pid=9) x", 2), (b"Rank 9: x", 9), (b"global_rank: 31 x", 31), (b"ranks 3", NOBODY), (b"12:34:56 x", NOBODY),
        (b"[rank99999]: x", NOBODY - 1),
    ],
)  # fmt: skip
def test_ranks(line: bytes, rank: int) -> None:
    assert said(line).rank == rank


def test_the_rank_of_a_path_and_the_names_of_cores() -> None:
    assert rank_of_path("/tmp/run/attempt_0/3/stderr.log") == 3 and rank_of_path("/x/rank_12.log") == 12
    assert rank_of_path("/x/train.log") == NOBODY
    for name in ("nd0:nc1", "nd15", "nd3:nc7"):
        number = core_of(name)
        assert number is not None and core_name(number) == name
    assert core_name(said(b"NRT: nd2:nc5 failed").core) == "nd2:nc5" and core_name(said(b"ND 2:NC 5 failed").core) == "nd2:nc5"
    assert core_name(said(b"(nd3, nc1) x").core) == "nd3:nc1" and core_name(said(b"(FATAL) [ND 0][NC 1] x").core) == "nd0:nc1"
    assert core_name(said(b"/dev/neuron4: busy").core) == "nd4" and core_name(said(b"handled 3 and 4").core) == ""
    assert core_of("nc3") is None and core_of("x") is None


def test_stamps_are_read_with_their_zone_and_without_a_year() -> None:
    now = float(calendar.timegm((2026, 12, 1, 5, 0, 0)))
    noon = calendar.timegm((2026, 12, 1, 4, 12, 13))
    for line in (b"2026-Dec-01 04:12:13.12 42 ERROR", b"2026-12-01T04:12:13.5Z x", b"2026-12-01 04:12:13,123 - x", b"2026-12-01T06:12:13+02:00 x",
                 b"INFO 12-01 04:12:13 x", b"I1201 04:12:13.000 x", b"Dec  1 04:12:13 host kernel: x", b"2026-12-01T04:12:13,000000+0000 x"):  # fmt: skip
        assert stamp(line, now) == noon, line
    assert stamp(b"Dec 31 04:12:13 host x", now) == calendar.timegm((2025, 12, 31, 4, 12, 13))
    assert stamp(b"nothing", now) is None and stamp(b"2026-13-41 04:12:13", now) is None and stamp(b"Foo 11 01:02:03", now) is None


@given(st.binary(max_size=300))
def test_no_line_is_an_error_of_ours(line: bytes) -> None:
    told = said(line)
    assert 0 <= told.level <= CRITICAL and 0 <= told.rank <= NOBODY and 0 <= told.core <= NOBODY
    stamp(line, 1e9)
