"""What the fuzz targets share: the command line, seeded cases, a bound on each case's processor time, the report.

A case is made from `SEED:NUMBER` alone, so that `--only NUMBER` repeats one. A target runs as a program for as long as is
wished (`python tests/torture/fuzz_parsers.py --seconds 900 --seed 1`) and for a moment in `make torture`.
"""

from __future__ import annotations

import argparse
import random
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FIXTURES = ROOT / "fixtures"
CASE_SECONDS = 20.0
"""Processor time after which a case counts as hanging."""

NUMBERS = (
    b"0", b"-1", b"9" * 19, b"9" * 40, b"9" * 5000, b"1e999", b"-1e999", b"NaN", b"Infinity", b"0x7fffffff", b"1e-400", b"00",
    "²³".encode(), "٣٤".encode(), "①".encode(), b"1_000", b"--5", b"18446744073709551616", b"0.0000000001", b"1.7976931348623157e309",
)  # fmt: skip
TOKENS = (
    b"\0", b"\r", b"\r\n", b"\x1b[31m", b"\x1b]52;c;AAAA\x07", b"\x9b2J", b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"{", b"}",
    b"[" * 3000, b'{"a":' * 500, b"(" * 400, b'"', b"'", b"`", b"$(", b"\\", b"\\\n", b"=", b":", b"|", b" " * 3000, b"\t", b"-" * 2000,
    b"[rank3]: ", b"%s%n", b"{{", b"!!python/object:", b"&a [*a,*a]", b"<<EOF\n", "\u202e".encode(), "\u2028".encode(), "\x85".encode(),
    b",", b"--", b"/" * 1000, b"../", b"\n\n", b"A" * 5000, b"&&", b"nan", b"None", b"null", b"true", b"1:2:3", b"#", b";",
)  # fmt: skip


class TooLong(BaseException):
    """A case used more than CASE_SECONDS of processor time."""


def arguments(argv: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=60.0, help="how long to go on")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, help="run this one case, with its traceback")
    parser.add_argument("--keep", type=Path, help="where the inputs of failures go (default: a new directory)")
    return parser.parse_args(argv)


def campaign(name: str, case: Callable[[random.Random], object], argv: Sequence[str] | None = None) -> int:
    """Runs cases until the time is over; 1 when one of them raised or hung. `case` makes its input and checks it."""
    args = arguments(argv)
    if args.only is not None:
        case(random.Random(f"{args.seed}:{args.only}"))
        return 0
    begun, number, failed, slowest = time.monotonic(), 0, 0, (0.0, 0)
    kinds: dict[str, int] = {}
    signal.signal(signal.SIGPROF, _give_up)
    case(random.Random(f"{args.seed}:0"))  # what is loaded once is no memory that grows
    first = _peak()
    while time.monotonic() - begun < args.seconds:
        number += 1
        used = time.process_time()
        signal.setitimer(signal.ITIMER_PROF, CASE_SECONDS)
        try:
            case(random.Random(f"{args.seed}:{number}"))
        except (Exception, TooLong) as error:
            failed += 1
            _tell(name, args, number, error, kinds)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0.0)
        slowest = max(slowest, (time.process_time() - used, number))
    print(f"{name}: seed {args.seed}, {number} cases in {time.monotonic() - begun:.0f} s, {failed} failures of {len(kinds)} kinds; "
          f"slowest case {slowest[0]:.2f} s (case {slowest[1]}); memory {first} MiB after the first case, {_peak()} MiB at most")  # fmt: skip
    return 1 if failed else 0


def _give_up(*_: object) -> None:
    raise TooLong(f"more than {CASE_SECONDS} s of processor time")


def _peak() -> int:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak // (1024 * 1024 if sys.platform == "darwin" else 1024)


def _tell(name: str, args: argparse.Namespace, number: int, error: BaseException, kinds: dict[str, int]) -> None:
    """The traceback of the first failure of a kind, one line for the second to fifth."""
    frames = traceback.extract_tb(error.__traceback__)
    inner = next((item for item in reversed(frames) if "neuronwatch" in item.filename), frames[-1])
    kind = f"{type(error).__name__} in {Path(inner.filename).name}:{inner.lineno}"
    kinds[kind] = kinds.get(kind, 0) + 1
    if kinds[kind] == 1:
        print(f"{name}: case {number}: {kind}: {str(error)[:300]}")
        print("".join(traceback.format_exception(error))[-3000:])
    elif kinds[kind] <= 5:
        print(f"{name}: case {number}: {kind} again")
    sys.stdout.flush()


def keep_directory(argv: Sequence[str] | None = None) -> Path:
    """A directory for the files that a case needs."""
    return Path(tempfile.mkdtemp(prefix="neuronwatch-fuzz-"))


def mutated(data: bytes, rng: random.Random, pool: Sequence[bytes], most: int = 8) -> bytes:
    """`data` with some things done to it: cut, repeated, numbers and tokens put in, pieces of others, bytes flipped."""
    out = bytearray(data[: 1 << 20])
    for _ in range(rng.randint(0, most)):
        _mutate(out, rng, pool)
    return bytes(out[: 1 << 21])


def _mutate(out: bytearray, rng: random.Random, pool: Sequence[bytes]) -> None:
    at = rng.randint(0, len(out))
    end = min(len(out), at + rng.choice((1, 2, 8, 60, 400)))
    choice = rng.randint(0, 10)
    if choice == 0:
        del out[at:end]
    elif choice == 1:
        out[at:at] = out[at:end] * rng.choice((1, 2, 50))
    elif choice == 2:
        out[at:at] = rng.choice(TOKENS)
    elif choice == 3:
        _number(out, rng)
    elif choice == 4:
        other = rng.choice(pool)
        start = rng.randint(0, len(other))
        out[at:at] = other[start : start + rng.choice((10, 100, 4000))]
    elif choice == 5 and out:
        out[min(at, len(out) - 1)] = rng.randrange(256)
    elif choice == 6:
        del out[at:]
    elif choice == 7:
        del out[: rng.randint(0, min(200, len(out)))]
    elif choice == 8:
        lines = bytes(out).split(b"\n")
        rng.shuffle(lines)
        out[:] = b"\n".join(lines)
    elif choice == 9:
        lines = bytes(out).split(b"\n")
        line = rng.randrange(len(lines))
        lines[line] = lines[line] * rng.choice((2, 30))
        out[:] = b"\n".join(lines)
    else:
        out[at:end] = rng.choice(TOKENS)


def _number(out: bytearray, rng: random.Random) -> None:
    """One of the numbers becomes an unreasonable one."""
    digits = [index for index in range(len(out)) if 48 <= out[index] <= 57] if len(out) < 50_000 else []
    if not digits:
        out += rng.choice(NUMBERS)
        return
    start = rng.choice(digits)
    end = start
    while end < len(out) and 48 <= out[end] <= 57:
        end += 1
    out[start:end] = rng.choice(NUMBERS)


def fixture_pool() -> list[tuple[str, bytes]]:
    """Name and content of every fixture, in a fixed order."""
    return [(path.name, path.read_bytes()) for path in sorted(FIXTURES.rglob("*")) if path.is_file()]
