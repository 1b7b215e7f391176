"""What healthy jobs print besides what matters: warnings that look worse than they are, as on real hosts."""

from __future__ import annotations

import random

from neuronwatch.drill.clock import syslog_stamp
from neuronwatch.drill.jobs.api import VENV
from neuronwatch.drill.machine import Machine

SITE = f"{VENV}/lib/python3.10/site-packages"
FORKED = ("huggingface/tokenizers: The current process just got forked, after parallelism has already been used. Disabling parallelism to "
          "avoid deadlocks...")  # fmt: skip
TORCHRUN = (
    "*****************************************",
    "Setting OMP_NUM_THREADS environment variable for each process to be 1 in default, to avoid your system being overloaded, please "
    "further tune the variable for optimal performance in your application as needed.",
    "*****************************************",
)
"""What torchrun prints before it starts the ranks."""
TRAINER = (
    f"{SITE}/torch/distributed/elastic/utils/api.py:46: FutureWarning: `torch.cuda.amp.autocast(args...)` is deprecated.",
    "`torch_dtype` is deprecated! Use `dtype` instead!",
    "`use_cache=True` is incompatible with gradient checkpointing. Setting `use_cache=False`.",
    "The model is already on multiple devices. Skipping the move to device specified in `args`.",
    FORKED,
)
"""Lines at the start of a training run."""
SERVER = (
    "INFO {} [__init__.py:241] Automatically detected platform neuron.",
    "WARNING {} [__init__.py:1734] Your device 'neuron' doesn't support torch.float16. Falling back to torch.bfloat16 for compatibility.",
    "WARNING {} [api_server.py:1028] Using supplied chat template: None",
    "INFO {} [launcher.py:36] Route: /health, Methods: GET",
)
"""Lines at the start of a server, with its stamp."""
REQUESTS = (
    (90, 'GET /health HTTP/1.1" 200 OK'),
    (6, 'GET /metrics HTTP/1.1" 200 OK'),
    (2, 'POST /v1/chat/completions HTTP/1.1" 400 Bad Request'),
    (1, 'GET /favicon.ico HTTP/1.1" 404 Not Found'),
)
"""(weight, request) of what comes besides the work: probes, and a client that errs."""


def request(rng: random.Random) -> str:
    """A line of the access log that has nothing to do with the work."""
    text = rng.choices([text for _, text in REQUESTS], [weight for weight, _ in REQUESTS])[0]
    return f'INFO:     10.0.{rng.randrange(4)}.{rng.randrange(2, 250)}:{rng.randrange(32768, 60999)} - "{text}'


def end_of_collectives(machine: Machine) -> None:
    """The EFA driver complains when a process with registered memory ends; nothing is wrong."""
    if machine.kind.efa:
        machine.kernel.say("efa 0000:a0:19.0 rdmap160s25: Failed to process command DEREG_MR (opcode 8) comp_status 7 err -22")


def unattended(machine: Machine) -> None:
    """A line of a daily timer in syslog."""
    stamp = syslog_stamp(machine.now)
    machine.logs.line(
        "/var/log/syslog", f"{stamp} {machine.identity.hostname} systemd[1]: apt-daily.service: Deactivated successfully."
    )
