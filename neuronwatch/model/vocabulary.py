"""Names of facts: the meeting point of parsers, dialects, derivations and rules. A rule that uses an unknown name is
refused by the linter, a parser that emits one fails its test. Sizes are bytes, times seconds, counts plain numbers.

Open families (any last part): `pkg.*` an installed package's version, Python or OS, name lower-case with `-` as `_`
(`pkg.torch_neuronx`, `pkg.aws_neuronx_dkms`); `env.*` an environment variable as written (`env.FI_EFA_FORK_SAFE`);
`arg.*` a flag of a launch command, long form, `-` as `_` (`arg.tensor_parallel_size`); `limit.*` a soft process limit:
limit.open_files, limit.processes, limit.stack and limit.locked_memory (bytes), -1 for unlimited; `cc.*` a flag of
neuronx-cc, from a compile command or NEURON_CC_FLAGS (`cc.auto_cast`, `cc.cache_dir`, `cc.retry_failed_compilation`).
"""

from __future__ import annotations

OPEN_FAMILIES = ("pkg.", "env.", "arg.", "limit.", "cc.")

FACTS: dict[str, str] = {
    # --- host
    "host.kernel": "str, running kernel release (uname -r)",
    "host.os": "str, os-release ID (ubuntu, amzn, rhel)",
    "host.os_version": "str, os-release VERSION_ID",
    "host.hostname": "str",
    "host.instance_type": "str, EC2 type such as trn1.32xlarge (DMI product name, neuron-ls header, neuron-monitor, node label)",
    "host.in_container": "bool, evidence of a container (/.dockerenv, cgroup, docker build)",
    "host.vcpus": "int",
    "host.memory_total": "int bytes",
    "host.memory_available": "int bytes",
    "host.swap_total": "int bytes",
    "host.disk_full": "tuple of mount points at 100 % of blocks or inodes",
    "host.tmpfs_mounts": "tuple of mount points on tmpfs or overlay",
    "host.network_mounts": "tuple of mount points on nfs, efs, lustre, fuse",
    "host.shm_total": "int bytes of /dev/shm",
    "host.load_average": "float, 1-minute load average (uptime, top, /proc/loadavg)",
    "host.iowait": "float %, vCPU time waiting for I/O (top, iostat, vmstat, neuron-monitor)",
    "host.cgroup_oom_kills": "int, oom_kill in memory.events of a cgroup",
    "host.now": "float, capture time of the evidence (epoch seconds)",
    "host.processes": "tuple of command names seen in a process listing",
    "host.listening_ports": "tuple of int, ports in LISTEN state",
    "host.path_dirs": "tuple of directories in PATH",
    "host.efa_devices": "int, EFA interfaces seen on PCI or by fi_info",
    "host.efa_provider": "bool, fi_info lists the efa provider",
    # --- devices
    "neuron.devices": "int, devices listed by neuron-ls",
    "neuron.cores": "int, all logical cores listed by neuron-ls",
    "neuron.cores_per_device": "int",
    "neuron.device_memory": "int bytes of one device",
    "neuron.lnc": "int, logical NeuronCore configuration",
    "neuron.busy_pids": "tuple of int, PIDs that neuron-ls shows on devices",
    "neuron.busy_devices": "tuple of int",
    "neuron.dev_nodes": "tuple of int, ids N of the /dev/neuronN seen in a listing",
    "neuron.sysfs_devices": "tuple of int, ids N in a listing of /sys/class/neuron_device",
    "neuron.pci_devices": "int, Annapurna Neuron devices in lspci",
    "neuron.pci_listed": "bool, an lspci listing was present at all",
    "neuron.holders": "tuple of str, commands holding /dev/neuron* (lsof, fuser, neuron-ls)",
    "neuron.cores_in_use": "int, NeuronCores with a utilisation entry in neuron-monitor or neuron-top",
    "neuron.utilisation_max": "float %, highest core utilisation seen",
    "neuron.utilisation_min": "float %, lowest core utilisation seen (allocated or listed cores)",
    "neuron.utilisation_idle_cores": "int, cores listed below 1 %",
    "neuron.memory_used": "int bytes of device memory in use over all devices",
    "neuron.ecc_uncorrected": "int, sum of uncorrected SRAM and memory ECC counters",
    "neuron.ecc_repairable": "int",
    "neuron.dge_notifications": "bool, NEURON_RT_ENABLE_DGE_NOTIFICATIONS is 1 or true in an environment or infodump",
    "instance.devices": "derived: int, Neuron devices that host.instance_type has by the data table",
    "instance.cores": "derived: int, logical NeuronCores of host.instance_type at its default LNC",
    "instance.family": "derived: str, inf1, trn1, trn1n, inf2, trn2, trn3 from host.instance_type (ml. prefix ignored)",
    "instance.core_memory": "derived: int bytes of device memory per logical core of host.instance_type",
    "runtime.visible_max": "derived: int, highest index in NEURON_RT_VISIBLE_CORES (env, or runtime.visible_cores)",
    "runtime.visible_count": "derived: int, number of cores that NEURON_RT_VISIBLE_CORES names (ranges expanded)",
    "launch.cores_needed": "derived: int, cores that the launch asks for on one host (tp, num_cores, nproc, workers x cores)",
    # --- driver, runtime, SDK
    "driver.loaded": "str, version of the loaded module (dmesg banner, /sys/module/neuron/version, infodump)",
    "driver.package": "str, version of aws-neuronx-dkms or aws-neuron-dkms as installed",
    "driver.on_disk": "str, modinfo neuron",
    "driver.use_count": "int, use count in lsmod",
    "driver.module_listed": "bool, lsmod output was present and lists neuron (False: present and not listed)",
    "driver.dkms_status": "str, state in dkms status (added, built, installed)",
    "driver.dkms_kernels": "tuple of kernels for which dkms reports the module as installed",
    "driver.version": "derived: loaded, else as seen by the runtime, else package",
    "runtime.version": "str, libnrt version (start line, infodump, package)",
    "runtime.found_driver": "str, driver version that the runtime printed",
    "runtime.status": "str, NRT status name of a failure (infodump or code), first seen",
    "runtime.failed_in": "str, function named by the infodump",
    "runtime.visible_cores": "str, as in the infodump",
    "runtime.collectives_version": "str, CCOM",
    "runtime.oom_usage": "str, kind of memory of the failed allocation (tensors, shared scratchpad, dma rings, ...)",
    "runtime.oom_bytes": "int, size of the failed allocation",
    "runtime.oom_total": "int, bytes in use on that core or HBM",
    "runtime.oom_scratchpad": "int", "runtime.oom_tensors": "int", "runtime.oom_model_code": "int",
    "runtime.oom_dma_rings": "int",
    "compiler.version": "str, neuronx-cc version of the run (cache path, banner, package)",
    "compiler.target": "str, --target of the compile command",
    "compiler.exit_code": "int",
    "compiler.codes": "tuple of str, NCC_... and [XXX001] codes seen",
    "compiler.peak_hbm": "int bytes, compiler's estimate", "compiler.hbm_limit": "int bytes",
    "sdk.releases": "derived: tuple of SDK releases that the installed Neuron packages belong to",
    "sdk.release": "derived: the one SDK release, when it is one",
    "sdk.stub_packages": "derived: tuple of Neuron packages with a placeholder version of PyPI",
    "sdk.legacy_packages": "derived: tuple of installed packages of the discontinued aws-neuron-* line",
    # --- compatibility (derived joins of versions with data/; each absent when a version it needs is not known)
    "compat.driver_too_old": "derived: bool, runtime.version is documented to need a newer driver than driver.version",
    "compat.runtime_too_old": "derived: bool, driver.version is documented to refuse a runtime as old as "
    "runtime.version (driver >= 2.29 with runtime < 2.33)",
    "compat.kernel_unsupported": "derived: bool, host.kernel is outside of what driver.package or driver.version "
    "builds on (below 5.10 for current drivers; 6.13 and newer before driver 2.24.7)",
    "compat.hw_unsupported": "derived: bool, instance family inf1 with runtime >= 2.23 or a driver without Inf1 (> "
    "2.24)",
    "compat.torch_mismatch": "derived: bool, x.y of pkg.torch differs from x.y of pkg.torch_xla or from the torch "
    "prefix of pkg.torch_neuronx (for torch-xla +torchneuron builds too)",
    "compat.hf_skew": "derived: bool, transformers, optimum, accelerate, trl or peft is outside of the pins of the "
    "installed optimum-neuron release (or transformers >= 5 beside any Neuron package)",
    "compat.hf_skew_packages": "derived: tuple of str such as 'transformers 5.8.0, optimum-neuron 0.4.5 pins ~=4.57.1'",
    "compat.sdk_skew": "derived: bool, the installed neuronx-cc, libneuronxla, torch-neuronx, neuronx-"
    "distributed(-inference) and transformers-neuronx share no common SDK release (patch releases of one minor "
    "count as one)",
    "compat.sdk_skew_packages": "derived: tuple of str such as 'neuronx-cc 2.21.33363.0 (SDK 2.26)'",
    "compat.tools_too_old": "derived: bool, aws-neuronx-tools comes from an earlier SDK release than the runtime",
    "compat.vllm_skew": "derived: bool, vllm does not fit the installed vllm-neuron plugin, optimum-neuron[vllm] pin "
    "or SDK release",
    "compat.python_unsupported": "derived: bool, python.version is not one that the installed or wanted neuronx-cc, "
    "optimum-neuron or SDK release supports",
    "compat.third_party": "derived: tuple of str, general packages (numpy, protobuf) outside of the range of the "
    "installed neuronx-cc or torch-neuronx release",
    "compat.unreleased": "derived: tuple of 'package==version' that no release ever had although they are older than "
    "the data (torch-neuronx 2.1.1.1.1.12.0, optimum-neuron 4.41.2.1.1.12.0)",
    "host.kernel_headers": "tuple of kernel releases whose headers are installed (kernel-devel-R of rpm -qa, linux-"
    "headers-R of dpkg)",
    "python.version": "str, version of the interpreter (python --version, pip's 'python 3.9' line, banner)",
    "pip.indexes": "tuple of index URLs from 'Looking in indexes:', pip config list, PIP_INDEX_URL, "
    "PIP_EXTRA_INDEX_URL",
    "pip.neuron_index": "bool, pip.repos.neuron.amazonaws.com is among them; False when indexes (or an empty pip "
    "config) were shown without it",
    "pip.pypi_index": "bool, pypi.org or a mirror is among them; False when only the Neuron index was shown",
    "lock.drift": "tuple of str, one line per fact that differs from the lock file (written by the lock check)",
    "source.unavailable": "tuple of 'name: reason', mandatory sources that are missing, failed or stale (live host or"
    " daemon)",
    "host.memory_growing": "derived: bool, resident memory of the job or used host memory rises steadily over the "
    "samples",
    "host.memory_exhaust_seconds": "derived: float s until host memory is used up at that rate",
    # --- compile cache
    "cache.dirs": "tuple of cache paths that logs print, in order",
    "cache.hits": "int", "cache.misses": "int, compiler commands started",
    "cache.cached_failures": "int", "cache.locks": "int, .lock files in a cache listing",
    "cache.empty_neffs": "int, zero-byte .neff files", "cache.failed_entries": "int, model.log without model.neff",
    "cache.lock_age": "float s, age of the oldest lock at capture time",
    "cache.wait_minutes": "float, longest 'been waiting for: N minutes'",
    "cache.modules_compiled": "int, distinct MODULE ids compiled in this run",
    "cache.fstype": "derived: file system type under the cache directory",
    "process.compilers": "int, running neuronx-cc or neuron compiler processes in a process listing",
    "process.listed": "bool, a process listing was present at all",
    "process.workers": "int, worker processes in a process listing (several processes with one Python command line)",
    "process.workers_idle": "int, of these, in state S or D and below 1 % CPU",
    "process.workers_running": "int, of these, in state R",
    "process.exit_code": "int, exit status of the run where a file or line states it",
    "process.exit_signal": "str",
    # --- launch (through dialect/)
    "launch.program": "str, torchrun, vllm, optimum-cli, accelerate, docker, ...",
    "launch.command": "str, the command line",
    "launch.model": "str", "launch.nproc": "int, processes per node", "launch.nnodes": "int",
    "launch.world_size": "derived: nproc x nnodes",
    "launch.tp": "int, tensor-parallel degree", "launch.pp": "int", "launch.dp": "int",
    "launch.num_cores": "int, cores asked for by an export or a server", "launch.target": "str, chip generation",
    "launch.batch_size": "int, static or maximum batch of export or server", "launch.per_device_batch": "int",
    "launch.grad_accum": "int", "launch.max_num_seqs": "int", "launch.max_model_len": "int",
    "launch.sequence_length": "int", "launch.block_size": "int", "launch.bf16": "bool", "launch.fp16": "bool",
    "launch.zero1": "bool", "launch.learning_rate": "float", "launch.num_proc": "int, data-set worker processes",
    "launch.num_workers": "int, DataLoader workers per rank", "launch.rope_theta": "float, override",
    "launch.rope_override": "bool, an override of rope parameters is on the command line",
    "launch.cache_dir": "str", "launch.output_dir": "str", "launch.device": "str, --device",
    "launch.image": "str, container image", "launch.devices_passed": "tuple of int, /dev/neuronN passed by --device",
    "launch.in_container": "bool, started by docker, podman or a pod",
    "launch.workers": "int, model workers of a server", "launch.workers_per_cores": "int, cores per worker",
    "launch.distributed": "bool, started by torchrun, accelerate, mpirun or srun with ranks",
    # --- model and artifact
    "config.model_type": "str", "config.architectures": "tuple of str", "config.name": "str, _name_or_path",
    "config.num_attention_heads": "int", "config.num_key_value_heads": "int", "config.head_dim": "int",
    "config.hidden_size": "int", "config.num_hidden_layers": "int", "config.intermediate_size": "int",
    "config.vocab_size": "int", "config.num_labels": "int, id2label entries", "config.rope_theta": "float",
    "config.rope_scaling": "str, type of rope_scaling (linear, dynamic, yarn, llama3), absent when null",
    "config.rope_scaling_factor": "float", "config.max_position_embeddings": "int", "config.n_positions": "int",
    "config.n_ctx": "int", "config.tie_word_embeddings": "bool", "config.dtype": "str",
    "config.transformers_version": "str", "config.quantization": "str",
    "artifact.present": "bool, config.json has a neuron section or neuron_config.json exists",
    "artifact.batch_size": "int", "artifact.num_cores": "int", "artifact.sequence_length": "int",
    "artifact.compiler_version": "str", "artifact.target": "str", "artifact.auto_cast": "str", "artifact.tp": "int",
    "artifact.optimum_version": "str",
    "adapter.present": "bool, adapter_config.json", "adapter.target_modules": "tuple of str", "adapter.r": "int",
    "adapter.alpha": "float", "adapter.base_model": "str",
    "weights.bytes": "int, sum of tensor sizes in safetensors headers", "weights.files": "int",
    "weights.truncated": "tuple of files shorter than their header says", "weights.dtype": "str",
    "checkpoint.files": "tuple of file names in a listed checkpoint or model directory",
    "tokenizer.vocab_size": "int", "tokenizer.pad_token": "str or None when tokenizer config has none",
    "published.rope_theta": "derived: published value of the base model", "published.name": "derived: its name",
    # --- training and serving series (derived by detectors from Samples)
    "loss.count": "int", "loss.first": "float", "loss.last": "float", "loss.min": "float", "loss.max": "float",
    "loss.nan_count": "int", "loss.nan_first_index": "int, position of the first NaN or inf in the series",
    "loss.identical": "bool, at least 3 values and all bit-identical",
    "loss.flat": "bool, no fall beyond noise over the series", "loss.swing": "float, std of steps after warm-up",
    "loss.oscillates": "bool, swings of whole units while grad_norm is calm",
    "loss.creeping_up": "bool, a slow steady rise",
    "loss.near_ln_vocab": "bool, stays within 5 % of ln(vocab_size)",
    "loss.near_ln_labels": "bool, stays within 3 % of ln(num_labels)",
    "loss.falls": "bool, clearly lower at the end than at the start",
    "loss.other_run_better": "bool, another run in the evidence reaches a clearly lower loss",
    "grad_norm.last": "float", "grad_norm.max": "float", "grad_norm.zero": "bool, all values are 0",
    "grad_norm.falls_to_zero": "bool", "grad_norm.calm": "bool",
    "step.compiles": "int, compiles that happened between training steps after the first steps",
    "step.recompiles_every_step": "bool", "step.count": "int, training steps logged",
    "step.advancing": "bool, steps progress in the log to its end",
    "serve.running_max": "int", "serve.waiting_max": "int", "serve.waiting_grows": "bool",
    "serve.running_stuck_at_one": "bool, running stays at most 1 while requests wait",
    "serve.at_limit": "bool, running equals the slot limit while requests wait or are preempted",
    "serve.batch_limit": "int, limit that the server states", "serve.p99": "float s",
    "loss.zero": "bool, at least 3 values and every finite one is 0.0",
    "loss.level": "float, median of the last third of the run that the loss facts describe",
    "loss.ln_vocab": "float, ln(vocab_size) that the loss was compared with", "loss.ln_labels": "float, ln(num_labels)",
    "loss.nan_lr": "float, learning rate at the first NaN", "loss.best_other": "float, lowest loss of the better run",
    "grad_norm.nan_count": "int", "grad_norm.count": "int",
    "step.slow_rank": "str, entity of the rank whose step times stay clearly above the other ranks'",
    "step.slow_ratio": "float, its median step time over the median of the other ranks",
    "throughput.dropped": "bool, tokens/s (or steps/s) stay well below this run's own earlier level",
    "throughput.ratio": "float, median of the last fifth over the median of the earlier plateau",
    "serve.waiting_last": "int", "serve.throughput_collapses": "bool, generated tokens/s fall by 5x while requests run",
    "run.trial": "bool, this file is a trial run that only extracts graphs: its losses are not real",
    "output.text": "str, a text generated by the model (responses, generated_text), first 2,000 characters",
    "output.nonsense": "bool, a generated text is word salad, digits or endless repetition",
    # --- config and checkpoint details
    "config.rope_form": "str, where config.json holds rope_theta: top, rope_parameters (transformers v5), both or none",
    "config.n_embd": "int", "config.sliding_window": "int",
    "checkpoint.incomplete": "tuple of checkpoint directories that lack their done marker or listed shards",
    # --- live job only (from its owner process; absent in a heap of files)
    "job.no_progress": "float s, no step, log line, CPU time, I/O or compile for longer than the phase's limit",
    "job.stacks_equal": "bool, two stack dumps of all ranks a minute apart are equal",
    "job.slow_rank": "str, entity of the rank that the others wait for", "job.slow_ratio": "float",
    "job.throughput_ratio": "float, now against this run's own earlier level",
    "job.checkpoint_torn": "str, path of the newest checkpoint when it fails verification",
    "job.health_ok": "bool, the server's health check answers", "job.canary_failed": "bool, a canary completion missed its deadline",
    # --- more joins with the reference data (judge/derive/): a bool only where everything it needs is known, else absent;
    # what is newer than the data is unknown too, never skew
    "instance.is_neuron": "derived: bool, host.instance_type is Trainium or Inferentia (False: another EC2 family)",
    "instance.generation": "derived: int, NeuronCore generation (1 Inf1, 2 Trn1/Inf2, 3 Trn2, 4 Trn3)",
    "instance.physical_cores": "derived: int", "instance.cores_per_device": "derived: int, logical",
    "instance.device_memory": "derived: int bytes over all devices", "instance.host_memory": "derived: int bytes",
    "instance.vcpus": "derived: int", "instance.efa": "derived: bool, the type supports EFA (multi-node collectives)",
    "instance.collective_cores": "derived: tuple of int, core counts on one node that collectives support",
    "instance.devices_missing": "derived: int, devices that the type has and the whole host does not show (0: all)",
    "compat.reasons": "derived: tuple of str, a sentence with both versions for each true compat.* fact",
    "compat.optimum_sdk_skew": "derived: bool, neuronx-cc, torch-neuronx, ... differ from optimum-neuron's pins",
    "compat.optimum_sdk_packages": "derived: tuple of str such as 'neuronx-cc 2.27.5334.0, optimum-neuron 0.4.5 pins "
    "2.21.33363.0'",
    "compat.newer_than_data": "derived: tuple of 'package==version' newer than the data: nothing is judged about them",
    "compat.transformers_lacks_model": "derived: bool, installed transformers is older than the first release with "
    "config.model_type",
    "compat.framework_unsupported": "derived: bool, this Neuron framework release runs on newer generations only "
    "(vllm-neuron on trn1/inf2, NxD Inference of SDK 2.29+ on trn1/inf2)",
    "published.num_attention_heads": "derived: int", "published.num_key_value_heads": "derived: int",
    "published.head_dim": "derived: int", "published.hidden_size": "derived: int",
    "published.num_hidden_layers": "derived: int", "published.vocab_size": "derived: int",
    "published.max_position_embeddings": "derived: int", "published.model_type": "derived: str",
    "published.rope_scaling": "derived: str, rope type of the published config, '' when it has none",
    "published.params": "derived: int, parameters of the base model",
    "config.rope_parameters_theta": "float, rope_parameters.rope_theta as transformers v5 writes it",
    "config.rope_effective": "derived: float, theta that the installed transformers really uses (v4 ignores "
    "rope_parameters, a missing key means 10000)",
    "model.params": "derived: int, parameters from the config's dimensions, the published table or the model's name",
    "model.weight_bytes": "derived: int, weights at the run's dtype",
    "model.bytes_per_core": "derived: int, model.weight_bytes / (tp x pp)",
    "model.fits_core": "derived: bool, weights alone leave at least 5 % of instance.core_memory free",
    "launch.global_batch": "derived: int, per-device batch x data-parallel ranks x accumulation",
    "host.mounts": "tuple of str 'MOUNTPOINT FSTYPE', all mounts seen (mount, /proc/mounts, findmnt, df -T)",
    "neuron.dev_denied": "tuple of int, ids N of /dev/neuronN that exist and may not be opened (mode, EACCES)",
    "cgroup.memory_max": "int bytes, memory limit of the container or unit", "cgroup.memory_current": "int bytes",
    "cgroup.cpus": "float, CPUs of cpu.max",
    "lock.file": "str, path of the lock file that was compared",
    # --- orchestrators
    "k8s.neuron_requested": "int", "k8s.neuron_allocatable": "int", "k8s.pod_phase": "str", "k8s.restarts": "int",
    "k8s.last_reason": "str, reason of the last termination", "k8s.node_instance_type": "str",
    "docker.devices": "tuple of device paths of docker inspect", "docker.privileged": "bool", "docker.runtime": "str",
    "slurm.state": "str", "slurm.nodes": "int",
    "k8s.neuron_allocated": "int, Neuron devices (else cores) under 'Allocated resources' of kubectl describe node",
    "k8s.device_plugin_image": "str, image:tag of the Neuron device plugin (kubectl describe, helm list, pod spec)",
    "cluster.nodes": "derived: int, nodes of the job (nnodes argument, NNODES, SLURM_NNODES, world size over local world size)",
    "k8s.neuroncore_requested": "int", "k8s.neuroncore_allocatable": "int", "k8s.neuroncore_allocated": "int",
    "k8s.images": "tuple of container images of pods (kubectl describe, manifests)",
    "k8s.event_reasons": "tuple of reasons of events (FailedScheduling, BackOff, Killing)",
    "docker.shm_size": "int bytes (docker inspect, --shm-size)", "docker.memory": "int bytes, memory limit, absent when none",
    "docker.oom_killed": "bool, State.OOMKilled",
    "endpoint.memory_max": "float %, highest MemoryUtilization of a managed endpoint",
    "slurm.reason": "str, cause that slurmstepd or sacct states (OUT_OF_MEMORY, TIME LIMIT, NODE_FAIL, PREEMPTED)",
    # --- small listings and commands
    "sdk.stated": "str, SDK release that a text or image tag names (Neuron SDK 2.25.0 DLAMI, -sdk2.17.0-)",
    "host.kernels_installed": "tuple of kernel releases installed (rpm -qa kernel-R, dpkg linux-image-R)",
    "host.commands_missing": "tuple of programs that a shell did not find (which: no X in, X: command not found)",
    "host.unresolved": "tuple of host names that getent, nslookup or ping could not resolve",
    "host.python": "str, path of the interpreter of the run (sys.executable, VIRTUAL_ENV/bin/python, py-spy header)",
    "packages.changed": "tuple of 'NAME OLD NEW' that an apt, dpkg, yum or pip log changed (OLD '-' for a first install)",
    "files.empty": "tuple of names of files of size 0 in a listing (ls -l) that are not locks or markers",
    "launch.entry": "str, script or module that does the work (train.py, vllm.entrypoints.openai.api_server)",
    "launch.node_rank": "int", "launch.master_addr": "str", "launch.max_steps": "int", "launch.max_length": "int",
    "launch.precompile": "bool, wrapped in neuron_parallel_compile", "launch.privileged": "bool, docker run --privileged",
    "launch.auto_cast": "str, none, matmul or all", "launch.auto_cast_type": "str, type of the cast (bf16, fp16)",
    "launch.optlevel": "int, neuronx-cc --optlevel / -O", "launch.model_type": "str, neuronx-cc --model-type",
    "python.stack": "tuple of functions of the main thread in a stack dump, innermost first",
    "python.error": "str, 'Type: message' of the innermost cause of the last traceback",
    "tokenizer.class": "str", "tokenizer.model_max_length": "int",
    "endpoint.startup_timeout": "float s, start-up or health-check limit", "endpoint.stopped_after": "float s",
}


def known(name: str) -> bool:
    """Whether `name` is a fact that a rule may use or a parser may emit."""
    return name in FACTS or name.startswith(OPEN_FAMILIES)


def meaning(name: str) -> str:
    """What a fact is and where it is read, for messages."""
    families = {
        "pkg.": "version in pip list, dpkg -l or rpm -qa",
        "env.": "environment of the process",
        "arg.": "argument of the launch command",
        "limit.": "ulimit -a or /proc/PID/limits",
    }
    for prefix, text in families.items():
        if name.startswith(prefix):
            return text
    return FACTS.get(name, "unknown fact")
