"""Log text and names that want to be markup: terminal escapes, rich markup, Markdown, HTML, bidirectional and wide characters."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hostile_support import FAULT, evidence, run

EVIL = [
    "\x1b]52;c;cm0gLXJmIC8=\x07", "\x1b]8;;http://evil.example\x1b\\click\x1b]8;;\x1b\\", "\x1b[2J\x1b[H", "\x9b31m", "\x1bP+q544e\x1b\\", "[bold red]owned[/bold red]",
    "[link=http://evil.example]x[/link]", "[/]", ":skull:", "\u202eevil\u202c", "\u2066x\u2069", "\u200b\u200d\ufeff", "```\n# owned\n```", "````` </pre>", "~~~",
    "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "![x](http://evil.example/x.png)", "[x](javascript:alert(1))", "| a | b |", "\r\nInjected: yes", "\x08\x08\x08",
    "表" * 300, "e\u0301" * 200, "\U0001f468\u200d\U0001f469" * 50, "\U000e0041\U000e0042", "\ue000\uffff", "@everyone #1 http://evil.example", "\u2028next", "\x85next",
]  # fmt: skip
FORBIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\U000e0000-\U000e007f]")
"""Nothing of this reaches a terminal or a ticket."""


def evil_evidence(directory: Path) -> Path:
    files: dict[str, str] = {}
    for number, text in enumerate(EVIL):
        flat = text.replace("\n", " ").replace("\r", " ")
        files[f"{number:02d}.log"] = f"{flat} {FAULT} {text}\n"
        name = flat.replace("/", "_").replace("\0", "")[:60]
        files[f"n{number} {name}"] = f"{FAULT}\n"
    files["host.txt"] = "$ hostname\n\x1b[31m[bold]<b>`x`\n$ uname -r\n5.15.0-[red]-\x1b]52;c;x\x07\n" + FAULT
    return evidence(directory, files)


def test_markup_is_text(tmp_path: Path) -> None:
    line = f"[bold red]owned[/bold red] [/] :skull: [link=x]y[/link] {FAULT}"
    result = run("diagnose", evidence(tmp_path / "e", {"a.log": line}), env={"COLUMNS": "200"})
    assert "[bold red]owned[/bold red] [/] :skull: [link=x]y[/link]" in result.out


@pytest.mark.parametrize("width", ["20", "40", "80", "200"])
def test_the_text_report_is_only_text(tmp_path: Path, width: str) -> None:
    result = run("diagnose", "-v", evil_evidence(tmp_path / "e"), env={"COLUMNS": width, "LINES": "5", "NO_COLOR": None})
    assert result.code == 2
    assert not FORBIDDEN.search(result.out), FORBIDDEN.search(result.out)
    assert not re.search(r"(?m)^\s*Injected: yes", result.out)


def test_python_says_nothing_about_the_evidence(tmp_path: Path) -> None:
    """Its compiler warns about odd escapes and numbers in texts that are parsed as Python."""
    python = "import os\nx = '\\d' if 1if 2else 3\nargs = ['\\d', 0x1for x in ()]\ntrainer = SFTConfig(lr=1or 2, path='\\c')\n"
    files = {
        "a.py": python,
        "Dockerfile": "FROM x\nCMD ['torchrun', '\\d', 1if 2else 3]\n",
        "b.log": "args: {'a': '\\d', 'b': 1if 1else 2}\n" + python,
    }
    for how in ("text", "json"):
        result = run("diagnose", "--format", how, evidence(tmp_path / "e", files))
        assert result.code == 2 and not result.err.replace(
            "neuronwatch: compiling the rule table (first run after a change)\n", ""
        ), result.err


def test_markdown_is_closed(tmp_path: Path) -> None:
    result = run("diagnose", "-v", "--format", "markdown", evil_evidence(tmp_path / "e"))
    assert result.code == 2 and not FORBIDDEN.search(result.out), FORBIDDEN.search(result.out)
    outside, fence = [], ""
    for line in result.out.split("\n"):
        found = re.match(r"(`{3,})", line)
        if fence:
            fence = "" if line == fence else fence
        elif found:
            fence = found[1]
        else:
            outside.append(re.sub(r"(`+)(?:(?!\1).)+\1", "", line))
    assert not fence, "a fence is open at the end"
    text = "\n".join(outside)
    for active in (r"(?<!\\)<(?:script|img|b)\b", r"(?<!\\)!?(?<!\\)\[[^\]]*\]\(", r"^# owned", r"^Injected", r"^\|"):
        assert not re.search(active, text, re.MULTILINE), active


def test_json_is_ascii_and_holds_the_line_as_it_stands(tmp_path: Path) -> None:
    result = run("diagnose", "--format", "json", evil_evidence(tmp_path / "e"))
    assert result.code == 2 and result.out.isascii() and result.out.count("\n") == 1
    assert json.loads(result.out)["findings"][0]["fault"]


def test_verbs_of_rules_print_no_escapes(tmp_path: Path) -> None:
    root = evil_evidence(tmp_path / "e")
    for argv in (
        ("rules", "why-not", "runtime.cores-busy", root),
        ("rules", "why-not", "\x1b[2J\nx", root),
        ("rules", "show", "[bold]\x1b[2J"),
        ("rules", "test", "\x1b[2J*"),
    ):
        result = run(*argv)
        assert not FORBIDDEN.search(result.out + result.err), (argv[1], FORBIDDEN.search(result.out + result.err))
        assert result.code in (0, 64)
    result = run("\x1b[2J\nverb")
    assert result.code == 64 and not FORBIDDEN.search(result.err) and result.err.count("\n") == 1


def test_collect_prints_no_escapes(tmp_path: Path) -> None:
    root = evil_evidence(tmp_path / "e")
    for number, text in enumerate(EVIL):
        (root / f"bin{number} {text[:40]}".replace("/", "_").replace("\0", "")).write_bytes(b"\0\1\2" * 1000)
    for how in ("text", "json"):
        result = run("collect", root, "-o", tmp_path / f"b{how}.tar.gz", "--format", how)
        assert result.code == 0 and not FORBIDDEN.search(result.out + result.err), FORBIDDEN.search(result.out + result.err)


def test_no_report_carries_control_or_bidirectional_characters(tmp_path):
    """Found by the parser fuzzer: Markdown let right-to-left overrides through."""
    from case_support import diagnose

    from neuronwatch.cli.report import as_json, as_markdown, as_text

    hostile = "\u202egnp.\x1b]0;title\x07 OSError: [Errno 28] No space left on device: '/out\u2066\u200b`</script>'\n"
    (tmp_path / "a\u202eb.log").write_text(hostile, encoding="utf-8")
    diagnosis = diagnose(tmp_path)
    assert diagnosis.findings
    for text in (as_markdown.render(diagnosis, True), as_text.render(diagnosis, True), as_json.render(diagnosis)):
        assert not set("\u202e\u2066\u200b\x1b\x07\0") & set(text)
        text.encode()
