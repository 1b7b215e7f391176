"""The faults that the article behind this project names: its own words, today's, another framework's, and a twin each.

The words are answered with the truth, the twin (which looks the same and is not the fault) stays silent.
"""

from __future__ import annotations

import importlib.util
import sys
from functools import lru_cache
from pathlib import Path

import pytest
from case_support import FIXTURES, diagnose

from neuronwatch.data import taxonomy

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ARTICLE = FIXTURES / "article"
WORDINGS = ("article", "today", "other", "twin")
FAULTS = sorted(path.parent.name for path in ARTICLE.glob("*/expected.toml"))

judged = lru_cache(maxsize=None)(diagnose)


def expected(fault):
    return tomllib.loads((ARTICLE / fault / "expected.toml").read_text(encoding="utf-8"))


def first_cause(diagnosis):
    return next((finding for finding in diagnosis.findings if finding.role == "cause"), None)


def quality():
    spec = importlib.util.spec_from_file_location("bench_quality", FIXTURES.parent / "bench" / "quality.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def test_every_fault_of_the_article_is_here():
    assert sorted(fault for fault, row in taxonomy.faults().items() if row["article"]) == FAULTS


def test_the_five_rows_of_its_table():
    rows = {fault.split(".")[0] for fault in FAULTS if expected(fault)["row"]}
    assert rows == {"env", "data", "compile", "train", "serve"}


@pytest.mark.parametrize("fault", FAULTS)
def test_expected_is_complete(fault):
    wanted = expected(fault)
    assert wanted["fault"] == fault
    assert {path.name for path in (ARTICLE / fault).iterdir() if path.is_dir()} == set(WORDINGS)
    for wording in WORDINGS:
        assert wanted[wording]["why"].endswith(".")
        assert wanted[wording]["fault"] == ("" if wording == "twin" else fault)


@pytest.mark.parametrize("wording", WORDINGS[:3])
@pytest.mark.parametrize("fault", FAULTS)
def test_wording_gets_its_fault(fault, wording):
    cause = first_cause(judged(ARTICLE / fault / wording))
    assert cause is not None, "no cause"
    assert cause.fault == fault, cause.rule
    assert cause.evidence and cause.fix


@pytest.mark.parametrize("fault", FAULTS)
def test_twin_is_silent(fault):
    diagnosis = judged(ARTICLE / fault / "twin")
    cause = first_cause(diagnosis)
    assert cause is None, (cause.rule, cause.evidence[:1])
    assert diagnosis.verdict == expected(fault)["twin"]["verdict"], [finding.rule for finding in diagnosis.findings]


# --- bench/quality.py, which prints and measures the same


def test_page_is_fresh():
    module = quality()
    page = module.PAGE.read_text(encoding="utf-8")
    table = module.article_table(list(module.article_rows(lambda paths: judged(paths[0]))))
    assert module.section(page, "article") == table, "run `python bench/quality.py --write`"
    assert module.section(page, "figures").startswith("| figure |")
    assert "samples" in module.section(page, "samples")


def test_table_says_what_is_wrong():
    module = quality()
    good = module.Row("a.b", "article", True, "a.b", "a.b", 0.8, "fault", "")
    other = module.Row("a.b", "today", True, "a.b", "a.c", 0.5, "fault", "")
    alarm = module.Row("a.b", "twin", True, "", "", None, "warning", "healthy")
    table = module.article_table([good, other, alarm])
    assert "| **a.b** | article | a.b | 0.80 | yes |" in table
    assert "| **a.b** | today | a.c | 0.50 | NO |" in table
    assert "| **a.b** | twin | no cause (warning) |  | NO |" in table
    assert table.endswith("1 of 2 wordings answered with their fault, 0 of 1 twins without a cause.")


def test_figures_count_each_kind_of_answer():
    module = quality()
    real = judged(ARTICLE / "compile.silent-empty-neff" / "article")
    silent = judged(ARTICLE / "compile.silent-empty-neff" / "twin")
    case = {
        "answer": "fault",
        "settled": True,
        "fault": "compile.silent-empty-neff",
        "accept": [],
        "never": [],
        "proof": ["qwen3.neff"],
    }
    figures = module.Figures()
    figures.add("right", case, real)
    figures.add(
        "accepted, not proven", {**case, "fault": "x.y", "accept": ["compile.silent-empty-neff"], "proof": ["elsewhere"]}, real
    )
    figures.add("wrong", {**case, "fault": "x.y"}, real)
    figures.add("misled", {**case, "fault": "x.y", "never": ["compile.silent-empty-neff"]}, real)
    figures.add("missed", case, silent)
    figures.add("unsettled", {**case, "answer": "abstain"}, silent)
    figures.add("alarm", {**case, "answer": "healthy"}, real)
    figures.add("quiet", {**case, "answer": "healthy"}, silent)
    assert (figures.settled, figures.quiet, figures.quiet_right, figures.healthy) == (5, 1, 1, 2)
    assert figures.right == ["right", "accepted, not proven"] and figures.proven == ["right"]
    assert figures.wrong == ["wrong", "misled"] and figures.misled == ["misled"]
    assert figures.missed == ["missed"] and figures.false_alarms == ["alarm"]
    table = module.figures_table(figures, figures)
    assert "top-1) | 2 of 5 (40.0 %) | 2 of 5 (40.0 %) |" in table


def test_page_without_markers_is_said():
    with pytest.raises(SystemExit, match="no markers"):
        quality().section("# nothing", "article")


def test_no_directory_is_empty():
    for fault in FAULTS:
        for wording in WORDINGS:
            assert any(Path(path).stat().st_size for path in (ARTICLE / fault / wording).iterdir())
