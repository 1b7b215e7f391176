"""What ordinary logs look like: the pairs of characters in them tell which part of a literal is rare.

Only the choice of what to look for first rests on this, never a result.
"""

from __future__ import annotations

import math
from collections import Counter
from functools import lru_cache
from itertools import pairwise

_LINES = """
2026-Aug-21 10:14:02.0311  4121:4188  INFO  NRT:nrt_init  Neuron Runtime initialized, version 2.26.0.0
2026-Aug-21 10:14:02.0311  4121:4188  INFO  TDRV:kbl_model_add  Loaded model: nn 10001 on nd0 nc1, stage done
2026-Aug-21 10:14:05.883112  4121:4188  INFO  NMGR:dlr_kelf_stage  allocated ring mapped BAR id 1f00a2
{'loss': 2.3144, 'grad_norm': 0.812345, 'learning_rate': 9.98e-05, 'epoch': 0.12}
{'train_runtime': 1203.11, 'train_samples_per_second': 8.31, 'train_steps_per_second': 0.26, 'train_loss': 1.93}
 12%|##        | 120/1000 [02:11<16:03,  1.09s/it]
INFO 08-21 10:14:02 [loggers.py:123] Engine 000: Avg prompt throughput: 812.3 tokens/s, Avg generation throughput: 301.2 tokens/s,
 Running: 4 reqs, Waiting: 0 reqs, GPU KV cache usage: 12.4%, Prefix cache hit rate: 31.0%
INFO:     10.0.12.7:51442 - "POST /v1/chat/completions HTTP/1.1" 200 OK
INFO:     Started server process [4121], Application startup complete, Uvicorn running on http://0.0.0.0:8000
[ 1203.551221] neuron: nd3 reset completed
[    2.112233] pci 0000:00:1f.0: enabling device, ena 0000:00:05.0 ens5: link up, EXT4-fs (nvme0n1p1): mounted filesystem
kernel: audit: type=1400 audit(1724234042.123:31): apparmor="ALLOWED" operation="open" profile="snap"
Aug 21 10:14:02 ip-10-0-1-12 systemd[1]: Started Session 12 of user ubuntu.
  File "/opt/venv/lib/python3.10/site-packages/torch/nn/modules/module.py", line 1553, in _call_impl
Loading checkpoint shards: 100%|##########| 16/16 [00:12<00:00,  1.31it/s]
2026-08-21 10:14:02.000123:  4121  INFO ||NEURON_CACHE||: Using a cached neff at /var/tmp/neuron-compile-cache/neuronxcc-2.21
2026-08-21 10:14:02.000123:  4121  INFO ||NEURON_CC_WRAPPER||: Call compiler with cmd: neuronx-cc compile --framework=XLA model.hlo
.Compiler status PASS Compilation Successfully Completed for model.MODULE_1234567890+abcdef01.hlo_module.pb
***** Running training *****  Num examples = 1,000  Num Epochs = 3  Total optimization steps = 1,000
Map (num_proc=8): 100%|##########| 52002/52002 examples; using the default tokenizer, generating train split
[rank3]: step 120 done in 1.223 s; saving model checkpoint to output/checkpoint-1000, configuration saved in config.json
the of and to in a is for on with be this that from by not are or as at it will was all has have can no if an
"""


@lru_cache(maxsize=1)
def ordinary_pairs() -> dict[tuple[int, int], float]:
    return pairs_of(_LINES.encode())


def in_ordinary(window: bytes) -> bool:
    """Whether ordinary lines hold `window` (in lower case)."""
    return window in _low()


@lru_cache(maxsize=1)
def _low() -> bytes:
    return _LINES.encode().lower()


def pairs_of(sample: bytes) -> dict[tuple[int, int], float]:
    """How often (on a log scale) each pair of neighbouring bytes, in lower case, occurs in 64 KiB of the sample."""
    low = sample.lower()
    scale = 65536 / max(1, len(low))
    return {pair: math.log1p(count * scale) for pair, count in Counter(pairwise(low)).items()}


def rarest(text: bytes, size: int, pairs: dict[tuple[int, int], float]) -> bytes:
    """The `size` bytes of `text` whose pairs are rarest."""
    if len(text) <= size:
        return text
    prices = [pairs.get(pair, 0.0) for pair in pairwise(text)]
    total = least = sum(prices[: size - 1])
    best = 0
    for at in range(1, len(text) - size + 1):
        total += prices[at + size - 2] - prices[at - 1]
        if total < least - 1e-9:
            least, best = total, at
    return text[best : best + size]
