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
    records,
    summary,
    triggered,
)

from neuronwatch.parse.nrt_log import FORMAT

FOLDER = "nrt_log"


def test_golden() -> None:
    check_golden(FORMAT, FOLDER)


@given(damaged(FOLDER))
def test_never_raises(text: str) -> None:
    check_never_raises(FORMAT, text)


def test_record() -> None:
    (event,) = events(records(FORMAT, fixture("nrt_log/cores-not-available-old.log")), "nrt.log")
    assert event.fields == {
        "level": "ERROR",
        "component": "NRT",
        "function": "nrt_allocate_neuron_cores",
        "message": "NeuronCore(s) not available - Requested:nc0-nc3 Available:1",
        "pid": 28078,
        "tid": 28078,
    }
    assert event.time == 1630678851.338  # four digits are milliseconds


def test_start_lines() -> None:
    found = facts(records(FORMAT, fixture("nrt_log/init-ok-info-level.log")))
    assert found == {
        "runtime.version": "2.34.10.0",
        "runtime.found_driver": "2.30",
        "runtime.devices": 16,
        "runtime.cores_per_device": 4,
        "neuron.architecture": "trn2",
        "runtime.collectives_version": "2.34.10.0",
    }


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ('RuntimeError: nrt_tensor_allocate status=4 message="Allocation Failure"', "NRT_RESOURCE"),
        ('Internal: nrt_load: status=10, error message="Unsupported NEFF version".', "NRT_UNSUPPORTED_NEFF_VERSION"),
        ("Check failed: status == NRT_SUCCESS NEURONPOC : nrt_init failed. Status = 1", "NRT_FAILURE"),
        ('details "nrt status code 1004"', "NRT_EXEC_COMPLETED_WITH_ERR"),
        ("XlaRuntimeError: INTERNAL: NRT_EXEC_UNIT_UNRECOVERABLE", "NRT_EXEC_UNIT_UNRECOVERABLE"),
        ("nrt_init status=0", None),
        ("Check failed: status == NRT_SUCCESS", None),
    ],
)
def test_status_of_frameworks(text: str, status: str | None) -> None:
    assert facts(records(FORMAT, text)).get("runtime.status") == status


@pytest.mark.parametrize(
    ("message", "entity"),
    [
        ("[ND 1][NC 4] execution timeout", "nd1:nc4"),
        ("[MLA 9][NC 1] DMA TX engine 5", "nd9:nc1"),
        ("inference timeout (1 ms) on Neuron Device 0 NC 3, waiting", "nd0:nc3"),
        ("Uncorrectable memory error is detected on Neuron device: 5:1 metadata: 0x2", "nd5:nc1"),
        ("Failed to allocate 4.000GB (usage: tensors) on ND 0:NC 4", "nd0:nc4"),
        ("nd0:nc0:h_model.id1001: Received notification", "nd0:nc0"),
        ("Could not open the nd3", "nd3"),
        ("nothing", "rank2"),
    ],
)
def test_entities(message: str, entity: str) -> None:
    text = f"[rank2]:2026-Aug-21 10:14:02.883112 51942:51942 ERROR  TDRV:some_function                           {message}"
    assert [event.entity for event in events(records(FORMAT, text), "nrt.log")] == [entity]


@pytest.mark.parametrize("name", [item.name for item in fixtures(FOLDER)])
def test_prefixes_interleaving_and_windows(name: str) -> None:
    text = fixture(f"{FOLDER}/{name}")
    check_prefixes(FORMAT, text)
    check_interleaving(FORMAT, text)
    assert summary(FORMAT.parse(triggered(FORMAT, text))) == summary(records(FORMAT, text))


@pytest.mark.parametrize("name", [item.name for item in fixtures(FOLDER)])
def test_glued_and_chunked(name: str) -> None:
    """Records of two ranks on one line are two records, and every chunking gives the same ones."""
    lines = [line for line in fixture(f"{FOLDER}/{name}").split("\n") if line.strip()]
    whole = [event.fields for event in events(records(FORMAT, "\n".join(lines)), "nrt.log")]
    glued = [event.fields for event in events(records(FORMAT, "".join(line.rstrip() for line in lines)), "nrt.log")]
    assert len(glued) == len(whole)
    chunked = [event.fields for line in lines for event in events(records(FORMAT, line), "nrt.log")]
    assert chunked == whole


def test_compatibility() -> None:
    stamp = "2023-May-09 08:44:10.0193  3177:3177  ERROR   NRT:nrt_init                                "
    found = facts(
        records(
            FORMAT,
            f"{stamp}This Neuron Runtime (compatibility id: 6) is not compatible with the installed aws-neuron-dkms package.\n"
            f"{stamp}Installed aws-neuron-dkms supports Runtime compatibility id range: 2 - 4.",
        )
    )
    assert found == {
        "runtime.compatibility_id": 6,
        "driver.compatibility_min": 2,
        "driver.compatibility_max": 4,
    }
