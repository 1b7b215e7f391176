"""`neuronwatch service install|print`: the systemd service of the daemon."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

from neuronwatch.cli.main import UsageError

UNIT, SYSUSERS = "etc/systemd/system/neuronwatch.service", "etc/sysusers.d/neuronwatch.conf"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    for name, text in {"print": "print the unit file", "install": "write the unit file and its user"}.items():
        sub = actions.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
        sub.add_argument("--processes", action="store_true", help="may see environment and files of others' processes")
        sub.add_argument("--homes", action="store_true", help="may read logs that only their owner may read")
        sub.add_argument("--config", metavar="FILE", help="configuration file of the daemon")
        sub.add_argument("--state-dir", metavar="DIR", help="state directory of the daemon (default: /var/lib/neuronwatch)")
        sub.add_argument("--socket", metavar="PATH", help="socket of the daemon")
        if name == "install":
            sub.add_argument("--prefix", metavar="DIR", default="/", help="write below DIR (an image) instead of /")


def run(args: argparse.Namespace) -> int:
    from neuronwatch.daemon import unit

    state = os.path.abspath(args.state_dir) if args.state_dir else ""
    text = unit.unit(_command(args), args.processes, args.homes, state=state)
    if args.action == "print":
        sys.stdout.write(text)
        return 0
    return _install(text, unit.SYSUSERS, Path(args.prefix))


def _command(args: argparse.Namespace) -> list[str]:
    """How the daemon is started: this program again, by absolute paths."""
    program = Path(sys.argv[0]).absolute()
    start = [str(program)] if program.name == "neuronwatch" else [sys.executable, "-m", "neuronwatch"]
    command = [*start, "daemon"]
    for name in ("config", "state-dir", "socket"):
        value = getattr(args, name.replace("-", "_"))
        if value:
            command += [f"--{name}", os.path.abspath(value)]
    return command


def _install(text: str, sysusers: str, prefix: Path) -> int:
    for name, content in ((SYSUSERS, sysusers), (UNIT, text)):
        place = prefix / name
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            new = place.with_name(place.name + ".new")
            new.write_text(content, encoding="utf-8")
            new.chmod(0o644)
            new.replace(place)
        except OSError as error:
            raise UsageError(f"{place}: {(error.strerror or str(error)).lower()} (install needs root)", str(place)) from error
        print(place)
    if prefix.absolute() == Path("/"):
        from neuronwatch.daemon import lean

        lean.compile_ahead()  # the daemon's user may not write it
    if prefix.absolute() != Path("/") or not Path("/run/systemd/system").is_dir():
        print(
            "next, on the host: systemd-sysusers && systemctl daemon-reload && systemctl enable --now neuronwatch", file=sys.stderr
        )
        return 0
    for command in (["systemd-sysusers"], ["systemctl", "daemon-reload"]):
        try:
            done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
        except (OSError, subprocess.TimeoutExpired) as error:
            print(f"neuronwatch: {command[0]}: {error}", file=sys.stderr)
            return 1
        if done.returncode:
            print(f"neuronwatch: {command[0]}: {done.stderr.strip()[:500]}", file=sys.stderr)
            return 1
    print("next: systemctl enable --now neuronwatch", file=sys.stderr)
    return 0
