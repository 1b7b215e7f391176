"""The report's own layout against the library that draws the dashboard: the same lines, whatever the text."""

import io

from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text as RichText

from neuronwatch.cli.report.layout import BOLD, DIM, RED, Page, Text
from neuronwatch.cli.report.visible import visible

TEXTS = st.one_of(st.text(st.sampled_from("ab  -\u00e9\u65e5\u672c\U0001f600\u0301"), max_size=120), st.text(max_size=60)).map(
    visible
)


def rich_lines(width, draw):
    buffer = io.StringIO()
    draw(Console(file=buffer, width=width, force_terminal=False, no_color=True, highlight=False, markup=False, emoji=False))
    return [line.rstrip() for line in buffer.getvalue().split("\n")[:-1]]


@given(TEXTS, st.integers(10, 60), st.integers(0, 4))
def test_wrapped_as_rich_wraps(text, width, indent):
    page = Page(width, colour=False)
    page.put(Text(text), indent)
    assert page.text().split("\n")[:-1] == rich_lines(
        width, lambda console: console.print(Padding(RichText(text), (0, 0, 0, indent)))
    )


@given(TEXTS.filter(str.strip), st.integers(10, 60))
def test_a_bullet_hangs(text, width):
    def draw(console):
        grid = Table.grid(padding=(0, 1))
        grid.add_column(width=2, no_wrap=True)
        grid.add_column(overflow="fold")
        grid.add_row(RichText("1."), RichText(text))
        console.print(Padding(grid, (0, 0, 0, 2)))

    page = Page(width, colour=False)
    page.put(Text(text), 2, "1.")
    assert page.text().split("\n")[:-1] == rich_lines(width, draw)


@given(st.lists(st.tuples(TEXTS, st.sampled_from(["", DIM, BOLD, RED])), max_size=5), st.integers(10, 60))
def test_styles_change_no_text(pieces, width):
    plain, styled = Page(width, colour=False), Page(width, colour=True)
    for page in (plain, styled):
        text = Text("x", DIM)
        for piece, style in pieces:
            text.append(piece, style)
        page.put(text)
    without = styled.text()
    for code in ("\x1b[2m", "\x1b[2;1m", "\x1b[2;31m", "\x1b[0m"):
        without = without.replace(code, "")
    assert [line.rstrip() for line in without.split("\n")] == plain.text().split("\n")
