"""What names mean: flags, keyword arguments and environment variables that set the same thing in different tools. Parsers
of argument dumps and environments use it, and so do the dialects of command lines."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping

from neuronwatch.model.records import Value
from neuronwatch.parse._lazy import lazy
from neuronwatch.parse._text import to_bool, to_float, to_int


def _text(value: object) -> Value:
    text = str(value).strip().strip("'\"")
    return text or None


_I: Callable[[object], Value] = to_int
_F: Callable[[object], Value] = to_float
_B: Callable[[object], Value] = to_bool

ARGUMENTS: Mapping[str, tuple[str, Callable[[object], Value]]] = {
    "tensor_parallel_size": ("launch.tp", _I),
    "tp_degree": ("launch.tp", _I),
    "tp_size": ("launch.tp", _I),
    "tensor_model_parallel_size": ("launch.tp", _I),
    "tensor_parallel_degree": ("launch.tp", _I),
    "tp": ("launch.tp", _I),
    "pipeline_parallel_size": ("launch.pp", _I),
    "pp_size": ("launch.pp", _I),
    "pp_degree": ("launch.pp", _I),
    "pipeline_model_parallel_size": ("launch.pp", _I),
    "data_parallel_size": ("launch.dp", _I),
    "dp_size": ("launch.dp", _I),
    "num_cores": ("launch.num_cores", _I),
    "num_neuron_cores": ("launch.num_cores", _I),
    "neuron_cores": ("launch.num_cores", _I),
    "batch_size": ("launch.batch_size", _I),
    "max_batch_size": ("launch.batch_size", _I),
    "n_batch": ("launch.batch_size", _I),
    "per_device_train_batch_size": ("launch.per_device_batch", _I),
    "per_device_batch_size": ("launch.per_device_batch", _I),
    "train_batch_size": ("launch.per_device_batch", _I),
    "micro_batch_size": ("launch.per_device_batch", _I),
    "mbs": ("launch.per_device_batch", _I),
    "gradient_accumulation_steps": ("launch.grad_accum", _I),
    "grad_accum_usteps": ("launch.grad_accum", _I),
    "grad_accum": ("launch.grad_accum", _I),
    "gradient_accumulation": ("launch.grad_accum", _I),
    "max_num_seqs": ("launch.max_num_seqs", _I),
    "max_rolling_batch_size": ("launch.max_num_seqs", _I),
    "max_concurrent_requests": ("launch.max_num_seqs", _I),
    "max_model_len": ("launch.max_model_len", _I),
    "max_seq_len": ("launch.max_model_len", _I),
    "max_total_tokens": ("launch.max_model_len", _I),
    "sequence_length": ("launch.sequence_length", _I),
    "n_positions": ("launch.sequence_length", _I),
    "seq_len": ("launch.sequence_length", _I),
    "seq_length": ("launch.sequence_length", _I),
    "max_seq_length": ("launch.sequence_length", _I),
    "block_size": ("launch.block_size", _I),
    "max_length": ("launch.max_length", _I),
    "max_steps": ("launch.max_steps", _I),
    "bf16": ("launch.bf16", _B),
    "fp16": ("launch.fp16", _B),
    "zero_1": ("launch.zero1", _B),
    "use_zero_1": ("launch.zero1", _B),
    "zero1": ("launch.zero1", _B),
    "use_zero1_optimizer": ("launch.zero1", _B),
    "learning_rate": ("launch.learning_rate", _F),
    "lr": ("launch.learning_rate", _F),
    "num_proc": ("launch.num_proc", _I),
    "preprocessing_num_workers": ("launch.num_proc", _I),
    "dataset_num_proc": ("launch.num_proc", _I),
    "dataloader_num_workers": ("launch.num_workers", _I),
    "num_workers": ("launch.num_workers", _I),
    "rope_theta": ("launch.rope_theta", _F),
    "rotary_base": ("launch.rope_theta", _F),
    "cache_dir": ("launch.cache_dir", _text),
    "compile_cache": ("launch.cache_dir", _text),
    "neuron_cache_dir": ("launch.cache_dir", _text),
    "output_dir": ("launch.output_dir", _text),
    "device": ("launch.device", _text),
    "target": ("launch.target", _text),
    "instance_type": ("launch.target", _text),
    "auto_cast": ("launch.auto_cast", _text),
    "auto_cast_type": ("launch.auto_cast_type", _text),
    "amp": ("launch.auto_cast_type", _text),
    "model": ("launch.model", _text),
    "model_id": ("launch.model", _text),
    "model_name_or_path": ("launch.model", _text),
    "model_name": ("launch.model", _text),
    "model_path": ("launch.model", _text),
    "model_dir": ("launch.model", _text),
    "pretrained_model_name_or_path": ("launch.model", _text),
    "nproc_per_node": ("launch.nproc", _I),
    "nnodes": ("launch.nnodes", _I),
    "node_rank": ("launch.node_rank", _I),
    "master_addr": ("launch.master_addr", _text),
    "startup_timeout": ("endpoint.startup_timeout", _F),
    "model_loading_timeout": ("endpoint.startup_timeout", _F),
    "container_startup_health_check_timeout": ("endpoint.startup_timeout", _F),
    "default_workers_per_model": ("launch.workers", _I),
    "workers": ("launch.workers", _I),
    "min_workers": ("launch.workers", _I),
    "number_of_workers": ("launch.workers", _I),
    "max_workers": ("launch.workers", _I),
}

ENVIRONMENT: Mapping[str, tuple[str, Callable[[object], Value]]] = {
    "HF_BATCH_SIZE": ("launch.batch_size", _I),
    "MAX_BATCH_SIZE": ("launch.batch_size", _I),
    "HF_SEQUENCE_LENGTH": ("launch.sequence_length", _I),
    "HF_NUM_CORES": ("launch.num_cores", _I),
    "HF_AUTO_CAST_TYPE": ("launch.auto_cast_type", _text),
    "HF_TENSOR_PARALLEL_SIZE": ("launch.tp", _I),
    "HF_OPTIMUM_BATCH_SIZE": ("launch.batch_size", _I),
    "HF_OPTIMUM_SEQUENCE_LENGTH": ("launch.sequence_length", _I),
    "HF_MODEL_ID": ("launch.model", _text),
    "MODEL_ID": ("launch.model", _text),
    "HF_MODEL": ("launch.model", _text),
    "SM_ON_MODEL": ("launch.model", _text),
    "MAX_TOTAL_TOKENS": ("launch.max_model_len", _I),
    "MAX_CONCURRENT_REQUESTS": ("launch.max_num_seqs", _I),
    "OPTION_TENSOR_PARALLEL_DEGREE": ("launch.tp", _I),
    "OPTION_N_POSITIONS": ("launch.sequence_length", _I),
    "OPTION_MAX_ROLLING_BATCH_SIZE": ("launch.max_num_seqs", _I),
    "OPTION_MODEL_ID": ("launch.model", _text),
    "SM_VLLM_MODEL": ("launch.model", _text),
    "SM_VLLM_TENSOR_PARALLEL_SIZE": ("launch.tp", _I),
    "SM_VLLM_MAX_NUM_SEQS": ("launch.max_num_seqs", _I),
    "SM_VLLM_MAX_MODEL_LEN": ("launch.max_model_len", _I),
    "NEURON_COMPILE_CACHE_URL": ("launch.cache_dir", _text),
    "NEURON_PLATFORM_TARGET_OVERRIDE": ("launch.target", _text),
    "NEURON_RT_NUM_CORES": ("launch.num_cores", _I),
    "NNODES": ("launch.nnodes", _I),
    "SLURM_NNODES": ("launch.nnodes", _I),
    "SLURM_JOB_NUM_NODES": ("launch.nnodes", _I),
    "LOCAL_WORLD_SIZE": ("launch.nproc", _I),
    "MASTER_ADDR": ("launch.master_addr", _text),
    "SM_NUM_HOSTS": ("launch.nnodes", _I),
    "TS_DEFAULT_WORKERS_PER_MODEL": ("launch.workers", _I),
    "SAGEMAKER_MODEL_SERVER_WORKERS": ("launch.workers", _I),
    "SAGEMAKER_TS_STARTUP_TIMEOUT": ("endpoint.startup_timeout", _F),
    "SERVING_STARTUP_TIMEOUT": ("endpoint.startup_timeout", _F),
    "TP": ("launch.tp", _I),
    "TP_DEGREE": ("launch.tp", _I),
    "TP_SIZE": ("launch.tp", _I),
    "TENSOR_PARALLEL_SIZE": ("launch.tp", _I),
    "PP": ("launch.pp", _I),
    "PP_DEGREE": ("launch.pp", _I),
    "TENSOR_PARALLEL_DEGREE": ("launch.tp", _I),
    "HOSTNAME": ("host.hostname", _text),
    "NEURON_LOGICAL_NC_CONFIG": ("neuron.lnc", _I),
    "NEURON_RT_VIRTUAL_CORE_SIZE": ("neuron.lnc", _I),
}
"""`HOSTNAME` of a container is a pod name, which is what the runs of a job are told apart by."""

_TARGETS = lazy(r"^(?:inf[12]|trn[123]n?)$")
_ROPE = lazy(r"rope_(?:parameters|scaling|theta)")


def flag_name(name: str) -> str:
    """`--Tensor-Parallel.Size` as a fact's last part: lower case, `_` for `-` and `.`."""
    return re.sub(r"[^a-z0-9]+", "_", name.strip().lstrip("-").lower()).strip("_")


