"""Plain files and directories."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from reading_support import (
    FAULT,
    KERNEL,
    KILLED,
    NOT_AVAILABLE,
    PATTERNS,
    TIMED_OUT,
    counted,
    documents,
    matches,
    read,
    reports,
    virtual,
    windows,
)  # fmt: skip

from neuronwatch.judge.evidence import Match
from neuronwatch.model.records import MAX_TEXT
from neuronwatch.source.limits import MIB, Limits
from neuronwatch.source.lines import OFFSET_BASE
from neuronwatch.source.numbering import NUMBERING
from neuronwatch.source.plan import Plan
from neuronwatch.source.textscan import TextScan


def test_files_come_in_order_with_paths_relative_to_the_root(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "z.log").write_text(f"one\n{FAULT}\n")
    (tmp_path / "a.log").write_text(f"{FAULT}\n\nError: rank 3 timed out")
    assert matches(read(tmp_path)) == [(NOT_AVAILABLE, "a.log", 1), (TIMED_OUT, "a.log", 3), (NOT_AVAILABLE, "b/z.log", 2)]


def test_several_roots_have_their_name_in_front(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x.log").write_text(FAULT)
    single = tmp_path / "single.log"
    single.write_text(FAULT)
    found = matches(read(tmp_path / "one", tmp_path / "two", single))
    assert [path for _, path, _ in found] == ["one/x.log", "two/x.log", "single.log"]
    assert matches(read(single)) == [(NOT_AVAILABLE, "single.log", 1)]


def test_roots_of_one_name_are_told_apart(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name / "logs").mkdir(parents=True)
        (tmp_path / name / "logs" / "x.log").write_text(FAULT)
    paths = [path for _, path, _ in matches(read(tmp_path / "one" / "logs", tmp_path / "two" / "logs"))]
    assert len(set(paths)) == 2


def test_a_match_knows_its_kind_and_prefix() -> None:
    items = virtual(b"[rank3]: NeuronCore(s) not available\n[1.0] neuron: nd3 Killed process 7\nx\n")
    found = [item for item in items if isinstance(item, Match)]
    assert [(item.kind, item.line.rank) for item in found] == [("log", 3), ("kernel", None)]
    assert found[0].line.body == "NeuronCore(s) not available"


def test_ansi_colours_do_not_hide_a_match() -> None:
    items = virtual(b"x\n\x1b[31mNeuronCore(s)\x1b[0m not avail\x1b[1mable\x1b[0m\n")
    (found,) = [item for item in items if isinstance(item, Match)]
    assert (found.line.text, found.line.number) == ("NeuronCore(s) not available", 2)


def test_long_text_is_cut_around_the_match() -> None:
    items = virtual(b"x" * 9000 + FAULT.encode() + b"y" * 9000 + b"\n")
    (found,) = [item for item in items if isinstance(item, Match)]
    assert len(found.line.text) == MAX_TEXT and FAULT in found.line.text


def test_a_format_gets_long_lines_whole() -> None:
    line = "x" * 100_000 + "neuron: nd3" + "y" * 100_000
    assert windows(virtual(f"a\n{line}\nb\n".encode()), "kernel") == [[line]]
    loss = "{'loss': 1, " + "'x': 2, " * 30_000 + "'loss': 3}"
    assert windows(virtual(f"a\n{loss}\nb\n".encode()), "losses") == [[loss]]


def test_windows_have_the_lines_around_and_merge() -> None:
    text = "a\nb\nTraceback (most recent call last)\n1\n2\n3\n4\n5\nTraceback (most recent call last)\n6\n"
    assert windows(virtual(text.encode()), "traceback") == [
        ["b", "Traceback (most recent call last)", "1", "2", "3"],
        ["5", "Traceback (most recent call last)", "6"],
    ]
    text = text.replace("4\n", "")
    assert len(windows(virtual(text.encode()), "traceback")) == 1


def test_windows_go_over_chunk_borders() -> None:
    filler = "some ordinary line of a log\n" * (MIB // 28)
    lines = f"{filler}before\nTraceback (most recent call last)\n1\n2\n3\n4\n"
    for shift in range(0, 160, 7):
        (window,) = windows(virtual(("-" * shift + "\n").encode() + lines.encode()), "traceback")
        assert window == ["before", "Traceback (most recent call last)", "1", "2", "3"]


def test_line_numbers_over_chunk_borders() -> None:
    filler = "some ordinary line of a log\n" * (3 * MIB // 28)
    found = matches(virtual(f"{filler}{FAULT}\n{filler}{FAULT}".encode()))
    count = filler.count("\n")
    assert [number for _, _, number in found] == [count + 1, 2 * count + 2]


def test_frames_of_a_progress_bar_are_not_context() -> None:
    text = "start\n" + "".join(f"\r {n}%" for n in range(50)) + "\nTraceback (most recent call last)\r\n1\r\n2\r\n3\r\n"
    assert windows(virtual(text.encode()), "traceback") == [[" 49%", "Traceback (most recent call last)", "1", "2", "3"]]
    found = matches(virtual(f"10%\r20%\r{FAULT}\r30%\nx\n".encode()))
    assert found == [(NOT_AVAILABLE, "log", 1)]


def test_windows_line_ends_do_not_count_twice() -> None:
    assert matches(virtual(f"a\r\nb\r\n{FAULT}\r\n".encode())) == [(NOT_AVAILABLE, "log", 3)]


def test_after_the_first_hits_only_the_last_is_delivered() -> None:
    items = virtual("".join(f"{FAULT} {n}\n" for n in range(1000)).encode(), Limits(exact_hits=64))
    numbers = [number for _, _, number in matches(items)]
    assert numbers == [*range(1, 65), 1000]
    assert counted(items) == {NOT_AVAILABLE: 1000 - 65}


def test_big_files_get_their_numbers_later(tmp_path: Path) -> None:
    path = tmp_path / "big.log"
    filler = "some ordinary line of a log\n" * (5 * MIB // 28)
    path.write_text(f"{filler}{FAULT}\n{filler}{FAULT}\n")
    found = matches(read(path))
    assert all(number is not None and number > OFFSET_BASE for _, _, number in found)
    count = filler.count("\n")
    assert NUMBERING.resolve_all("big.log", [number for _, _, number in found]) == [count + 1, 2 * count + 2]


def test_a_file_format_owns_its_file_but_signatures_are_searched() -> None:
    items = virtual(json.dumps({"model_type": "qwen3", "note": FAULT}).encode())
    assert documents(items)[0].path == "log"
    assert matches(items) == [(NOT_AVAILABLE, "log", 1)]
    assert reports(items)["log"] == ("config", "read", "")


def test_encodings() -> None:
    text = f"first\n{FAULT}\n"
    for data in (
        text.encode("utf-16"), text.encode("utf-16-le"), text.encode("utf-16-be"), b"\xfe\xff" + text.encode("utf-16-be"),
        text.encode("utf-8-sig"), text.encode("utf-32"),
    ):  # fmt: skip
        assert matches(virtual(data)) == [(NOT_AVAILABLE, "log", 2)], data[:16]


def test_binary_is_skipped_and_said() -> None:
    items = virtual(bytes(range(256)) * 500)
    assert items[-1:] == items and reports(items)["log"] == ("binary", "skipped", "binary")


def test_zeros_and_broken_utf8_in_a_text() -> None:
    data = b"\0" * 5000 + b"caf\xe9 one\n" + b"\xff\xfe broken\n" + FAULT.encode() + b"\0\0\n" + b"text\n" * 500
    assert matches(virtual(data)) == [(NOT_AVAILABLE, "log", 3)]


def test_empty_file() -> None:
    assert reports(virtual(b""))["log"] == ("empty", "read", "empty")


def test_thinning_of_a_big_series_keeps_what_matters(tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    lines = [f"{{'loss': {2 + n % 7 / 10}, 'step': {n}}}" for n in range(400_000)]
    lines[131_234] = "{'loss': nan, 'step': 131234}"
    lines[240_321] = "{'loss': -inf, 'step': 240321}"
    lines[345_000] = "{'step': 345000, 'loss': inf}"
    path.write_text("\n".join(lines) + "\n" + "x" * 30)
    limits = Limits(series_lines=5_000, thin_above=1000, tail=64 * 1024)
    items = read(path, limits=limits)
    texts = [text for window in windows(items, "losses") for text in window]
    assert texts[:5_000] == lines[:5_000]
    assert {lines[131_234], lines[240_321], lines[345_000]} <= set(texts)
    assert texts[-1000:] == lines[-1000:]
    assert texts == sorted(texts, key=lambda text: int(text.partition("'step': ")[2].strip("}").split(",")[0]))
    assert len(texts) < 120_000
    assert "losses thinned after 5,000 lines" in reports(items)["train.log"][2]


def test_of_a_dense_series_only_the_last_lines_of_the_tail_are_read(tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    lines = [f"{{'loss': {2 + n % 7 / 10}, 'step': {n}}}" for n in range(200_000)]
    lines[199_000 - 60_000] = "{'loss': nan, 'step': 139000}"
    path.write_text("\n".join(lines) + "\n")
    items = read(path, limits=Limits(series_lines=1_000, thin_above=1000, tail=3 * MIB))
    texts = [text for window in windows(items, "losses") for text in window]
    assert texts[:1_000] == lines[:1_000] and texts[-2000:] == lines[-2000:] and lines[139_000] in texts
    assert len(texts) < 20_000


def test_a_rare_signature_is_counted_exactly_beside_one_that_is_everywhere(tmp_path: Path) -> None:
    path = tmp_path / "storm.log"
    filler = "ordinary line of a log, which makes the file big enough to be thinned\n"
    path.write_text("".join((f"{FAULT} {n}\n" if n % 1000 else f"killed process {n}\n") + filler for n in range(200_000)))
    items = read(path)
    found = [item for item in items if isinstance(item, Match)]
    assert counted(items)[KILLED] == 200 - 65 and "1,000 are estimates" in reports(items)["storm.log"][2]
    assert [item.line.text for item in found if item.pattern_id == KILLED][-1] == "killed process 199000"
    assert [item.line.text for item in found if item.pattern_id == NOT_AVAILABLE][:64] == [f"{FAULT} {n}" for n in range(1, 65)]
    assert 0.7 < counted(items)[NOT_AVAILABLE] / 199_800 < 1.3


def test_counts_of_a_storm_are_estimated_and_the_last_hit_is_exact(tmp_path: Path) -> None:
    path = tmp_path / "storm.log"
    path.write_text("".join(f"{FAULT} {n} killed process\n" if n % 3 else "quiet line of the log\n" for n in range(400_000)))
    items = read(path, limits=Limits(thin_above=1000, counted_hits=1000, tail=MIB))
    for pattern in (NOT_AVAILABLE, KILLED):
        total = counted(items)[pattern] + 65
        assert 0.7 < total / 266_666 < 1.3
    texts = [item.line.text for item in items if isinstance(item, Match)]
    assert texts[-1] == f"{FAULT} 399998 killed process" or texts[-1] == f"{FAULT} 399999 killed process"


def test_lines_of_trouble_of_a_thinned_format_are_found_among_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Most lines that speak of an error are of no thinned format: they are passed by before they become hits."""
    lines = ["neuron: nd3 fine\n"] * 600
    for n in range(200_000):
        lines.append(f"Error: {n} of the network\n" if n % 1000 else f"neuron: \x1b[1mnd3\x1b[0m Failed {n}\n")
    path = tmp_path / "storm.log"
    path.write_text("".join(lines))
    limits = Limits(thin_above=1000, format_lines=500, tail=64 * 1024)
    items = read(path, limits=limits)
    found = [line for run in windows(items, "kernel") for line in run if "Failed" in line]
    assert len(found) == 200 and len(set(found)) == 200
    assert _scan_of(limits)._unwanted(b"error of the network")
    assert not _scan_of(limits)._unwanted(b"neuron: nd3 error")
    monkeypatch.setattr(TextScan, "_unwanted", lambda self, lowered: False)
    assert read(path, limits=limits) == items


def _scan_of(limits: Limits) -> TextScan:
    """A scan in which the kernel's lines are thinned."""
    scan = TextScan("x", Plan(PATTERNS, (KERNEL,), (), None), limits, exact=True, big=True)
    for _ in range(limits.format_lines):
        scan.thinning.note(len(PATTERNS))
    return scan
