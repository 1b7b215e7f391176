"""Rows as an SVG: for pictures in documents, and to look at a page without a terminal. Pure: the same rows give the same bytes.

Block characters are drawn as rectangles, and every run of text is as wide as its cells, whatever font the reader has.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from xml.sax.saxutils import escape

from neuronwatch.tui.draw.row import Row, cells
from neuronwatch.tui.theme import Look, Theme, look

WIDTH, HEIGHT, EDGE = 8, 17, 10
"""Of a cell, and the room around the screen."""
_NO_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_LEVELS = " ▁▂▃▄▅▆▇█"
_SHADES = {"░": 0.35, "▒": 0.55, "▓": 0.75}
_NAMED = {"black": "#1c1c1c", "red": "#cd3131", "green": "#0dbc79", "yellow": "#c8a000", "blue": "#3b8eea", "magenta": "#bc6fd0",
          "cyan": "#11a8cd", "white": "#d5d5d5",
          "bright_white": "#ffffff", "bright_red": "#f14c4c", "bright_blue": "#6cb0ff", "bright_cyan": "#66e0ee"}  # fmt: skip


def svg(frames: Sequence[Sequence[Row]], theme: Theme, ground: str, title: str = "", seconds: float = 1.0) -> str:
    """One frame as a picture; several as a film that begins anew, each for `seconds`. `ground`: the terminal's background."""
    columns = max(sum(cells(part.text) for part in line) for line in frames[0])
    width, height = columns * WIDTH + 2 * EDGE, len(frames[0]) * HEIGHT + 2 * EDGE
    base = look(theme, "").colour or ("#1f2733" if _light(ground) else "#d8dee9")
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img">',
        f"<title>{escape(title)}</title>" if title else "",
        "<style>text{font:13px ui-monospace,'DejaVu Sans Mono',Menlo,Consolas,monospace;white-space:pre}.b{font-weight:700}",
        ".u{text-decoration:underline}.d{opacity:.62}",
        _film(len(frames), seconds) if len(frames) > 1 else "",
        f'</style><rect width="100%" height="100%" rx="6" fill="{ground}"/>',
    ]
    for number, rows in enumerate(frames):
        drawn = [_line(line, y, theme, base, ground) for y, line in enumerate(rows)]
        if len(frames) == 1:
            parts += drawn
            continue
        parts.append(f'<g class="f" style="animation-delay:{(number - len(frames)) * seconds:g}s">')
        parts += drawn
        parts.append("</g>")
    return "\n".join(part for part in parts if part) + "\n</svg>\n"


def _film(count: int, seconds: float) -> str:
    """Frames one after the other: each is seen for its part of the whole, at a time of its own."""
    return (f".f{{visibility:hidden;animation:f {count * seconds:g}s step-end infinite}}"
            f"@keyframes f{{0%{{visibility:visible}}{100 / count:.4f}%{{visibility:hidden}}}}")  # fmt: skip


def _line(line: Iterable[tuple[str, str]], y: int, theme: Theme, base: str, ground: str) -> str:
    found: list[str] = []
    x = 0
    for text, words in line:
        size = cells(text)
        style = look(theme, words)
        fore, back = style.colour or base, style.ground
        fore, back = _NAMED.get(fore, fore), _NAMED.get(back, back)
        if style.reverse:
            fore, back = back or ground, fore
        left, top = EDGE + x * WIDTH, EDGE + y * HEIGHT
        if back:
            found.append(f'<rect x="{left}" y="{top}" width="{size * WIDTH}" height="{HEIGHT}" fill="{back}"/>')
        if text.strip():
            found += _run(text, left, top, fore, style)
        x += size
    return "".join(found)


def _run(text: str, left: int, top: int, fore: str, style: Look) -> list[str]:
    """Blocks as rectangles, equal ones side by side as one; the rest as text."""
    found: list[str] = []
    at = 0
    dim = ' opacity=".62"' if style.dim else ""
    while at < len(text):
        end = at + 1
        block = text[at] in _LEVELS[1:] or text[at] in _SHADES
        while end < len(text) and (text[end] == text[at] if block else not (text[end] in _LEVELS[1:] or text[end] in _SHADES)):
            end += 1
        part, x = text[at:end], left + cells(text[:at]) * WIDTH
        if block:
            tall = HEIGHT if text[at] in _SHADES else round(HEIGHT * _LEVELS.index(text[at]) / 8, 1)
            shade = f' opacity="{_SHADES[text[at]]}"' if text[at] in _SHADES else dim
            size = f'width="{(end - at) * WIDTH}" height="{tall:g}"'
            found.append(f'<rect x="{x}" y="{top + HEIGHT - tall:g}" {size} fill="{fore}"{shade}/>')
        elif part.strip():
            found.append(_text(part, x, top, fore, style))
        at = end
    return found


def _text(part: str, x: int, top: int, fore: str, style: Look) -> str:
    blanks = len(part) - len(part.lstrip(" "))
    shown = part.strip(" ")
    words = " ".join(word for word, on in (("b", style.bold), ("u", style.underline), ("d", style.dim)) if on)
    named = f' class="{words}"' if words else ""
    return (f'<text x="{x + blanks * WIDTH}" y="{top + 13}" textLength="{cells(shown) * WIDTH}" fill="{fore}"{named}>'
            f"{escape(_NO_XML.sub('?', shown))}</text>")  # fmt: skip


def _light(colour: str) -> bool:
    return sum(int(colour[at : at + 2], 16) for at in (1, 3, 5)) > 3 * 128