def of_argument(name: str, value: Value) -> Iterator[tuple[str, Value]]:
    """The `launch.*` facts that one argument states; `name` is already in the form of `flag_name`."""
    meaning = ARGUMENTS.get(name)
    if meaning:
        read = meaning[1](value)
        if read is not None and not (meaning[0] == "launch.target" and not _TARGETS.match(str(read))):
            yield meaning[0], read
    if isinstance(value, str):
        if name in (
            "hf_overrides",
            "override_neuron_config",
            "additional_config",
            "rope_scaling",
            "rope_parameters",
            "config_overrides",
        ):
            yield from _of_json(value)
        if name in ("dtype", "torch_dtype") and re.fullmatch(r"(?:torch\.)?(?:bf16|bfloat16)", value.lower()):
            yield "launch.bf16", True
        if name in ("dtype", "torch_dtype") and re.fullmatch(r"(?:torch\.)?(?:fp16|float16|half|f16)", value.lower()):
            yield "launch.fp16", True
    if name.startswith("rope_") or (isinstance(value, str) and name.endswith("overrides") and _ROPE.search(value)):
        yield "launch.rope_override", True


def _of_json(text: str) -> Iterator[tuple[str, Value]]:
    """Known keys anywhere inside a JSON argument (`--hf-overrides '{"rope_parameters": {"rope_theta": 1000}}'`)."""
    try:
        root = json.loads(text)
    except (ValueError, RecursionError):
        return
    stack: list[tuple[object, int]] = [(root, 0)]
    while stack:
        item, depth = stack.pop()
        if not isinstance(item, dict) or depth > 6:
            continue
        for key, value in list(item.items())[:200]:
            if isinstance(value, dict):
                stack.append((value, depth + 1))
            elif key in ARGUMENTS and key not in ("model", "device", "target") and isinstance(value, (int, float, str)):
                read = ARGUMENTS[key][1](value)
                if read is not None:
                    yield ARGUMENTS[key][0], read


