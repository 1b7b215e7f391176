"""The compile cache on a real disk: what is bad is found, moved aside with a manifest and back exactly; locks are proved."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from remedy_support import case, finding, spec

from neuronwatch.cli.main import main
from neuronwatch.remedy import cache, locks, survey
from neuronwatch.remedy.actions import quarantine_entry, stale_lock
from neuronwatch.remedy.api import Proposal, Refusal, RemedyError

OLD = time.time() - 7200


def entry(root: Path, name: str, compiler: str = "neuronxcc-2.21.33363.0+82129205", **files: bytes) -> Path:
    place = root / compiler / f"MODULE_{name}+e30acd3a"
    place.mkdir(parents=True)
    for file, data in files.items():
        path = place / file.replace("__", ".")
        path.write_bytes(data)
        os.utime(path, (OLD, OLD))
    os.utime(place, (OLD, OLD))
    return place


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "cache"
    entry(root, "1", model__neff=b"NEFF", model__done=b"")
    entry(root, "2", model__log=b"Failed compilation")
    entry(root, "3", model__neff=b"", model__done=b"")
    entry(root, "4")
    entry(root, "5", model__done=b"")
    entry(root, "6", model__hlo_module__pb=b"x")
    entry(root, "7", model__hlo_module__pb=b"x", model__hlo_module__pb__lock=b"")
    entry(root, "8", compiler="neuronxcc-2.14.227.0+2d4f85be", model__neff=b"NEFF", model__done=b"")
    return root


def tree(root: Path) -> dict[str, tuple[bytes, float]]:
    return {
        str(path.relative_to(root)): (path.read_bytes(), path.stat().st_mtime)
        for path in sorted(root.rglob("*"))
        if path.is_file() and cache.ASIDE not in path.parts
    }


def test_what_is_bad_is_found(root: Path) -> None:
    states = {item.path.rsplit("_", 1)[1][0]: item.state for item in cache.bad_entries(root, time.time(), "2.21.33363.0")}
    assert states == {"2": "failed", "3": "empty-neff", "4": "empty", "5": "done-without-neff", "8": "foreign"}
    assert "8" not in {item.path.rsplit("_", 1)[1][0] for item in cache.bad_entries(root, time.time())}


@pytest.mark.parametrize(
    ("fault", "gone"), [("compile.cached-failure", "2"), ("compile.silent-empty-neff", "345"), ("compile.cache-polluted", "235")]
)
def test_a_fault_moves_its_entries_aside_and_undo_brings_them_back_exactly(
    root: Path, tmp_path: Path, fault: str, gone: str
) -> None:
    before = tree(root)
    found = survey.survey(
        spec("python t.py"), [fault], {"NEURON_COMPILE_CACHE_URL": str(root)}, {}, tmp_path / "jobs", "", time.time()
    )
    answer = quarantine_entry.propose(case("python t.py", survey=found), finding(fault))
    assert isinstance(answer, Proposal) and answer.restart
    record = quarantine_entry.apply(answer.hand)
    assert {name for name in "12345678" if not list(root.glob(f"*/MODULE_{name}+*"))} == set(gone)
    assert len(cache.moved(root)) == 1
    assert quarantine_entry.undo(json.loads(json.dumps(record))).startswith(f"{len(gone)} moved back")
    assert tree(root) == before and cache.moved(root) == []


def test_where_evidence_names_an_entry_only_that_is_moved(root: Path, tmp_path: Path) -> None:
    from neuronwatch.model.records import Origin

    entry(root, "22", model__log=b"Failed")
    found = survey.survey(
        spec("python t.py"), quarantine_entry.FAULTS, {"NEURON_CC_FLAGS": f"-O1 --cache_dir={root}"}, {}, tmp_path, "", time.time()
    )
    said = Origin("e", 1, f"Got a cached failed neff at {root}/neuronxcc-2.21.33363.0+82129205/MODULE_22+e30acd3a/model.neff.")
    answer = quarantine_entry.propose(case("python t.py", survey=found), finding("compile.cached-failure", evidence=(said,)))
    assert isinstance(answer, Proposal) and isinstance(answer.hand["paths"], tuple) and len(answer.hand["paths"]) == 1


def test_a_new_entry_stays_when_the_old_one_is_restored(root: Path) -> None:
    place = next(root.glob("*/MODULE_2+*"))
    moved = cache.move_aside(root, [place], "test")
    entry(root, "2", model__neff=b"new", model__done=b"")
    back, left = cache.restore(root, moved.id)
    assert back == [] and "a new one" in left[0] and (place / "model.neff").read_bytes() == b"new"
    assert cache.moved(root), "it still lies aside"


@pytest.mark.parametrize("path", ["/etc/passwd", "../x", "neuronxcc-1/../../x", "neuronxcc-1", "MODULE_1", "x/MODULE_1"])
def test_nothing_outside_is_touched(root: Path, path: str) -> None:
    with pytest.raises(RemedyError):
        cache.move_aside(root, [root / path], "test")


def test_hostile_manifests_and_links_are_refused(root: Path, tmp_path: Path) -> None:
    moved = cache.move_aside(root, [next(root.glob("*/MODULE_2+*"))], "test")
    place = root / cache.ASIDE / moved.id
    (place / "manifest.json").write_text(json.dumps({"time": 1, "why": "x", "items": ["../../outside"]}))
    back, left = cache.restore(root, moved.id)
    assert back == [] and left and not (tmp_path / "outside").exists()
    (place / "manifest.json").write_text("[")
    with pytest.raises(RemedyError):
        cache.restore(root, moved.id)
    for name in ("../..", "", "0" * 12):
        with pytest.raises(RemedyError):
            cache.restore(root, name)
    outside = tmp_path / "elsewhere"
    outside.mkdir()
    (outside / "MODULE_9+a").mkdir()
    (root / "neuronxcc-9").symlink_to(outside)
    with pytest.raises(RemedyError):
        cache.move_aside(root, [root / "neuronxcc-9" / "MODULE_9+a"], "test")
    assert (outside / "MODULE_9+a").is_dir()
    assert not [item for item in cache.entries(root) if "neuronxcc-9" in str(item)]


def alone(root: Path) -> str:
    """Why the lock is kept, once no other test of this machine plays a compiler."""
    until = time.monotonic() + 60
    while "a compiler lives" in (said := locks.locks(root, time.time())[0].why_alive) and time.monotonic() < until:
        time.sleep(0.1)
    return said


def lock_of(root: Path) -> Path:
    return next(root.glob("*/MODULE_7+*/*.lock"))


def test_a_stale_lock_is_moved_aside_while_the_job_lives_and_back(root: Path, tmp_path: Path) -> None:
    assert alone(root) == ""
    found = survey.survey(
        spec("python t.py"), stale_lock.FAULTS, {"NEURON_COMPILE_CACHE_URL": str(root)}, {}, tmp_path, "", time.time()
    )
    assert [lock.why_alive for lock in found.locks] == [""]
    answer = stale_lock.propose(case("python t.py", exit=None, survey=found), finding("compile.stale-lock"))
    assert isinstance(answer, Proposal) and not answer.restart
    record = stale_lock.apply(answer.hand)
    assert not list(root.glob("*/MODULE_7+*/*.lock"))
    assert (
        stale_lock.undo(
            json.loads(json.dumps(record), object_hook=lambda o: {k: tuple(v) if isinstance(v, list) else v for k, v in o.items()})
        )
        == "1 locks moved back"
    )
    assert lock_of(root).stat().st_mtime == pytest.approx(OLD)


HOLDER = """
import fcntl, sys, time
file = open(sys.argv[1], "a")
{"flock": lambda: fcntl.flock(file, fcntl.LOCK_EX), "lockf": lambda: fcntl.lockf(file, fcntl.LOCK_EX), "open": lambda: None}[sys.argv[2]]()
print("holds", flush=True)
time.sleep(60)
"""


@pytest.mark.parametrize("how", ["flock", "lockf", "open"])
def test_a_lock_that_a_process_holds_is_never_moved(root: Path, tmp_path: Path, how: str) -> None:
    path = lock_of(root)
    holder = subprocess.Popen([sys.executable, "-c", HOLDER, str(path), how], stdout=subprocess.PIPE)
    try:
        assert holder.stdout is not None and holder.stdout.readline() == b"holds\n"
        os.utime(path, (OLD, OLD))
        assert locks.locks(root, time.time())[0].why_alive
        with pytest.raises(RemedyError, match="not stale"):
            locks.move_aside(root, path, "test")
        answer = stale_lock.propose(
            case(
                "python t.py",
                survey=survey.survey(
                    spec("x"), stale_lock.FAULTS, {"NEURON_COMPILE_CACHE_URL": str(root)}, {}, tmp_path, "", time.time()
                ),
            ),
            None,
        )
        assert isinstance(answer, Refusal)
    finally:
        holder.kill()
        holder.wait()
        holder.stdout.close()  # type: ignore[union-attr]
    assert alone(root) == "", "once it is gone, the lock is stale"


def test_a_compiler_anywhere_on_the_host_keeps_every_lock(root: Path, tmp_path: Path) -> None:
    program = tmp_path / "neuronx-cc"
    program.write_text(f"#!{sys.executable}\nimport time\nprint('compiles', flush=True)\ntime.sleep(60)\n")
    program.chmod(0o755)
    compiler = subprocess.Popen([str(program), "compile"], stdout=subprocess.PIPE)
    try:
        assert compiler.stdout is not None and compiler.stdout.readline()
        assert f"a compiler lives (pid {compiler.pid}" in locks.locks(root, time.time())[0].why_alive
    finally:
        compiler.kill()
        compiler.wait()
        compiler.stdout.close()  # type: ignore[union-attr]


def test_young_locks_and_those_that_name_a_living_process_are_kept(root: Path) -> None:
    path = lock_of(root)
    os.utime(path)
    assert "too young" in locks.locks(root, time.time())[0].why_alive
    assert "too young" in alone(root)
    path.write_text(f"{os.getpid()}\nhost\n")
    os.utime(path, (OLD, OLD))
    assert "which it names, lives" in locks.locks(root, time.time())[0].why_alive
    path.unlink()
    path.symlink_to("/etc/hostname")
    assert locks.why_alive(path, 7200.0, [], "") != ""


def test_what_other_hosts_may_share_is_never_proved(root: Path) -> None:
    assert "other hosts" in locks.why_alive(lock_of(root), 7200.0, [], "nfs4")
    assert locks.file_system(root) and locks.network_file_system(root) == ""


def test_the_verbs(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = tree(root)
    place = ["--cache", str(root)]
    assert alone(root) == ""
    assert main(["cache", "list", *place]) == 0
    shown = capsys.readouterr().out
    assert "failed" in shown and "stale: no process holds it" in shown
    failed = str(next(root.glob("*/MODULE_2+*")))
    assert main(["cache", "quarantine", failed, *place]) == 0
    name = capsys.readouterr().out.split()[0]
    with lock_of(root).open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        os.utime(lock_of(root), (OLD, OLD))
        assert main(["cache", "quarantine", str(lock_of(root)), *place]) == 1
    assert main(["cache", "quarantine", str(next(root.glob("*/MODULE_6+*"))), *place]) == 1
    assert "somebody may be compiling" in capsys.readouterr().err
    assert main(["cache", "quarantine", str(root / "nothing"), *place]) == 64
    assert main(["cache", "list", "--format", "json", *place]) == 0
    capsys.readouterr()
    assert main(["cache", "restore", name, *place]) == 0
    assert tree(root) == before
    assert main(["cache", "restore", name, *place]) == 1
    assert main(["cache", "list", "--cache", "/nowhere"]) == 64
    assert main(["cache", "list", "--cache", "s3://bucket/x"]) == 64
