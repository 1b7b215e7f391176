from __future__ import annotations

import pytest
from hypothesis import given
from parse_support import (
    check_golden,
    check_interleaving,
    check_never_raises,
    check_prefixes,
    damaged,
    events,
    facts,
    fixture,
    fixtures,
    readings,
    records,
    triggered,
)

from neuronwatch.parse.neuronx_cc import FORMAT

FOLDER = "neuronx_cc"


def test_golden() -> None:
    check_golden(FORMAT, FOLDER)


@given(damaged(FOLDER))
def test_never_raises(text: str) -> None:
    check_never_raises(FORMAT, text)


def test_codes_of_both_schemes() -> None:
    assert readings(records(FORMAT, fixture("neuronx_cc/ncc-user-errors-2.27plus.txt")), "compiler.code") == [
        "NCC_EOOM001",
        "NCC_EVRF001",
        "NCC_ITEN406",
    ]
    found = records(FORMAT, fixture("neuronx_cc/internal-error-2025.txt"))
    assert facts(found)["compiler.code"] == "NLA001"
    assert events(found, "compiler.error")[0].fields["message"].startswith("Unhandled exception with message")


def test_peak_memory() -> None:
    found = facts(records(FORMAT, fixture("neuronx_cc/ncc-user-errors-2.27plus.txt")))
    assert found["compiler.peak_hbm"] == int(31.12 * 1024**3)
    assert found["compiler.hbm_limit"] == 24 * 1024**3
    assert found["compiler.peak_hbm_scratchpad"] == 16 * 1024**3
    old = facts(records(FORMAT, fixture("neuronx_cc/estimated-peak-2024.txt")))
    assert (old["compiler.code"], old["compiler.target"]) == ("XCG815", "trn1")
    assert old["compiler.peak_hbm"] == int(19.000523 * 1024**3)
    assert old["compiler.hbm_limit"] == 16 * 1024**3


def test_banner_and_versions() -> None:
    found = facts(records(FORMAT, fixture("neuronx_cc/banner-2022.txt")))
    assert found == {"compiler.error_class": "AttributeError", "compiler.version": "2.1.0.76+2909d26a2"}
    assert facts(records(FORMAT, fixture("neuronx_cc/version.txt")))["compiler.version"] == "2.27.5334.0+f702b353"


def test_exit_codes() -> None:
    assert readings(records(FORMAT, fixture("neuronx_cc/framework-exits.txt")), "compiler.exit_code") == [70, 70, -9]
    killed = facts(records(FORMAT, fixture("neuronx_cc/f137-oom-killed.txt")))
    assert (killed["compiler.code"], killed["compiler.killed"]) == ("F137", True)
    assert records(FORMAT, "subprocess.CalledProcessError: Command '['ls']' returned non-zero exit status 2.") == []


def test_brackets_of_others() -> None:
    assert records(FORMAT, "[ABC123] is a ticket of somebody else") == []


@pytest.mark.parametrize("name", [item.name for item in fixtures(FOLDER)])
def test_prefixes_interleaving_and_windows(name: str) -> None:
    text = fixture(f"{FOLDER}/{name}")
    check_prefixes(FORMAT, text)
    check_interleaving(FORMAT, text)
    assert facts(FORMAT.parse(triggered(FORMAT, text))) == facts(records(FORMAT, text))
