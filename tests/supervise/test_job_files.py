"""Jobs that are written down: jobs.d/*.toml."""

from __future__ import annotations

import subprocess
import sys

import pytest

from neuronwatch.store.settings_file import SettingsError
from neuronwatch.supervise import jobs_d
from neuronwatch.supervise.directory import JobDirectory

WHOLE = """
command = ["torchrun", "--nproc_per_node", "32", "train.py"]
cwd = "/data"
env = {OMP_NUM_THREADS = "1"}
unset = ["HF_TOKEN"]
grace = 20
hang_limits = {compile = inf, step = 600}
step_pattern = 'step (?P<step>\\d+)'
price_per_hour = 21.5
policy = "act"
start = true
"""


def test_all_that_may_be_said():
    job = jobs_d.parse(WHOLE, "/x/sft.toml")
    assert job.spec.name == "sft" and job.spec.argv[0] == "torchrun" and job.spec.cwd == "/data" and job.start and job.mode == "act"
    assert job.spec.env == {"OMP_NUM_THREADS": "1", "HF_TOKEN": None} and job.spec.hang_limits == {"compile": None, "step": 600.0}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("comand = ['x']", "a.toml:1: unknown key `comand`, did you mean `command`?"),
        ("name = 'x'", "`command` is missing"),
        ("command = ['x']\npolicy = 'acct'", "a.toml:2: `policy` is one of observe, ask, act; did you mean act?"),
        ("command = ['x']\n[hang_limits]\ncompil = 3", "a.toml:3: unknown key `compil`"),
        ("command = ['x']\nname = '../x'", "no name for a job"),
        ("command = ['x']\nstep_pattern = '(('", "no regular expression"),
        ("command = ['x']\nstep_pattern = 'step'", "group named step"),
        ("command = 'x'", "`command` is a list"),
        ("command = ['x'", "a.toml:1"),
        ("command = ['x']\ngrace = -1", "between 0 and 3600"),
    ],
)
def test_a_mistake_is_one_line_with_its_place(text, said):
    with pytest.raises(SettingsError) as caught:
        jobs_d.parse(text, "a.toml")
    assert said in str(caught.value) and "\n" not in str(caught.value)


def test_what_others_may_write_is_not_run(tmp_path):
    path = tmp_path / "a.toml"
    path.write_text("command = ['true']\nstart = true")
    path.chmod(0o666)
    found, said = jobs_d.to_start([tmp_path])
    assert found == [] and "chmod" in said[0]
    path.chmod(0o644)
    (tmp_path / "b.toml").write_text("command = ['false']\nname = 'a'\nstart = true")
    (tmp_path / "c.toml").write_text("command = ['false']")
    found, said = jobs_d.to_start([tmp_path])
    assert [job.spec.argv for _, job in found] == [("true",)] and "names a job a already" in said[0]


def test_run_starts_what_is_written_down(tmp_path):
    path = tmp_path / "night.toml"
    path.write_text(
        "command = ['sh', '-c', 'echo $WORD; pwd; exit 4']\nenv = {WORD = 'hello'}\nreport = '" + str(tmp_path / "r.txt") + "'"
    )
    command = [sys.executable, "-m", "neuronwatch", "run", "--state-dir", str(tmp_path / "state"), "--spec", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 4 and done.stdout == f"hello\n{tmp_path}\n" and "night: failed" in (tmp_path / "r.txt").read_text()
    assert JobDirectory(tmp_path / "state", "night").spec().env == {"WORD": "hello"}
    path.write_text("command = ['true']\nnmae = 'x'")
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 64 and f"{path}:2: unknown key `nmae`, did you mean `name`?" in done.stderr
