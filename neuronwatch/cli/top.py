"""`neuronwatch top`: the live dashboard, a client of the daemon. `--once` prints one frame."""

from __future__ import annotations

import argparse
import json
import os
import sys
from typing import TYPE_CHECKING

from neuronwatch.cli.main import UsageError, add_global_arguments, columns

if TYPE_CHECKING:
    from neuronwatch.tui.draw.glyphs import Glyphs
    from neuronwatch.tui.draw.row import Row


PAGES = ("overview", "incidents", "logs", "jobs", "serving", "processes", "rules", "sources")
MOST = (400, 1000)
"""Lines and columns of one printed frame, at most."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_global_arguments(parser, ("text", "json"))
    parser.add_argument("--once", action="store_true", help="print one frame, for a ticket")
    parser.add_argument("--demo", action="store_true", help="show a simulated host, with a story of load and faults")
    parser.add_argument("--replay", metavar="DIR", help="show a recording (`neuronwatch record`)")
    parser.add_argument("--speed", type=float, default=1.0, metavar="N", help="play a recording N times as fast (default: 1)")
    parser.add_argument("--page", choices=PAGES, default="overview", help="the first page (default: overview)")
    parser.add_argument(
        "--theme", choices=("dark", "light", "sixteen", "plain"), help="colours (default: dark; plain with NO_COLOR)"
    )
    parser.add_argument("--ascii", action="store_true", help="no characters beyond ASCII")
    parser.add_argument("--rate", type=float, default=1.0, metavar="HZ", help="frames a second (default: 1)")


def run(args: argparse.Namespace) -> int:
    if not 0.1 <= args.rate <= 30:
        raise UsageError(f"--rate {args.rate:g}: must be between 0.1 and 30 frames a second")
    if args.format == "json" and not args.once:
        raise UsageError("--format json goes with --once: the status as `neuronwatch status --format json` has it")
    if args.once:
        return once(args)
    from neuronwatch.cli.top_feed import feed
    from neuronwatch.daemon import allocator
    from neuronwatch.tui.opening import Opening
    from neuronwatch.tui.theme import THEMES

    if not sys.stdout.isatty():
        raise UsageError("top needs a terminal; `neuronwatch top --once` prints one frame, `neuronwatch status` the state")
    allocator.thrifty()  # a million lines of logs are many pieces
    with feed(args) as source, Opening(source, glyphs(args), THEMES[theme(args)], args.page) as opening:
        from neuronwatch.tui.app import Dashboard  # Textual: longer to load than all the rest, so the first frame is there before

        app = Dashboard(opening, glyphs(args), theme(args), args.page, args.rate, opening.picture, source, opening.terminal)
        app.run()
    return app.return_code or 0


def once(args: argparse.Namespace) -> int:
    """One frame as text; exit status as `status`."""
    from neuronwatch.cli.diagnose import EXIT
    from neuronwatch.cli.status import shown
    from neuronwatch.cli.top_feed import feed
    from neuronwatch.daemon.client import NoDaemon
    from neuronwatch.daemon.protocol import ApiError
    from neuronwatch.tui.ansi import text
    from neuronwatch.tui.frame import compose
    from neuronwatch.tui.pages import book
    from neuronwatch.tui.theme import THEMES
    from neuronwatch.tui.view.picture import Link, Picture
    from neuronwatch.tui.view.values import ODD

    picture, pages = Picture(), book.pages()
    page = next((item for item in pages if item.name == args.page), pages[0])
    given = os.environ.get("LINES", "")
    lines = min(MOST[0], max(8, int(given))) if given.isascii() and given.isdigit() and len(given) < 10 else 40

    def drawn() -> list[Row]:
        return compose(picture, page, pages, min(MOST[1], columns()), lines, glyphs(args))

    needs = page.needs()
    try:
        with feed(args) as source:
            for name, data in source.once(needs):
                picture.apply(name, data)
            drawn()
            if page.needs() != needs:  # what it shows first has curves of its own to be asked for
                for name, data in source.more(page.needs()):
                    picture.apply(name, data)
    except UsageError as error:
        if args.replay or args.demo:
            raise
        picture.apply("link", Link("lost", 0.0, str(error)))
    except (NoDaemon, ApiError) as error:
        picture.apply("link", Link("lost", 0.0, str(error)))
    except ODD as error:
        why = f"the daemon's answer cannot be understood ({type(error).__name__}: {str(error)[:80]})"
        picture.apply("link", Link("lost", 0.0, why))
    if args.format == "json":
        print(json.dumps(shown(picture)))
        return EXIT[picture.verdict]
    rows = drawn()
    dyed = sys.stdout.isatty() or args.theme is not None
    sys.stdout.write(text(rows, THEMES[theme(args)] if dyed else None))
    return EXIT[picture.verdict]


def theme(args: argparse.Namespace) -> str:
    if args.theme:
        return str(args.theme)
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return "plain"
    many = os.environ.get("COLORTERM") in ("truecolor", "24bit") or "256" in os.environ.get("TERM", "")
    return "dark" if many else "sixteen"


def glyphs(args: argparse.Namespace) -> Glyphs:
    from neuronwatch.tui.draw.glyphs import ASCII, UNICODE

    return ASCII if args.ascii or "utf" not in (sys.stdout.encoding or "").lower() else UNICODE
