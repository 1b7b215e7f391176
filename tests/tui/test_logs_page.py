"""The Logs page as rows, and driven by keys."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest
from tui import pictures
from tui.test_dashboard import Told, begin, text

from neuronwatch.tui.app import Dashboard
from neuronwatch.tui.draw.glyphs import ASCII, UNICODE
from neuronwatch.tui.draw.row import Row, plain, width_of
from neuronwatch.tui.frame import compose
from neuronwatch.tui.pages.logs import LogsPage
from neuronwatch.tui.view.logs import Logs
from neuronwatch.tui.view.picture import Picture

PATH = "job:/var/log/train.log"


def told(lines: list[str], first: int = 0, path: str = PATH, **more: Any) -> dict[str, Any]:
    return {"path": path, "lines": lines, "line": first, "left_out": 0, "time": pictures.NOW} | more


def lines(count: int = 100) -> list[str]:
    """Every tenth is an error, every line has a rank."""
    return [f"[rank{n % 4}]: {'ERROR' if n % 10 == 0 else 'INFO'} line {n} of nd{n % 2}:nc{n % 3}" for n in range(1, count + 1)]


def picture(*items: dict[str, Any]) -> Picture:
    found = pictures.picture()
    found.apply("logs", list(items) or [told(lines(), 1)])
    return found


def drawn(page: LogsPage, known: Picture, width: int = 110, height: int = 20) -> list[Row]:
    rows = compose(known, page, [page], width, height, UNICODE)
    assert len(rows) == height and {width_of(row) for row in rows} == {width}
    return rows


def shown(page: LogsPage, known: Picture, width: int = 110, height: int = 20) -> str:
    return "\n".join(map(plain, drawn(page, known, width, height)))


def cursor(page: LogsPage, known: Picture) -> str:
    return next((row for row in shown(page, known).split("\n") if row.startswith("▸")), "")


def press(page: LogsPage, known: Picture, keys: str) -> None:
    for key in keys:
        page.key(key, known)
        shown(page, known)


def test_it_follows_stops_when_one_scrolls_up_and_begins_again_at_the_end() -> None:
    page, known = LogsPage(), picture()
    assert "line 100 of" in shown(page, known) and "following" in shown(page, known)
    known.apply("lines", [told(["INFO new line"], 101)])
    assert "new line" in cursor(page, known)
    press(page, known, "kkk")
    before = shown(page, known)
    known.apply("lines", [told(["INFO newer line"], 102)])
    assert "newer line" not in shown(page, known) and "stopped, 1 below" in shown(page, known)
    assert before.split("\n")[4:-1] == shown(page, known).split("\n")[4:-1]
    press(page, known, "jjjj")
    assert "newer line" in cursor(page, known) and "following" in shown(page, known)
    press(page, known, "g")
    assert "line 1 of" in cursor(page, known) and "stopped" in shown(page, known)
    press(page, known, "G")
    assert "following" in shown(page, known)


def test_a_filter_leaves_what_contains_it_or_only_marks_it() -> None:
    page, known = LogsPage(), picture()
    page.filter("LINE 5")
    text_ = shown(page, known)
    assert "line 5 of" in text_ and "line 51 of" in text_ and "line 61 of" not in text_ and "11 of 100 lines" in text_
    assert any(span.style == "match cursor" or span.style == "match" for row in drawn(page, known) for span in row)
    press(page, known, "f")
    assert "line 60 of" in shown(page, known)
    page.key("g", known)
    shown(page, known)
    press(page, known, "n")
    assert "line 5 of" in cursor(page, known)
    press(page, known, "n")
    assert "line 50 of" in cursor(page, known)
    press(page, known, "N")
    assert "line 5 of" in cursor(page, known)
    press(page, known, "N")
    assert "no earlier match" in shown(page, known)
    press(page, known, "x")
    assert "100 lines of 1 text" in shown(page, known)
    page.filter("nothing like it")
    assert "0 of 100 lines" in shown(page, known)


def test_e_goes_to_the_next_error_from_the_end_to_the_newest() -> None:
    page, known = LogsPage(), picture(told(lines(95), 1))
    shown(page, known)
    for key, number in (("e", 90), ("E", 80), ("E", 70), ("e", 80)):
        press(page, known, key)
        assert f"line {number} of" in cursor(page, known)
    press(page, known, "eee")
    assert "no later error" in page._said


def test_level_source_rank_and_core_of_the_line_under_the_cursor() -> None:
    page, known = LogsPage(), picture(told(lines(), 1), told(["nothing"], 1, "job:/var/log/other.log"))
    shown(page, known)
    press(page, known, "LLL")
    assert "level error+" in shown(page, known) and "line 9 of" not in shown(page, known) and "line 90 of" in shown(page, known)
    press(page, known, "L" + "r")
    assert "rank 0" in shown(page, known) or "tells no rank" in page._said
    press(page, known, "x")
    press(page, known, "kkkk" + "r")
    assert "rank 1" in shown(page, known) and "25 of 101" in shown(page, known)
    press(page, known, "rc")
    assert "nd1:nc" in shown(page, known)
    press(page, known, "cs")
    assert "100 of 101" in shown(page, known) and "in job:/var/log/train.log" in shown(page, known)


def test_an_incident_opens_the_line_of_its_evidence() -> None:
    item = pictures.incident("hw.uncorrectable-memory")
    item["findings"][0]["evidence"] = [{"path": PATH, "line": 40, "text": lines()[39]}]
    known = pictures.picture(pictures.status("fault", ("x",), (item,)))
    page = LogsPage()
    page.show(f"{PATH}:40")
    assert "waiting for" in shown(page, known)
    known.apply("logs", [told(lines(), 1)])
    assert "line 40 of" in cursor(page, known) and "stopped" in shown(page, known)
    page.show(f"{PATH}:4000")
    assert f"{PATH}:4000 is not among the lines held" in shown(page, known)


def test_long_lines_are_cut_move_sideways_and_can_be_read_whole() -> None:
    page, known = LogsPage(), picture(told(["INFO " + "abcdefghij" * 1000], 1))
    assert "…" in shown(page, known)
    press(page, known, "l")
    assert "from column 17" in shown(page, known)
    press(page, known, "0")
    assert "from column" not in shown(page, known)
    page.key("enter", known)
    assert "rows more; y copies all" in shown(page, known) and f"{PATH}:1 " in shown(page, known)
    assert len(page.copied(known)) == 10_005


def test_what_the_columns_tell_is_left_out_in_front_of_the_text_unless_one_wants_it() -> None:
    day = "2026-05-28"
    written = [f"[rank3]: {day} 20:26:20,276 INFO trainer: step 1", f"{day.replace('05', 'May')} 20:26:20.0042 42:4250 ERROR  NRT:nrt_x failed",
               f"{day} 12:26:20,276 WARNING of another zone", "no stamp", 'INFO:     "GET /health" 200', "NRT:x        padded"]  # fmt: skip
    page, known = LogsPage(), pictures.picture()
    known.apply("lines", [told(written, 1, time=pictures.NOW - 20)])
    rows_ = [row[row.index("train.log") + 10 :].strip() for row in shown(page, known).split("\n") if "train.log" in row]
    assert rows_ == ["trainer: step 1", "NRT:nrt_x failed", written[2], "no stamp", '"GET /health" 200', "NRT:x  padded"]
    page.filter("rank3")
    assert written[0] in shown(page, known)
    page.filter("")
    press(page, known, "w")
    assert all(line in shown(page, known) for line in written)


def test_records_for_programs_are_no_log() -> None:
    page, known = LogsPage(), picture(told(['{"a": 1}'], 1, "host:neuron-monitor"), told(lines(), 1))
    assert len(known.logs) == 100
    page.show("host:neuron-monitor:3")
    assert "is a record" in shown(page, known)


HOSTILE = [
    "[bold red]x[/] \x1b[31mred\x1b[0m\x1b]0;title\x07", "\u202egnp.exe \u2067x", "\u754c" * 6000, "a\u0301" * 500, "e" + "\u0301" * 60,
    "\t\r\x00\x08 ERROR \ufeff\u200b", "\ud800 x", "x" * 10_000, "", "  ", "\u0645\u0631\u062d\u0628\u0627 ERROR", "\U0001f600" * 300,
]  # fmt: skip


@pytest.mark.parametrize("size", [(40, 8), (57, 9), (80, 24), (300, 80)])
def test_hostile_lines_draw_as_text(size: tuple[int, int]) -> None:
    page, known = LogsPage(), picture(told(HOSTILE, 1, "job:/x/\x1b[31m[b]\u202e.log"))
    page.key("enter", known)
    for keys in ("", "lll", "k", "0"):
        press(page, known, keys)
        text_ = shown(page, known, *size)
        assert not any(c in text_ for c in "\x1b\x07\x08\r\x00\u202e\u2067\u200b\ufeff")
    page.filter("x")
    shown(page, known, *size)
    assert all(plain(row).isascii() for row in compose(known, page, [page], *size, ASCII))


def test_what_is_missing_is_said_between_the_lines() -> None:
    page, known = LogsPage(), picture(told(["one"], 1))
    known.apply("lines", [told(["nine"], 9)])
    text_ = shown(page, known)
    assert text_.index("one") < text_.index("7 lines left out here") < text_.index("nine") and "7 left out" in text_


def test_without_lines_and_without_a_daemon_it_says_so() -> None:
    assert "no line of a followed text is known" in shown(LogsPage(), pictures.picture())
    assert "no daemon" in shown(LogsPage(), Picture())


def test_a_frame_of_a_big_log_is_quick_and_a_search_does_not_hold_it_up() -> None:
    known = pictures.picture()
    known.logs = Logs()
    for turn in range(30):
        known.apply("lines", [told([f"INFO step {turn} {n} loss {n * 7919 % 1000}" for n in range(1024)], turn * 1024 + 1)])
    page = LogsPage()
    shown(page, known)
    begin_ = time.perf_counter()
    page.filter("step 0 1 loss")
    for _ in range(20):
        shown(page, known)
    assert (time.perf_counter() - begin_) / 20 < 0.25
    for _ in range(1000):
        if not page.busy:
            break
        page.work(known, 0.01)
    assert not page.busy and "step 0 1 loss" in cursor(page, known)


def test_the_program_shows_new_lines_searches_and_comes_back_from_a_jump() -> None:
    async def go() -> None:
        feed = Told()
        app = Dashboard(feed, UNICODE, page="logs")
        async with app.run_test(size=(100, 24)) as pilot:
            await begin(app, feed)
            assert feed.tell is not None and feed.needs == ("logs",)
            await asyncio.to_thread(feed.tell, [("logs", [told(lines(), 1)])])
            await pilot.pause()
            assert "line 100 of" in text(app)
            await pilot.press("/", *"line 77", "enter")
            await pilot.pause()
            assert "line 77 of" in text(app) and "line 78 of" not in text(app)
            await pilot.press("x", "up")
            assert "stopped" in text(app)
            await pilot.click(offset=(5, 6))
            assert "▸" in text(app).split("\n")[6]
            app.open("overview")
            assert "logs" not in feed.needs
            app.open("logs", f"{PATH}:3")
            app.draw()
            assert "line 3 of" in text(app)
            await pilot.press("escape")
            assert app.page.name == "overview"

    asyncio.run(go())


def test_where_nothing_matches_nothing_is_under_the_cursor() -> None:
    page, known = LogsPage(), picture()
    shown(page, known)
    page.filter("no line says this")
    shown(page, known)
    assert page.copied(known) == ""
    press(page, known, "s")
    assert "there is no line under the cursor" in shown(page, known)
    page.filter("path:x.log level:error no line says this")
    shown(page, known)
    press(page, known, "s")  # what was asked for can be taken back without a line
    assert "path:x.log" not in shown(page, known) and "in x.log" not in shown(page, known)
