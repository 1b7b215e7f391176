"""Command lines of the dialect `python_script` as facts."""

from __future__ import annotations

from dialect_support import facts


def test_flags_of_any_script() -> None:
    found = facts("CUDA_VISIBLE_DEVICES= python3.10 -u train.py --model m --epochs=3 --neg -1.5 --list a b pos")
    assert found["launch.entry"] == "train.py"
    assert found["arg.epochs"] == 3
    assert found["arg.neg"] == -1.5
    assert found["env.CUDA_VISIBLE_DEVICES"] == ""


def test_inline_code_has_no_entry() -> None:
    assert "launch.entry" not in facts("python -c 'print(1)'")
