"""Faults that a small job really shows for as long as it is not cured, and what cures them."""

from __future__ import annotations

PROGRAM = """
import json, os, sys, time
def value(name, default=None):
    for at, word in enumerate(sys.argv):
        if word == name:
            return sys.argv[at + 1]
        if word.startswith(name + '='):
            return word.partition('=')[2]
    return default
if {sick}:
    sys.stderr.write({message!r} + '\\n')
    sys.exit(1)
for step in range(1, 9):
    print({{'loss': 3.0 - step / 10, 'grad_norm': 1.0, 'learning_rate': 1e-4, 'epoch': step / 8}}, flush=True)
    time.sleep(0.02)
"""
MEMORY = (
    "2022-Dec-02 09:13:40.0712 61220:61220 ERROR  TDRV:tdrv_one_tmpbuf_reserve                 Number of ONE TMPBUF pages requested "
    "exceeded the max number of pages allowed (requested: 24, max allowed: 16).\n"
    "2022-Dec-02 09:13:40.0712 61220:61220 ERROR  TDRV:copy_and_stage_mr                       Failed to allocate and reserve one tmpbuf"
)
CACHED = (
    "2024-01-09 10:11:00.000230:  40101  ERROR ||NEURON_CC_WRAPPER||: Got a cached failed neff at "
    "/var/tmp/neuron-compile-cache/neuronxcc-2.12.68.0+4480452af/MODULE_11203961494150985019+6bd63055/model.neff. "
    "Will skip compilation, please set --retry_failed_compilation for recompilation:"
)
FORKED = (
    "Map (num_proc=64):  31%|###       | 16211/52000 [00:09<00:19, 1822.01 examples/s]\n"
    "RuntimeError: One of the subprocesses has abruptly died during map operation.To debug the error, disable multiprocessing."
)
SCENARIOS = {
    "batch-size": (
        ["--per_device_train_batch_size", "8", "--gradient_accumulation_steps=2"],
        "int(value('--per_device_train_batch_size')) > 2",
        MEMORY,
        ["--per_device_train_batch_size", "2", "--gradient_accumulation_steps=8"],
    ),
    "retry-failed-compilation": ([], "'retry_failed_compilation' not in os.environ.get('NEURON_CC_FLAGS', '')", CACHED, None),
    "tokenizers-parallelism": (["--num_proc", "64"], "os.environ.get('TOKENIZERS_PARALLELISM') != 'false'", FORKED, None),
}
"""Action to arguments of the job, when it is sick, what it says then, and its arguments when it is cured (None: not compared)."""
