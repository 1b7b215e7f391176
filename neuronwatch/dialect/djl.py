"""Model servers: djl-serving, TorchServe, Triton, TensorFlow Serving for Neuron."""

from __future__ import annotations

import re
from collections.abc import Sequence

from neuronwatch.dialect._argv import argument_facts, collect, program_of, read_flags
from neuronwatch.model.records import Value
from neuronwatch.parse._meanings import of_argument
from neuronwatch.parse._text import scalar

_PROGRAMS = {"djl-serving", "serve", "torchserve", "tritonserver", "tensorflow_model_server_neuron", "tensorflow_model_server"}


def speaks(argv: Sequence[str]) -> bool:
    return program_of(argv) in _PROGRAMS and len(argv) > 1


def facts_of(argv: Sequence[str]) -> dict[str, Value]:
    """DJL names options on the command line as `-Doption.tensor_parallel_degree=8` too."""
    flags = read_flags(argv[1:])
    pairs: list[tuple[str, Value]] = [("launch.program", program_of(argv)), *argument_facts(flags.options)]
    for word in argv[1:]:
        option = re.match(r"^-?(?:D|J-D)?option\.([a-z_]{2,60})=(\S{1,200})$", word)
        if option:
            value = scalar(option.group(2))
            pairs.append((f"arg.{option.group(1)}", value))
            pairs.extend(of_argument(option.group(1), value))
    return collect(pairs)
