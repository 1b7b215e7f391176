"""The training and serving programs that ship with neuronwatch: `python .../training CONFIG --set key=value`. A setting goes to the
overlay of their configuration, so that neither the file nor the command line is touched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from neuronwatch.dialect import python_script
from neuronwatch.dialect._argv import slots
from neuronwatch.model.records import Value
from neuronwatch.parse._text import scalar

TRAINING: Mapping[str, str] = {
    "per_device_batch": "train.per_device_train_batch_size",
    "grad_accum": "train.gradient_accumulation_steps",
    "num_workers": "train.dataloader_num_workers",
    "bf16": "train.bf16",
    "fp16": "train.fp16",
    "tp": "train.tensor_parallel_size",
    "rope_theta": "model.rope_theta",
    "output_dir": "run.output_dir",
    "learning_rate": "train.learning_rate",
    "max_grad_norm": "train.max_grad_norm",
}
SERVING: Mapping[str, str] = {
    "batch_size": "serve.max_batch_size",
    "max_num_seqs": "serve.max_batch_size",
    "port": "serve.port",
    "rope_theta": "model.rope_theta",
}


def keys_of(argv: Sequence[str]) -> Mapping[str, str]:
    """Concept to key of the configuration; empty where this is neither program."""
    if not python_script.speaks(argv):
        return {}
    parts = python_script.script_words(argv)[0].rstrip("/").removesuffix("/__main__.py").rsplit("/", 1)
    return {"training": TRAINING, "serving": SERVING}.get(parts[-1], {})


def config_of(argv: Sequence[str]) -> str:
    """The configuration file that the command names, "" where it names none."""
    start, switches, short, _ = python_script.own(argv)
    places = slots(argv[start:], switches, short)[1]
    return argv[start + places[0]] if places and keys_of(argv) else ""


def stated(argv: Sequence[str], key: str) -> Value:
    """What `--set key=value` says on the command line, the last one counts; None: nothing."""
    start, switches, short, _ = python_script.own(argv)
    found: Value = None
    for slot in slots(argv[start:], switches, short)[0]:
        name, equals, text = (slot.text or "").partition("=")
        if slot.name == "set" and equals and name.strip() == key:
            found = scalar(text.strip())
    return found
