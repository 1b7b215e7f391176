"""Golden files of every page: `python tests/tui/snapshots.py` writes them anew, tests/snapshots compares.

A text file holds the rows as they are drawn and, below, the words of their styles, from which a theme makes colours. Of the faulty host
there are SVGs too, in the default theme and without colour, to look at.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tui import hosts

from neuronwatch.tui.draw.glyphs import UNICODE
from neuronwatch.tui.draw.row import Row, cells, plain
from neuronwatch.tui.frame import compose
from neuronwatch.tui.pages import book
from neuronwatch.tui.svg import svg
from neuronwatch.tui.theme import THEMES
from neuronwatch.tui.view.picture import Picture

FILES = Path(__file__).resolve().parent / "snapshots"
SIZES = ((80, 24), (160, 45))
GROUND = "#12161f"
SUBJECTS = {"incidents": "incident", "rules": "rule"}
"""Pages that show one thing of their list with `enter`, and the name of that picture."""
WHY = {
    "rule": "hw.uncorrectable-memory", "state": "true", "reason": "", "since": hosts.NOW - 90, "fired": True, "confidence": 0.97,
    "cause": "The memory of a device returned data that its error code could not mend.",
    "checks": [{"what": "signature line", "state": "true", "detail": "host:dmesg:61"}, {"what": "join counter: neuron.mem_ecc_uncorrected > 0", "state": "true", "detail": ""},
               {"what": "require: neuron.devices > 0", "state": "unknown", "detail": "not in the evidence: neuron.devices"}],
    "notes": ["the counter grows"], "evidence": [{"path": "host:dmesg", "line": 61, "text": "[  60.5] neuron: nd3 mem_ecc_uncorrected: 3"}],
}  # fmt: skip


def shown(case: str, name: str, size: tuple[int, int]) -> list[Row]:
    """The frame of a page, `help`, or the first thing of a list (`incident`, `rule`)."""
    picture: Picture = hosts.CASES[case]()
    pages = book.pages()
    page = next((item for item in pages if item.name == name or SUBJECTS.get(item.name) == name), pages[0])
    compose(picture, page, pages, *size, UNICODE)
    if name in SUBJECTS.values():
        page.key("enter", picture)
        if picture.rules:
            picture.apply("why", WHY)
    return compose(picture, page, pages, *size, UNICODE, helping=name == "help")


def names() -> list[str]:
    return [*(page.name for page in book.pages()), *SUBJECTS.values()]


def text(rows: list[Row]) -> str:
    """Rows, and where which words of style stand."""
    lines = [plain(line).rstrip() for line in rows]
    for number, line in enumerate(rows):
        at, spans = 0, []
        for part in line:
            size = cells(part.text)
            if part.style and (part.text.strip() or part.style not in ("dim", "spark")):
                spans.append(f"{at}+{size} {part.style}")
            at += size
        lines.append(f"{number:>2}: " + ", ".join(spans))
    return "\n".join(lines) + "\n"


def all_files(only: str = "") -> Iterator[tuple[str, str]]:
    """Name and content of every golden file; `only`: of one page."""
    for width, height in SIZES:
        for name in [name for name in names() if only in ("", name)]:
            for case in hosts.CASES:
                if case == "asking" and name not in ("overview", "incidents", "incident"):
                    continue
                yield f"{name}-{case}-{width}x{height}.txt", text(shown(case, name, (width, height)))
            for theme in ("dark", "plain"):
                rows = shown("faulty", name, (width, height))
                yield f"{name}-faulty-{width}x{height}-{theme}.svg", svg([rows], THEMES[theme], GROUND, f"{name}, {theme}")
        if only in ("", "help"):
            yield f"help-{width}x{height}.txt", text(shown("healthy", "help", (width, height)))


def renew() -> None:
    FILES.mkdir(exist_ok=True)
    wanted = dict(all_files())
    for path in FILES.iterdir():
        if path.name not in wanted:
            path.unlink()
    for name, content in wanted.items():
        (FILES / name).write_text(content, encoding="utf-8")
    print(f"{len(wanted)} files in {FILES}; look at what changed (git diff) before you commit")


if __name__ == "__main__":
    renew()
