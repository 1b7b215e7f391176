"""What the daemon does not load: each of these is resident for months and never used by it."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import weakref
from pathlib import Path

import pytest

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
