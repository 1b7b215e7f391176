"""The command line: exit codes, formats, errors with a mend, nothing heavy imported before it is needed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
from case_support import CASES, NAMES

from neuronwatch.cli import schema
from neuronwatch.cli.main import VERBS, main

ROOT = Path(__file__).resolve().parents[2]
FAULT = CASES / "driver-229-needs-runtime-233" / "evidence"
HEALTHY = next(CASES / name / "evidence" for name in NAMES if name.startswith("healthy-"))


def run(*args, env=None, **options):
    return subprocess.run(
        [sys.executable, "-m", "neuronwatch", *map(str, args)], cwd=ROOT, text=True, check=False, timeout=60,
        capture_output=True, env={**os.environ, **(env or {})}, **options,
    )  # fmt: skip


def test_exit_codes(tmp_path, capsys):
    assert main(["diagnose", str(FAULT)]) == 2
    assert main(["diagnose", str(HEALTHY)]) == 0
    (tmp_path / "x.log").write_text('Traceback (most recent call last):\n  File "a.py", line 1\nValueError: what\n')
    assert main(["diagnose", str(tmp_path)]) == 3
    (tmp_path / "nothing.log").write_bytes(b"")
    assert main(["diagnose", str(tmp_path / "nothing.log")]) == 3, "who has read nothing knows nothing"
    capsys.readouterr()


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["diagnos"], "did you mean `diagnose`?"),
        (["diagnose", "/no/such/path"], "/no/such/path: no such file or directory"),
        (["diagnose", "--formt", "json"], "unrecognized arguments: --formt"),
        (["rules", "show", "runtime.core-busy"], "did you mean runtime.cores-busy?"),
        (["rules", "test", "nothing.*"], "no rule matches"),
        (["collect", "/no/such/path"], "no such file or directory"),
        (["rules"], "required"),
        (["diagnose", "--host-root", "/no/such/root"], "/no/such/root: no such file"),
        (["diagnose", "--host-root", "/tmp", "/tmp"], "leave out PATH"),
        (["diagnose", "--python", "/no/such/python"], "--python takes an interpreter"),
        (["diagnose", "--config", "/no/such.toml"], "/no/such.toml: no such file"),
    ],
)
def test_usage_errors(args, said, capsys):
    assert main(args) == 64
    out = capsys.readouterr()
    assert said in out.err
    assert out.err.count("\n") == 1
    assert not out.out


@pytest.mark.parametrize(("text", "said"), [("a = [", ":1: not TOML"), ("\n\n[daemn]\nx = 1\n", ":3: unknown key `daemn`")])
def test_config_files_are_checked(text, said, tmp_path, capsys):
    (tmp_path / "c.toml").write_text(text)
    assert main(["diagnose", "--config", str(tmp_path / "c.toml"), str(tmp_path)]) == 64
    assert said in capsys.readouterr().err


def test_usage_error_as_json(capsys):
    assert main(["diagnose", "/no/such/path", "--format", "json"]) == 64
    document = json.loads(capsys.readouterr().out)
    jsonschema.validate(document, schema.diagnosis())
    assert document["error"]["path"] == "/no/such/path"


@pytest.mark.parametrize("name", NAMES[::5])
def test_json_follows_the_schema(name, capsys):
    main(["diagnose", str(CASES / name / "evidence"), "--format", "json"])
    jsonschema.validate(json.loads(capsys.readouterr().out), schema.diagnosis())


def test_shipped_schema_is_fresh():
    assert (ROOT / schema.FILE).read_text() == schema.text(), f"neuronwatch schema > {schema.FILE}"


@pytest.mark.parametrize("verb", [*VERBS, "rules list", "rules why-not"])
def test_help(verb):
    result = run(*verb.split(), "--help")
    assert result.returncode == 0
    assert "usage: neuronwatch" in result.stdout


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(shell, capsys):
    assert main(["completion", shell]) == 0
    assert "why-not" in capsys.readouterr().out


def test_bash_completes(capsys):
    main(["completion", "bash"])
    script = (
        capsys.readouterr().out + '\nCOMP_WORDS=(neuronwatch diagnose --for); COMP_CWORD=2; _neuronwatch; echo "${COMPREPLY[*]}"'
    )
    assert subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True).stdout.strip() == "--format"


def modules_of(*args):
    code = (
        "import sys\nfrom neuronwatch.cli.main import main\n"
        f"sys.stdout = open('/dev/null', 'w')\ntry:\n    main({list(map(str, args))!r})\nexcept SystemExit:\n    pass\n"
        "sys.stderr.write(' '.join(sorted(sys.modules)))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    return set(result.stderr.split("\n")[-1].split())


def test_what_is_loaded_lazily():
    """A fresh interpreter: help needs no verb, a report needs no rich, nothing ever needs torch or textual here."""
    helped = modules_of("--help")
    assert not {"rich", "textual", "neuronwatch.judge.engine", "json", "hyperscan", "dataclasses"} & helped
    modules_of("diagnose", FAULT)  # fills the caches
    as_json = modules_of("diagnose", FAULT, "--format", "json")
    assert not {"rich", "textual", "watchdog", "psutil", "torch", "transformers", "optimum", "asyncio", "inspect"} & as_json
    as_text = modules_of("diagnose", FAULT)
    assert not {"rich", "textual", "zipfile", "difflib", "inspect", "dataclasses"} & as_text


def test_nothing_linux_only_at_import():
    """diagnose, collect and rules import where fcntl-like modules of Linux and the fast matcher do not exist."""
    blocked = ["fcntl", "termios", "resource", "pwd", "grp", "hyperscan", "psutil"]
    code = (
        "import sys\n"
        f"for name in {blocked!r}: sys.modules[name] = None\n"
        "sys.platform = 'darwin'\nimport platform\nplatform.machine = lambda: 'arm64'\n"
        "import os\n"
        "for name in ('posix_fadvise', 'sched_getaffinity', 'SEEK_HOLE', 'SEEK_DATA', 'O_NOATIME', 'pidfd_open'):\n"
        "    os.__dict__.pop(name, None)\n"
        "from neuronwatch.cli.main import main\n"
        f"status = main(['diagnose', {str(FAULT)!r}, '--format', 'json'])\n"
        "main(['rules', 'list'])\nmain(['rules', 'lint'])\n"
        "import neuronwatch.cli.collect\nsys.exit(status)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT)
    assert result.returncode == 2, result.stderr
    assert json.loads(result.stdout.splitlines()[0])["findings"][0]["fault"] == "env.runtime-too-old-for-driver"


def test_reader_of_our_output_goes_away():
    command = f"{sys.executable} -m neuronwatch rules list | head -1"
    result = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True, cwd=ROOT)
    assert not result.stderr


def test_forty_columns_and_no_colour():
    result = run("diagnose", FAULT, env={"COLUMNS": "40", "NO_COLOR": "1"})
    assert "\x1b" not in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 40


def test_readme_shows_what_the_demo_prints():
    """The output in the README is the program's own; `make demo` runs the same command."""
    result = run("diagnose", FAULT, env={"COLUMNS": "80", "NO_COLOR": "1"})
    assert result.stdout.rstrip() in (ROOT / "README.md").read_text()
    assert str(FAULT.relative_to(ROOT)) in (ROOT / "Makefile").read_text()


