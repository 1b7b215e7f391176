"""The overview as text, for hosts of all kinds and terminals of all sizes."""

from __future__ import annotations

import pytest
from tui import hosts, pictures

from neuronwatch.tui.draw.glyphs import ASCII, UNICODE
from neuronwatch.tui.draw.row import plain, width_of
from neuronwatch.tui.frame import compose
from neuronwatch.tui.pages import book
from neuronwatch.tui.pages.api import Frame
from neuronwatch.tui.pages.history import History
from neuronwatch.tui.view.devices import devices
from neuronwatch.tui.view.picture import Link, Picture


def shown(picture: Picture, width: int = 100, height: int = 30, page: str = "overview") -> str:
    pages = book.pages()
    chosen = next(item for item in pages if item.name == page)
    rows = compose(picture, chosen, pages, width, height, UNICODE)
    assert len(rows) == height
    assert {width_of(row) for row in rows} == {width}
    return "\n".join(map(plain, rows))


@pytest.mark.parametrize("size", [(1, 1), (20, 5), (40, 8), (80, 24), (160, 45), (300, 80)])
@pytest.mark.parametrize("page", [item.name for item in book.pages()])
@pytest.mark.parametrize("count", [0, 1, 2, 16, 64])
def test_every_page_fits_every_terminal(size: tuple[int, int], page: str, count: int) -> None:
    shown(pictures.picture(devices=count), *size, page)
    shown(Picture(), *size, page)


def test_a_healthy_host_says_so_and_shows_each_core() -> None:
    text = shown(pictures.picture(devices=16, cores=8))
    assert "✓ HEALTHY" in text and "128 busy" in text and "nd15" in text and "nothing is wrong" in text


def test_what_is_held_and_idle_is_told_apart_from_free_and_from_not_seen() -> None:
    assert {core.state for core in devices(pictures.picture(utilization=0.0))[0].cores} == {"idle"}
    assert {core.state for core in devices(pictures.picture(utilization=0.0, used=0.0))[0].cores} == {"free"}
    assert {core.state for core in devices(pictures.picture(utilization=None))[0].cores} == {"unknown"}
    assert {core.state for core in devices(pictures.picture(utilization=None, used=0.0))[0].cores} == {"free"}


def test_a_free_device_says_so_and_is_not_unknown() -> None:
    text = shown(pictures.picture(utilization=None, used=0.0))
    assert text.count(" free ") >= 2 and "?" not in text.split("nd0", 1)[1].split("\n", 1)[0]


def test_an_old_value_is_stale_and_counts_in_no_mean() -> None:
    picture = pictures.picture(time=pictures.NOW - 60)
    found = devices(picture)[0]
    assert {core.state for core in found.cores} == {"stale"} and found.mean is None
    assert "stale" in shown(picture)


def test_a_core_that_an_incident_names_is_faulty_and_its_device_says_why() -> None:
    incidents = (pictures.incident("hw.uncorrectable-memory", "critical", ("nd1",)),)
    picture = pictures.picture(pictures.status("fault", ("hw.uncorrectable-memory",), incidents))
    assert [{core.state for core in device.cores} for device in devices(picture)] == [{"busy"}, {"faulty"}]
    text = shown(picture)
    assert "✗ FAULT" in text and "4 faulty" in text and "hw.uncorrectable-memory" in text


def test_a_lost_daemon_is_never_green() -> None:
    picture = pictures.picture()
    picture.apply("link", Link("lost", pictures.NOW - 7, "the daemon closed the connection"))
    text = shown(picture)
    assert "UNKNOWN" in text and "DAEMON LOST" in text and "HEALTHY" not in text and "nothing is wrong" not in text


def test_devices_that_the_instance_must_have_are_shown_though_nobody_tells_of_them() -> None:
    picture = pictures.picture(devices=2)
    picture.apply("facts", pictures.facts(devices=4))
    assert [core.state for device in devices(picture)[2:] for core in device.cores] == ["unknown"] * 8


def test_ascii_is_ascii() -> None:
    pages = book.pages()
    for page in pages:
        for row in compose(pictures.picture(), page, pages, 120, 40, ASCII):
            assert plain(row).isascii()


def test_each_device_has_a_line_of_its_own_last_minutes() -> None:
    picture = hosts.healthy()
    found = {device.number: device for device in devices(picture)}
    assert len(found[0].trail) == 7 and found[14].trail == ()  # a minute, a point each ten seconds; one that is free tells none
    assert all(value is not None and 0 <= value <= 100 for value in found[0].trail)
    text = shown(picture, 160, 45)
    assert any(sign in text.split("nd0", 1)[1].split("nd4", 1)[0] for sign in "▂▃▄▅")


def test_what_led_up_to_now_stands_still_for_some_seconds_and_gives_way() -> None:
    picture = hosts.healthy()
    history, frame = History(), Frame(160, 40, UNICODE)
    first = history.rows(picture, frame, 12)
    assert len(first) == 12 and "Cores" in plain(first[1]) and "loss" in plain(first[1])
    picture.apply("time", hosts.NOW + 1)
    for item in hosts.readings(1, hosts.NOW + 1):
        picture.apply("samples", item)
    assert history.rows(picture, frame, 12) is first
    picture.apply("time", hosts.NOW + 6)
    assert history.rows(picture, frame, 12) != first
    assert history.rows(picture, frame, 5) == [] and History().rows(Picture(), frame, 12) == []


def test_no_number_of_a_job_is_cut() -> None:
    for width in range(60, 200, 7):
        for line in shown(hosts.healthy(), width, 30).split("\n"):
            assert not (line.strip().startswith(("qwen3-8b", "vllm")) and line.rstrip().endswith("…"))
