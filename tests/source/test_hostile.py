"""Evidence that wants to hurt: nothing hangs, nothing leaves the directory, the rest is read all the same."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest
from reading_support import FAULT, NOT_AVAILABLE, matches, read, reports, virtual, windows

from neuronwatch.judge.match import pattern_of
from neuronwatch.source import reader, tree
from neuronwatch.source.limits import MIB, Limits


def test_links_are_not_followed_out_of_the_tree(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.log").write_text(FAULT)
    root = tmp_path / "root"
    (root / "in").mkdir(parents=True)
    (root / "in" / "real.log").write_text(FAULT)
    (root / "to-file").symlink_to(tmp_path / "outside" / "secret.log")
    (root / "to-dir").symlink_to(tmp_path / "outside")
    (root / "to-root").symlink_to("/")
    (root / "loop").symlink_to(root)
    (root / "inside.log").symlink_to("in/real.log")
    (root / "nowhere").symlink_to("missing")
    items = read(root)
    assert matches(items) == [(NOT_AVAILABLE, "in/real.log", 1)]
    said = reports(items)
    assert all(said[name][2] == "a link out of the evidence is not followed" for name in ("to-file", "to-dir", "to-root"))
    assert "read in its own place" in said["inside.log"][2] and "read in its own place" in said["loop"][2]
    assert said["nowhere"][2] == "a link to nothing"


def test_a_link_that_is_given_is_followed(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "x.log").write_text(FAULT)
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "file").symlink_to("real/x.log")
    assert matches(read(tmp_path / "link")) == [(NOT_AVAILABLE, "x.log", 1)]
    assert matches(read(tmp_path / "file")) == [(NOT_AVAILABLE, "file", 1)]


def test_pipes_sockets_and_devices_are_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "x.log").write_text(FAULT)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "socket"))
        items = read(tmp_path)
    said = reports(items)
    assert said["pipe"][1:] == ("skipped", "a named pipe is not read")
    assert said["socket"][1:] == ("skipped", "a socket is not read")
    assert reports(read(Path("/dev/zero")))["zero"][1:] == ("skipped", "a character device is not read")
    assert matches(items) == [(NOT_AVAILABLE, "x.log", 1)]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs root to become another user")
def test_unreadable_files_as_another_user(tmp_path: Path) -> None:
    for directory in (tmp_path, *tmp_path.parents):
        if directory.owner() == "root" and directory != Path("/") and directory.is_relative_to("/tmp/pytest-of-root"):
            directory.chmod(0o755)
    (tmp_path / "a.log").write_text(FAULT)
    (tmp_path / "closed.log").write_text(FAULT)
    (tmp_path / "closed.log").chmod(0)
    (tmp_path / "closed-dir").mkdir(mode=0o700)
    (tmp_path / "z.log").write_text(FAULT)
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        os.setgid(65534)
        os.setuid(65534)
        items = read(tmp_path)
        os.write(write_end, repr((matches(items), reports(items))).encode())
        os._exit(0)
    os.close(write_end)
    with os.fdopen(read_end, "rb") as handle:
        found, said = eval(handle.read())
    os.waitpid(child, 0)
    assert found == [(NOT_AVAILABLE, "a.log", 1), (NOT_AVAILABLE, "z.log", 1)]
    assert said["closed.log"][1:] == ("failed", "permission denied")
    assert said["closed-dir"][1:] == ("failed", "permission denied")


def test_a_sparse_file_of_ten_gigabytes_is_read_without_its_holes(tmp_path: Path) -> None:
    path = tmp_path / "sparse.log"
    with path.open("wb") as handle:
        handle.write(f"head {FAULT}\n".encode())
        handle.seek(5 << 30)
        handle.write(f"middle {FAULT}\n".encode())
        handle.truncate(10 << 30)
    if path.stat().st_blocks * 512 > 1 << 30:
        pytest.skip("this file system has no holes")
    begun = time.process_time()
    items = read(path)
    assert time.process_time() - begun < 2
    assert len(matches(items)) == 2
    empty = tmp_path / "hole.log"
    with empty.open("wb") as handle:
        handle.truncate(10 << 30)
    assert reports(read(empty))["hole.log"] == ("empty", "read", "nothing but a hole")


def test_a_log_that_was_truncated_while_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "copytruncate.log"
    with path.open("wb") as handle:
        handle.seek(64 * MIB)
        handle.write(f"text\n{FAULT}\n".encode() * 10)
    assert len(matches(read(path))) == 10


def test_a_line_without_end_is_bounded() -> None:
    line = (b"x" * 99 + b" ") * (20 * MIB // 100) + FAULT.encode() + (b"y" * 99 + b" ") * (20 * MIB // 100)
    items = virtual(line)
    assert matches(items) == [(NOT_AVAILABLE, "log", 1)]
    items = virtual(b"Traceback (most recent call last) " + line)
    assert all(len(text) <= 2 * MIB for window in windows(items, "traceback") for text in window)


def test_a_match_on_the_border_of_two_windows_of_a_long_line_is_found() -> None:
    for shift in range(MIB - 3 * len(FAULT), MIB + len(FAULT), 17):
        assert matches(virtual(b"x" * shift + FAULT.encode() + b"x" * (2 * MIB)))


def test_hostile_names_are_shown_as_escapes(tmp_path: Path) -> None:
    for name in (b"\x1b[2Jred.log", b"two\nlines.log", b"\xff\xfe.log", "\u202egnp.log".encode(), b"[bold]x.log"):
        (tmp_path / os.fsdecode(name)).write_text(FAULT)
    paths = [path for _, path, _ in matches(read(tmp_path))]
    assert sorted(paths) == sorted([
        "\\x1b[2Jred.log", "two\\x0alines.log", "\\xff\\xfe.log", "\\u202egnp.log", "[bold]x.log"
    ])  # fmt: skip


def test_a_file_that_vanishes_shrinks_or_grows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.log").write_text(f"{FAULT}\n")
    (tmp_path / "b.log").write_text(f"{FAULT}\n" * 10)
    (tmp_path / "c.log").write_text(("quiet\n" * 1000 + f"{FAULT}\n") * 1000)
    (tmp_path / "d.log").write_text(f"{FAULT}\n")
    walk = tree.walk

    def meddling(paths: list[Path]) -> object:
        for entry in walk(paths):
            if getattr(entry, "path", "") == "b.log":
                (tmp_path / "b.log").unlink()
            yield entry

    monkeypatch.setattr(reader, "walk", meddling)
    found = []
    for item in reader.read_evidence([tmp_path], [pattern_of(NOT_AVAILABLE, r"NeuronCore\(s\) not available")], (), ()):
        found.append(item)
        if matches([item]) and matches([item])[0][1] == "c.log" and (tmp_path / "c.log").stat().st_size > 1000:
            os.truncate(tmp_path / "c.log", 10)
            with (tmp_path / "d.log").open("a") as handle:
                handle.write("more\n")
    said = reports(found)
    assert said["b.log"][1:] == ("failed", "it vanished while the evidence was read")
    assert said["c.log"][1:] == ("partial", "it became shorter while it was read")
    assert said["d.log"][1] == "read" and ("d.log" in {path for _, path, _ in matches(found)})


def test_a_file_that_grows_for_ever_ends(tmp_path: Path) -> None:
    path = tmp_path / "growing.log"
    path.write_bytes(b"quiet line\n" * 200_000)
    stop = threading.Event()

    def grow() -> None:
        with path.open("ab") as handle:
            while not stop.is_set() and handle.tell() < 64 * MIB:
                handle.write(b"quiet line\n" * 10_000)

    writer = threading.Thread(target=grow)
    writer.start()
    items = read(path)
    stop.set()
    writer.join()
    assert reports(items)["growing.log"][1] == "read"


def test_a_missing_path_is_a_report(tmp_path: Path) -> None:
    assert reports(read(tmp_path / "nothing"))["nothing"][1] == "missing"


def test_a_catastrophic_pattern_is_dropped_and_the_rest_goes_on() -> None:
    patterns = [pattern_of(0, r"(a+)+b needle!"), pattern_of(1, r"other thing")]
    text = ("a" * 200 + "c needle!\n" + "other thing\n") * 3
    begun = time.process_time()
    items = list(reader.read_virtual("log", text.encode(), patterns, (), ()))
    assert time.process_time() - begun < 10
    assert [number for _, _, number in matches(items)] == [2, 4, 6]


def test_a_directory_of_many_names_is_read_in_order_and_in_passes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree, "BATCH", 100)
    names = [f"{n:04d}" for n in range(1234)]
    for name in names:
        (tmp_path / name).touch()
    assert [entry.path for entry in tree.walk([tmp_path])] == names


def test_reports_of_many_quiet_files_are_summed_up(tmp_path: Path) -> None:
    for n in range(300):
        (tmp_path / f"{n:03d}.log").write_text(FAULT if n == 250 else "quiet\n")
    said = reports(read(tmp_path, limits=Limits(quiet_reports=50)))
    assert len(said) == 52 and said["250.log"][1] == "read"
    assert said["(249 further files)"][2] == "nothing was found in them"


def test_deep_directories_end(tmp_path: Path) -> None:
    place = tmp_path
    for _ in range(tree.MAX_DEPTH + 5):
        place = place / "d"
    place.mkdir(parents=True)
    assert any("deeper" in reason for _, _, reason in reports(read(tmp_path)).values())


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_memory_stays_small_on_a_big_file(tmp_path: Path) -> None:
    path = tmp_path / "big.log"
    with path.open("wb") as handle:
        for n in range(200):
            handle.write(b"[%06d] an ordinary line of some log, with numbers 12 34 56\n" % n * 18_000)
            handle.write(f"{FAULT}\n".encode())
    program = textwrap.dedent(f"""
        import sys
        from pathlib import Path
        sys.path.insert(0, {str(Path(__file__).parent)!r})
        from reading_support import matches, read
        assert len(matches(read(Path({str(path)!r})))) == 65
        print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
    """)
    used = int(subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, text=True).stdout)
    assert used < 60 * 1024