@pytest.mark.parametrize("how", ["text", "markdown"])
@pytest.mark.parametrize(("text", "asked"), [
    ("torchrun --nproc_per_node 32 train.py --model_id Qwen/Qwen3-32B\n", False),
    ("Package       Version\n------------- ----------------\ntorch-neuronx 2.7.0.2.10.13553\ntorch         2.7.0\n", False),
    ("Traceback (most recent call last):\n  File 'a.py', line 1\nValueError: what\n", True),
])  # fmt: skip
def test_healthy_evidence_leaves_nothing_to_ask(tmp_path, capsys, how, text, asked):
    (tmp_path / "x.log").write_text(text)
    main(["diagnose", "--format", how, str(tmp_path)])
    assert ("Not judged" in capsys.readouterr().out) is asked


def test_a_sure_cause_asks_nothing_in_any_form(tmp_path, capsys):
    (tmp_path / "x.log").write_text("OSError: [Errno 28] No space left on device\nloss: nan\nneuron-ls\n")
    for how in ("text", "markdown"):
        main(["diagnose", "--format", how, str(tmp_path)])
        assert "Not judged" not in capsys.readouterr().out


def test_a_note_tells_which_versions(tmp_path, capsys):
    rows = "torch          2.8.0\ntorch-neuronx  2.7.0.2.10.13553\ntorch-xla      2.7.0\n"
    (tmp_path / "pip.txt").write_text("Package        Version\n-------------- -------\n" + rows)
    assert main(["diagnose", str(tmp_path)]) == 0
    assert "torch-xla 2.7.0" in " ".join(capsys.readouterr().out.split())
