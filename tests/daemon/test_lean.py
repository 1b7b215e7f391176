"""What the daemon does not load: each of these is resident for months and never used by it."""

from __future__ import annotations

import gc
import importlib.util
import json
import os
import py_compile
import signal
import subprocess
import sys
import weakref
from pathlib import Path

import pytest
from daemon_support import Daemon, small_host, until

from neuronwatch.daemon import start

HEAVY = (
    "argparse",
    "asyncio",
    "base64",
    "csv",
    "dataclasses",
    "difflib",
    "email",
    "fractions",
    "gettext",
    "gzip",
    "http.client",
    "inspect",
    "logging",
    "lzma",
    "neuronwatch.cli",
    "neuronwatch.store.capture",
    "neuronwatch.store.history_query",
    "random",
    "rich",
    "shutil",
    "ssl",
    "statistics",
    "tempfile",
    "textual",
    "typing_extensions",
    "watchdog",
)


def test_the_daemon_loads_no_module_that_it_does_not_use(tmp_path: Path) -> None:
    code = (
        "import sys; from neuronwatch.daemon import start, streams, service, config_file; "
        "import neuronwatch.source.live.registry; from neuronwatch.source import formats; formats.shipped(); "
        "config_file.parse('[history]\\ndays = 3', 'x'); print(*sys.modules)"
    )
    environ = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
    for _ in range(2):  # the first one fills the cache
        done = subprocess.run([sys.executable, "-c", code], env=environ, capture_output=True, text=True, timeout=120, check=True)
    assert [name for name in HEAVY if name in done.stdout.split()] == []


def test_what_the_first_start_compiles_is_compiled_by_a_child(tmp_path: Path) -> None:
    code = (
        "import sys; from neuronwatch.daemon import start; start.fill_caches(None); "
        "print('neuronwatch.judge.rules.load' in sys.modules, 'hyperscan' in sys.modules)"
    )
    environ = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], env=environ, capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.split() == ["False", "False"]
    made = [path.suffix for path in (tmp_path / "neuronwatch").iterdir()]
    assert ".match" in made
    assert ".json" in made


def test_nothing_stays_of_the_making_of_rules() -> None:
    from neuronwatch.daemon.rules import forget_making
    from neuronwatch.judge.match import literals, pattern_of
    from neuronwatch.judge.rules import expr

    pattern_of(0, "a pattern|another")
    expr.parse("1 < 2")
    forget_making()
    remembered = (literals.required_literals, literals.requirement, literals.plain_price, expr.parse)
    assert [item.cache_info().currsize for item in remembered] == [0, 0, 0, 0]


def test_what_a_reload_replaces_goes_although_it_was_frozen_at_the_start() -> None:
    from neuronwatch.daemon.rules import forget_making

    class Old:
        pass

    first = Old()
    first.itself = first  # type: ignore[attr-defined]
    gone = weakref.ref(first)
    try:
        forget_making()  # the start
        assert gc.get_freeze_count() > 0
        del first
        forget_making()  # a reload
        assert gone() is None
        assert gc.get_freeze_count() > 0
    finally:
        gc.unfreeze()


def test_what_a_reload_compiles_is_compiled_by_a_child(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from neuronwatch.source import rule_reload

    rule = Path(__file__).parents[2] / "rules" / "runtime" / "exec-timeout.toml"
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / rule.name).write_bytes(rule.read_bytes())
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    rule_reload.compile_apart([tmp_path / "rules"])
    assert {".match", ".json"} <= {path.suffix for path in (tmp_path / "neuronwatch").iterdir()}
    rule_reload.compile_apart([tmp_path / "none"])  # what fails there is said where it is loaded


def test_the_daemon_starts_anew_under_its_own_id_and_survives_a_hangup(tmp_path: Path) -> None:
    """The process that was started is the daemon, without the parser of the command line. A SIGHUP that came meanwhile does not
    end it, and is not held back later."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGHUP,))
    try:
        daemon = Daemon(small_host(tmp_path / "host"), tmp_path / "s", wait=False)
        daemon.process.send_signal(signal.SIGHUP)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    with daemon:
        until(daemon.answers, "an answer of the daemon")
        with daemon.client() as client:
            assert client.call("status")["daemon"]["pid"] == daemon.pid
        argv = Path(f"/proc/{daemon.pid}/cmdline").read_bytes().split(b"\0")
        assert any(word.endswith(b"neuronwatch/daemon/__main__.py") for word in argv), argv
        assert b"--state-dir" in argv
        status = dict(line.split(":\t", 1) for line in Path(f"/proc/{daemon.pid}/status").read_text().splitlines())
        assert int(status["SigBlk"], 16) & (1 << (signal.SIGHUP - 1)) == 0
        assert int(status["ShdPnd"], 16) == 0


def test_bytecode_is_only_used_where_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from neuronwatch.daemon import lean

    program = tmp_path / "package" / "__main__.py"
    program.parent.mkdir()
    (program.parent / "service.py").write_text("")
    program.write_text("")
    monkeypatch.setattr(lean, "_place", lambda _name: program.with_name("service.py"))
    asked: list[bool] = []
    monkeypatch.setattr(lean, "compile_ahead", lambda: asked.append(True) or True)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    assert not lean._without_docstrings(program)  # it would be compiled at each start
    assert not asked
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    assert lean._without_docstrings(program)
    assert asked == [True]
    made = Path(importlib.util.cache_from_source(str(program.with_name("service.py")), optimization=2))
    made.parent.mkdir(exist_ok=True)
    source = program.with_name("service.py")
    py_compile.compile(str(source), str(made), optimize=2)
    assert lean._without_docstrings(program)
    assert asked == [True]
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    assert lean._without_docstrings(program)
    os.utime(source, (1, 1))  # a copy of an older one: Python would compile it
    assert not lean._without_docstrings(program)
    made.write_bytes(b"")
    assert not lean._without_docstrings(program)


def test_options_are_handed_on_whole(tmp_path: Path) -> None:
    """Through the environment and back, whatever is in them; and the program says no to who starts it by hand."""
    from neuronwatch.daemon import lean

    program = Path(lean.__file__).with_name("__main__.py")
    done = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 64
    assert done.stderr == "neuronwatch: use `neuronwatch daemon`\n"
    odd = tmp_path / "ä 'b' \\ $HOME"
    handed = json.dumps({"path": sys.path, "start": start.Start(str(odd), str(odd / "file"), str(tmp_path / "x"))._asdict()})
    (odd).mkdir()
    (odd / "file").write_text("")
    environ = {**os.environ, lean.HANDED: handed, "XDG_CACHE_HOME": str(tmp_path / "c")}
    done = subprocess.run([sys.executable, str(program)], env=environ, capture_output=True, text=True, timeout=120)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == f"neuronwatch: {odd / 'file'} is not a directory; pass another --state-dir"
