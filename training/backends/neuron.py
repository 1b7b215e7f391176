"""optimum-neuron 0.4.5 on Trainium: started by torchrun, one process a NeuronCore (`neuronwatch train` builds that command).

Written against the documented interface and source of optimum-neuron 0.4.5; it has not run on a device.
"""

from __future__ import annotations

from typing import Any

import emit
from config import ConfigError

DEFAULTS = {
    "bf16": True, "zero_1": True, "async_save": True, "skip_cache_push": True, "tensor_parallel_size": 2,
    "per_device_train_batch_size": 1, "gradient_accumulation_steps": 8, "logging_steps": 1, "save_steps": 100,
}  # fmt: skip
"""`skip_cache_push`: at its end a run would push the compile cache to the hub, which an instance without internet fails on."""


def train(job: Any) -> Any:
    """Trains on the device and returns the model. Raises ConfigError where the stack is not there."""
    try:
        import torch
        from datasets import Dataset
        from optimum.neuron import NeuronSFTConfig, NeuronSFTTrainer
        from optimum.neuron.models.training import NeuronModelForCausalLM
    except ImportError as error:
        raise ConfigError(
            f"run.backend = neuron needs optimum-neuron with the Neuron stack: {error}; on a machine without a device use "
            "--set run.backend=cpu"
        ) from error
    if not job.config.model.path:
        raise ConfigError("run.backend = neuron needs model.path: a directory or hub id of a Qwen3")
    if job.config.peft.kind == "bottleneck":
        raise ConfigError(
            "peft.kind = bottleneck is not made for the device: its layers know no tensor parallelism; use lora or none"
        )
    if job.config.peft.alpha_to:
        raise ConfigError("peft.alpha_to: alpha cannot change on the device: the LoRA of optimum-neuron compiles it into the graph")
    arguments = NeuronSFTConfig(**settings(job))
    model = NeuronModelForCausalLM.from_pretrained(
        job.config.model.path,
        arguments.trn_config,
        dtype=torch.bfloat16,
        attn_implementation="flash_attention_2",
        rope_theta=job.model.config.rope_theta,  # what was set or mended when the model was checked
    )
    trainer = NeuronSFTTrainer(
        model=model, args=arguments, train_dataset=Dataset.from_list(job.examples), processing_class=job.tokenizer,
        peft_config=_lora(job.config.peft), callbacks=[emit.callback],
    )  # fmt: skip
    trainer.train(resume_from_checkpoint=None if job.resume is None else str(job.resume))
    return trainer.model


def _lora(peft: Any) -> Any:
    """The trainer wraps the model itself, in optimum-neuron's classes that know tensor parallelism."""
    if peft.kind == "none":
        return None
    from peft import LoraConfig

    return LoraConfig(
        r=peft.r, lora_alpha=peft.alpha, lora_dropout=peft.dropout, target_modules=peft.targets, task_type="CAUSAL_LM"
    )


def settings(job: Any) -> dict[str, Any]:
    """The arguments of NeuronSFTConfig. Evaluation does not exist there: what asks for it is left out."""
    given = {name: value for name, value in job.config.train.items() if name not in ("do_eval", "eval_strategy", "eval_steps")}
    return {
        **DEFAULTS, **given, "output_dir": str(job.output), "seed": job.config.run.seed,
        "max_length": job.config.data.max_length, "packing": False, "dataset_kwargs": {"skip_prepare_dataset": True},
    }  # fmt: skip
