"""Writes a seeded mixed log (libnrt, trainer dicts, tqdm, vLLM, dmesg, plain text) with a given share of matching lines.

    python bench/make_log.py OUT [--size 1G] [--seed 7] [--match 0.0001]

The matching lines are real wordings of faults; everything else is what healthy runs print. The same arguments give the
same bytes on every machine.
"""

from __future__ import annotations

import argparse
import random
import re
from collections.abc import Callable
from pathlib import Path

FAULT_LINES = (
    "2026-Aug-21 10:14:02.0311  4121:4188  ERROR   NRT:nrt_allocate_neuron_cores               "
    "NeuronCore(s) not available - Requested:nc1-nc1 Available:0",
    "2026-Aug-21 10:14:03.0117  4121:4190  ERROR  TDRV:dmem_alloc_internal                     "
    "Failed to alloc DEVICE memory: 1073741824",
    "[1203.551221] neuron: nd3: uncorrectable error in HBM, serial 0x71",
    "RuntimeError: Bootstrap for collectives timed out, rank 3",
    "[ 8841.020011] Out of memory: Killed process 4412 (walrus_driver) total-vm:812345678kB, anon-rss:501234567kB",
    "ERROR 08-21 10:15:11 [core.py:700] EngineCore failed to start: No free blocks in the KV cache",
)

Maker = Callable[[random.Random, int], str]


_WHO = ("NRT:nrt_infodump", "TDRV:tdrv_init_mla_phase1", "NRT:nrt_init", "TDRV:kbl_model_add", "NMGR:dlr_kelf_stage")
_DID = ("Loaded model", "Neuron Runtime initialized", "stage done", "allocated ring", "mapped BAR")
_KERNEL = (
    "neuron: nd%d reset completed", "ena 0000:00:0%d.0 ens5: link up", "audit: type=1400 apparmor=%d",
    "EXT4-fs (nvme%dn1): mounted filesystem",
)  # fmt: skip


def libnrt(rng: random.Random, n: int) -> str:
    stamp = f"2026-Aug-21 10:{n // 60 % 60:02d}:{n % 60:02d}.{n % 10000:04d}"
    what = f"{rng.choice(_DID)} nd{n % 16} nc{n % 2} id {rng.randrange(1 << 30):08x}"
    return f"{stamp}  4121:{4100 + n % 97}  INFO   {rng.choice(_WHO):<40} {what}"


def trainer(rng: random.Random, n: int) -> str:
    return (
        f"{{'loss': {2 + rng.random():.4f}, 'grad_norm': {rng.random() * 3:.6f}, "
        f"'learning_rate': {rng.random() * 1e-4:.12g}, 'epoch': {n / 10000:.2f}}}"
    )


def tqdm(rng: random.Random, n: int) -> str:
    done = n % 5000
    clock = f"{done // 60:02d}:{done % 60:02d}<{n % 59:02d}:11"
    bar = f"{done * 100 // 5000:3d}%|{'█' * (done // 500):<10}|"
    return "\r".join(f"{bar} {done + i}/5000 [{clock}, {rng.random() * 3:.2f}s/it]" for i in range(4))


def vllm(rng: random.Random, n: int) -> str:
    return (
        f"INFO 08-21 {n // 3600 % 24:02d}:{n // 60 % 60:02d}:{n % 60:02d} [loggers.py:123] Engine 000: "
        f"Avg prompt throughput: {rng.random() * 900:.1f} tokens/s, Avg generation throughput: {rng.random() * 400:.1f} tokens/s, "
        f"Running: {rng.randrange(8)} reqs, Waiting: {rng.randrange(3)} reqs, "
        f"GPU KV cache usage: {rng.random() * 90:.1f}%, Prefix cache hit rate: {rng.random() * 50:.1f}%"
    )


def http(rng: random.Random, n: int) -> str:
    return f'INFO:     10.0.{n % 255}.{rng.randrange(255)}:{rng.randrange(60000)} - "POST /v1/chat/completions HTTP/1.1" 200 OK'


def dmesg(rng: random.Random, n: int) -> str:
    return f"[{n / 997:12.6f}] " + rng.choice(_KERNEL) % (n % 16)


def plain(rng: random.Random, n: int) -> str:
    cache = "/var/tmp/neuron-compile-cache"
    return rng.choice(
        (
            f'  File "/opt/venv/lib/python3.10/site-packages/torch/nn/modules/module.py", line {rng.randrange(2000)}, in _call',
            f"Loading checkpoint shards: {n % 100}% done, shard {n % 16} of 16",
            f"[rank{n % 32}]: step {n} done in {rng.random():.3f} s, data {rng.random():.3f} s, tokens {rng.randrange(9999)}",
            f"2026-08-21 10:14:{n % 60:02d}.000{n % 1000:03d}:  {4121 + n % 32}  INFO ||NEURON_CACHE||: "
            f"Using a cached neff at {cache}/MODULE_{rng.randrange(1 << 60)}",
        )
    )


MIX: tuple[tuple[float, Maker], ...] = (
    (0.25, libnrt), (0.05, trainer), (0.20, tqdm), (0.05, vllm), (0.20, http), (0.15, dmesg), (0.10, plain),
)  # fmt: skip


def block(rng: random.Random, start: int, lines: int, share: float) -> bytes:
    """`lines` lines; a `share` of them are faults."""
    makers = [maker for _, maker in MIX]
    weights = [weight for weight, _ in MIX]
    kinds = rng.choices(makers, weights, k=lines)
    made = [kind(rng, start + i) for i, kind in enumerate(kinds)]
    for i in range(lines):
        if rng.random() < share:
            made[i] = rng.choice(FAULT_LINES)
    return ("\n".join(made) + "\n").encode()


def write(path: Path, size: int, seed: int, share: float) -> int:
    """Writes at least `size` bytes; gives the number of bytes. 64 different blocks are made and then repeated in a
    seeded order, so that a gigabyte takes seconds."""
    rng = random.Random(seed)
    blocks = [block(rng, 20000 * i, 20000, share) for i in range(64 if size > 1 << 27 else 8)]
    written = 0
    with path.open("wb") as out:
        while written < size:
            written += out.write(rng.choice(blocks))
    return written


def bytes_of(text: str) -> int:
    found = re.fullmatch(r"(\d+)([KMG]?)", text)
    if not found:
        raise argparse.ArgumentTypeError(f"not a size: {text}")
    return int(found[1]) << {"": 0, "K": 10, "M": 20, "G": 30}[found[2]]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--size", type=bytes_of, default=1 << 30)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--match", type=float, default=0.0001)
    options = parser.parse_args()
    print(write(options.out, options.size, options.seed, options.match))


if __name__ == "__main__":
    main()
