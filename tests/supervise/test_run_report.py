"""The report of a job: what `run --report` writes and what is said on stderr."""

from __future__ import annotations

import json
import sys

import jsonschema
from supervise_support import owner

from neuronwatch.cli import schema
from neuronwatch.cli.report import run_document, run_text
from neuronwatch.model.job import Change, Exit, JobSpec
from neuronwatch.supervise.story import Lived, Remedy, Story

FAILS = "import sys\nprint('RuntimeError: nrt_init failed: NRT_RESOURCE', file=sys.stderr)\nsys.exit(1)"
LOSSES = """
for step in range(30):
    print({'loss': 3.0 - step / 20, 'grad_norm': 1.0, 'learning_rate': 1e-4, 'epoch': step / 30}, flush=True)
"""


def reported(tmp_path, *words, options=()):
    place = tmp_path / "report.json"
    with owner(tmp_path / "state", *words, options=("--report", str(place), *options)) as process:
        _, said = process.communicate(timeout=60)
    document = json.loads(place.read_text())
    jsonschema.validate(document, json.loads(schema.text("run")))
    return document, process.returncode, said


def test_a_job_that_failed_is_judged_from_its_own_output(tmp_path):
    document, code, said = reported(tmp_path, sys.executable, "-c", FAILS)
    assert code == 1 == document["exit"] and document["status"] == "failed" and "Traceback" not in said
    assert any(place["path"] == "stderr.log" and place["line"] == 1 for item in document["findings"] for place in item["evidence"])
    assert document["verdict"] in ("fault", "unknown") and len(document["runs"]) == 1


def test_the_words_of_a_command_are_no_evidence(tmp_path):
    document, _, _ = reported(tmp_path, "sh", "-c", "exit 0 # RuntimeError: nrt_init failed")
    assert document["verdict"] == "healthy" and document["findings"] == []


def test_curves_and_cost_of_a_job_that_went_well(tmp_path):
    document, code, _ = reported(tmp_path, sys.executable, "-c", LOSSES, options=("--price", "36"))
    assert code == 0 and document["status"] == "done"
    loss = document["curves"]["loss"]
    assert len(loss) == 30 and loss[0][1] == 3.0 and abs(loss[-1][1] - 1.55) < 1e-9
    assert abs(document["cost"]["total"] - 0.01 * document["seconds"]) < 1e-9
    assert document["cost"]["per_million_tokens"] is None  # it told no tokens/s: nobody knows


def test_restarts_and_what_they_cost_are_told(tmp_path):
    count = tmp_path / "count"
    script = f"n=$(cat {count} 2>/dev/null || echo 0); echo $((n+1)) > {count}; [ $n -ge 2 ] || exit $((n+10))"
    document, _, _ = reported(tmp_path, "sh", "-c", script, options=("--policy", "act"))
    assert [run["exit"] for run in document["runs"]] == [10, 11, 0] and document["restarts"] == 2
    assert (
        document["runs"][1]["why"] == "restart: start it again" and document["lost"]["between"] > 0.5
    )  # the second one waits a second


def test_without_a_file_the_cause_is_named_on_stderr(tmp_path):
    with owner(tmp_path, sys.executable, "-c", FAILS) as process:
        _, said = process.communicate(timeout=60)
    assert "job t: failed" in said and "stderr.log:1" in said
    with owner(tmp_path, "true", name="good") as process:
        _, said = process.communicate(timeout=60)
    assert said.count("\n") == 1 and "job good: done" in said


def test_a_report_that_cannot_be_written_is_said_and_the_status_stays(tmp_path):
    with owner(tmp_path, "sh", "-c", "exit 5", options=("--report", str(tmp_path / "none" / "r.json"))) as process:
        _, said = process.communicate(timeout=60)
    assert process.returncode == 5 and "cannot be written" in said and "Traceback" not in said


def _story() -> Story:
    spec = JobSpec("t", ("train", "--hf_token=hf_abcdefghijklmnopqrstuvwxyzABCDEFGH", "`x`"), price_per_hour=10.0)
    change = Change("argv", "--batch", 8, 4, "half of it | `x`")
    remedy = Remedy("compile.memory", "batch-size", (change,), 100.0, 101.0, 130.0, "helped", "it fits")
    runs = (Lived(1, 10.0, 110.0, Exit(1, None, 110.0), "asked for"), Lived(2, 120.0, 3600.0, Exit(0, None, 3600.0), "status 1"))
    return Story("t", "act", spec, spec, Exit(0, None, 3600.0), False, runs, (remedy,), None,
                 {"loss": [(0.0, 3.0), (1.0, float("nan")), (2.0, 1.0)]}, 1000.0)  # fmt: skip


def test_the_document_has_remedies_their_times_and_what_to_change(tmp_path):
    document = run_document.document(_story())
    jsonschema.validate(document, json.loads(schema.text("run")))
    assert document["lost"] == {"between": 10.0, "failed_runs": 100.0}
    assert document["suggested"] == document["remedies"][0]["diff"] and document["curves"]["loss"][1] == [1.0, None]
    assert "hf_abcdef" not in json.dumps(document)
    assert abs(document["cost"]["per_million_tokens"] - 10 * 3590 / 3600 / (1000 * 3480) * 1e6) < 1e-9


def test_text_and_markdown_say_the_same_and_cannot_be_broken_out_of():
    document = run_document.document(_story())
    document["command"] = "x ``` y \x1b[31m"
    text, markdown = run_text.render(document), run_text.render(document, markdown=True)
    for word in ("restarted once", "batch-size", "8 -> 4", "helped after 30 s", "Time lost", "per million tokens"):
        assert word in text and word in markdown.replace("\\", "")
    assert "\x1b" not in text + markdown and markdown.count("```") % 2 == 0 and "x ``` y" not in markdown
    assert run_text.render(document, ascii_only=True).isascii()
