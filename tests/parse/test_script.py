"""script: golden records, and no input that makes it raise."""

from __future__ import annotations

from golden_support import check_golden, document, hostile, survive
from hypothesis import given

from neuronwatch.model.records import Event
from neuronwatch.parse import script


def test_golden() -> None:
    check_golden("script", script.FORMAT)


@given(hostile("script"))
def test_never_raises(text: str) -> None:
    survive(script.FORMAT, text)


def words(text: str) -> list[tuple[str, ...]]:
    found = script.FORMAT.parse(document("launch.sh", text.encode()))
    return [record.fields["argv"] for record in found if isinstance(record, Event)]  # type: ignore[misc]  # fields are object


def test_own_literals_are_put_in_and_others_stay() -> None:
    text = (
        "#!/bin/bash\nN=8\nexport M=org/m\nK=$N\ntorchrun --nproc_per_node $N a.py --model $M --k ${K}"
        " --x ${UNSET:-3} --home $HOME\n"
    )
    assert words(text) == [
        ("torchrun", "--nproc_per_node", "8", "a.py", "--model", "org/m", "--k", "8", "--x", "3", "--home", "$HOME")
    ]


def test_a_variable_with_two_values_is_not_guessed() -> None:
    text = "if true; then N=2; else N=4; fi\ntorchrun --nproc_per_node $N a.py\n"
    assert words(text) == [("torchrun", "--nproc_per_node", "$N", "a.py")]


def test_command_substitution_is_never_followed() -> None:
    assert words("N=$(rm -rf /)\ntorchrun --nproc_per_node $(nproc --all) a.py $N\n") == [
        ("torchrun", "--nproc_per_node", "$(nproc --all)", "a.py", "$N")
    ]


def test_an_expansion_bomb_stays_small() -> None:
    bomb = "\n".join(["A0=" + "x" * 300] + [f"A{i}=$A{i - 1}$A{i - 1}" for i in range(1, 60)])
    assert all(len(word) <= 20_000 for argv in words(f"{bomb}\npython a.py $A59\n") for word in argv)


def test_prose_and_logs_are_no_scripts() -> None:
    for text in (
        "The torchrun launcher is used here.\nIt starts 32 processes.\n",
        "INFO starting\nstep 10 loss 2.3\nstep 20 loss 2.1\n",
        "KEY=value\nOTHER=2\n",
        "",
    ):
        assert script.FORMAT.sniff(document("x", text.encode())) < 0.5
