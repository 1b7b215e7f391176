"""Scripts on the Hugging Face Trainer: the flags of TrainingArguments and its Neuron relatives."""

from __future__ import annotations

import re
from collections.abc import Sequence

from neuronwatch.dialect import python_script
from neuronwatch.dialect._argv import read_flags
from neuronwatch.dialect._spelling import Spelling
from neuronwatch.model.records import Value
from neuronwatch.parse._text import to_bool

_OWN = frozenset(
    [
        "per_device_train_batch_size",
        "per_device_eval_batch_size",
        "gradient_accumulation_steps",
        "num_train_epochs",
        "lr_scheduler_type",
        "warmup_ratio",
        "warmup_steps",
        "logging_steps",
        "save_strategy",
        "save_steps",
        "output_dir",
        "overwrite_output_dir",
        "do_train",
        "do_eval",
        "model_name_or_path",
        "max_grad_norm",
        "weight_decay",
        "evaluation_strategy",
    ]
)


SPELLINGS = {
    "per_device_batch": Spelling(("per_device_train_batch_size",), "--per_device_train_batch_size", 8),
    "grad_accum": Spelling(("gradient_accumulation_steps",), "--gradient_accumulation_steps", 1),
    "num_workers": Spelling(("dataloader_num_workers",), "--dataloader_num_workers", 0),
    "num_proc": Spelling(("preprocessing_num_workers", "dataset_num_proc")),
    "bf16": Spelling(("bf16",), "--bf16", False, switch=True),
    "fp16": Spelling(("fp16",), "--fp16", False, switch=True),
    "max_grad_norm": Spelling(("max_grad_norm",), "--max_grad_norm", 1.0),
    "dataloader_timeout": Spelling(("dataloader_timeout",)),
    "resume": Spelling(("resume_from_checkpoint",), "--resume_from_checkpoint"),
    "push_to_hub": Spelling(("push_to_hub",), "", False, switch=True),
    "overwrite_output_dir": Spelling(("overwrite_output_dir",), "", False, switch=True),
    "skip_cache_push": Spelling(("skip_cache_push",)),
    "ddp_timeout": Spelling(("ddp_timeout",), "--ddp_timeout", 1800),
}
own = python_script.own


def speaks(argv: Sequence[str]) -> bool:
    if not python_script.speaks(argv):
        return False
    names = {name for name, _ in read_flags(python_script.script_words(argv)[1]).options}
    return bool(names & _OWN)


def facts_of(argv: Sequence[str]) -> dict[str, Value]:
    """Adds what TrainingArguments leave unsaid: `--bf16` alone is true, a script without it trains in fp32 (no fact then)."""
    facts = python_script.facts_of(argv)
    for name in ("bf16", "fp16", "zero_1"):
        stated = to_bool(facts.get(f"arg.{name}"))
        if stated is not None:
            facts["launch.zero1" if name == "zero_1" else f"launch.{name}"] = stated
    dtype = facts.get("arg.torch_dtype", facts.get("arg.dtype"))
    if isinstance(dtype, str) and re.search(r"bf(?:loat)?16", dtype):
        facts["launch.bf16"] = True
    return facts
