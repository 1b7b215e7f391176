"""What the daemon does not load: each of these is resident for months and never used by it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

HEAVY = (
    "asyncio",
    "dataclasses",
    "difflib",
    "email",
    "http.client",
    "inspect",
    "rich",
    "ssl",
    "textual",
    "typing_extensions",
)


def test_the_daemon_loads_no_module_that_it_does_not_use(tmp_path: Path) -> None:
    code = (
        "import sys; from neuronwatch.cli import daemon; from neuronwatch.daemon import service, config_file; "
        "import neuronwatch.source.live.registry; from neuronwatch.source import formats; formats.shipped(); "
        "config_file.parse('[history]\\ndays = 3', 'x'); print(*sys.modules)"
    )
    environ = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
    for _ in range(2):  # the first one fills the cache
        done = subprocess.run([sys.executable, "-c", code], env=environ, capture_output=True, text=True, timeout=120, check=True)
    assert [name for name in HEAVY if name in done.stdout.split()] == []


def test_what_the_first_start_compiles_is_compiled_by_a_child(tmp_path: Path) -> None:
    code = (
        "import sys; from neuronwatch.cli import daemon; daemon._fill_caches(None); "
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