def of_environment(name: str, value: str) -> Iterator[tuple[str, Value]]:
    """`env.NAME` and what the variable means. A reference to another variable (`$X`) stays text and means nothing."""
    yield f"env.{name}", value
    if "$" in value or not value:
        return
    meaning = ENVIRONMENT.get(name)
    if meaning:
        read = meaning[1](value)
        if read is not None:
            yield meaning[0], read
    if name == "PATH":
        yield "host.path_dirs", tuple(part for part in value.split(":") if part)[:100]
    elif name == "VIRTUAL_ENV":
        yield "host.python", value.rstrip("/") + "/bin/python"
    elif name in ("NEURON_CC_FLAGS", "TORCH_NEURONX_CC_FLAGS"):
        yield from of_compiler_flags(value)
    elif name in ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL"):
        urls = tuple(value.split())
        yield "pip.indexes", urls
        yield "pip.neuron_index", any("pip.repos.neuron" in url for url in urls)
    elif name == "NEURON_RT_ENABLE_DGE_NOTIFICATIONS":
        yield "neuron.dge_notifications", to_bool(value) is True
    elif name in ("KUBERNETES_SERVICE_HOST", "ECS_CONTAINER_METADATA_URI_V4", "AWS_BATCH_JOB_ID") or (
        name == "container" and value
    ):
        yield "host.in_container", True


def of_compiler_flags(text: str) -> Iterator[tuple[str, Value]]:
    """`--model-type=transformer -O1 --cache_dir=/x` as `cc.*` and the launch facts behind them."""
    words = text.replace("'", " ").replace('"', " ").split()
    index = 0
    while index < len(words):
        word = words[index]
        index += 1
        level = re.fullmatch(r"-O([1-3])", word)
        if level:
            yield "cc.optlevel", int(level.group(1))
            yield "launch.optlevel", int(level.group(1))
            continue
        if not word.startswith("-") or len(word) < 3:
            continue
        key, joined, value = word.partition("=")
        name = flag_name(key)
        if not name:
            continue
        read: Value = True
        if joined:
            read = value
        elif index < len(words) and not words[index].startswith("-"):
            read = words[index]
            index += 1
        if name == "o" and isinstance(read, str) and read.isdecimal():
            name = "optlevel"
        number = to_int(read)
        yield f"cc.{name}", number if number is not None and not isinstance(read, bool) else read
        yield from _compiler_meaning(name, read)


def _compiler_meaning(name: str, value: Value) -> Iterator[tuple[str, Value]]:
    if name == "cache_dir" and isinstance(value, str):
        yield "launch.cache_dir", value
    elif name == "target" and isinstance(value, str):
        yield "compiler.target", value
        yield "launch.target", value
    elif name == "model_type" and isinstance(value, str):
        yield "launch.model_type", value
    elif name in ("auto_cast", "auto_cast_type") and isinstance(value, str):
        yield f"launch.{name}", value
    elif name == "optlevel":
        level = to_int(value)
        if level is not None:
            yield "launch.optlevel", level
    elif name in ("lnc", "logical_nc_config"):
        lnc = to_int(value)
        if lnc is not None:
            yield "neuron.lnc", lnc
