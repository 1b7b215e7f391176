"""How the imports of a job end, by the packages of its venv and its PATH: what Python prints, "" when all is there."""

from __future__ import annotations

from collections.abc import Mapping

from neuronwatch.data import releases
from neuronwatch.drill import spec
from neuronwatch.drill.jobs.api import VENV

SITE = f"{VENV}/lib/python3.10/site-packages"
HEAD = "Traceback (most recent call last):\n"
STUB = "1.0"
"""Version of the placeholders that PyPI holds under the names of the Neuron packages."""
TRAINING = ("torch", "torch-xla", "torch-neuronx", "optimum-neuron", "transformers", "trl", "datasets")
SERVING = ("torch", "torch-neuronx", "vllm")
MODULES = {"torch-xla": "torch_xla", "torch-neuronx": "torch_neuronx", "optimum-neuron": "optimum"}
TRANSFORMERS, VLLM = "4.57", "0.11"
"""What the optimum-neuron of the host is made for."""


def trouble(software: spec.Software, environ: Mapping[str, str], script: str, wanted: tuple[str, ...]) -> str:
    """A job of the newer releases imports `wanted`, in this order."""
    python = software.python
    if ("torch-neuronx" not in python and "torch-neuron" in python) or ("optimum" not in python and "vllm" not in python):
        return ""  # the old line, or a release of which only the Neuron packages are known: nothing to tell
    for name in wanted:
        text = _one(software, python, environ, name)
        if text:
            return f'{HEAD}  File "{script}", line 12, in <module>\n{text}'
    return ""


def _one(software: spec.Software, python: Mapping[str, str], environ: Mapping[str, str], name: str) -> str:
    module = MODULES.get(name, name)
    if name not in python:
        return f"    import {module}\nModuleNotFoundError: No module named '{module}'"
    if python[name] == STUB:
        return (f'  File "{SITE}/{module}/__init__.py", line 4, in <module>\n    raise ImportError("WRONG PACKAGE. Please install the package '
                'from Neuron Repository - pip.repos.neuron.amazonaws.com")\nImportError: WRONG PACKAGE. Please install the package from Neuron '
                "Repository - pip.repos.neuron.amazonaws.com")  # fmt: skip
    check = {"torch-xla": _torch_xla, "torch-neuronx": _torch_neuronx, "optimum-neuron": _optimum, "vllm": _vllm}.get(name)
    return check(software, python, environ) if check else ""


def _torch_xla(software: spec.Software, python: Mapping[str, str], environ: Mapping[str, str]) -> str:
    """Its C++ part is linked against one torch."""
    if spec.parts(python["torch"])[:2] == spec.parts(python["torch-xla"])[:2]:
        return ""
    return (f'  File "{SITE}/torch_xla/__init__.py", line 20, in <module>\n    import _XLAC\nImportError: '
            f"{SITE}/_XLAC.cpython-310-x86_64-linux-gnu.so: undefined symbol: _ZN5torch8autograd10deleteNodeEPNS0_4NodeE")  # fmt: skip


def _torch_neuronx(software: spec.Software, python: Mapping[str, str], environ: Mapping[str, str]) -> str:
    """Looks a helper of libneuronxla up on the PATH, then takes names from it that come and go with the release."""
    if f"{VENV}/bin" not in environ.get("PATH", "").split(":"):
        return (f'  File "{SITE}/torch_neuronx/xla.py", line 47, in init\n    output = subprocess.run(["libneuronpjrt-path"], '
                "stdout=subprocess.PIPE)\n"
                '  File "/usr/lib/python3.10/subprocess.py", line 1863, in _execute_child\n    raise child_exception_type(errno_num, err_msg, '
                "err_filename)\nFileNotFoundError: [Errno 2] No such file or directory: 'libneuronpjrt-path'")  # fmt: skip
    if "libneuronxla" in python and not _together(python, "torch-neuronx", "libneuronxla"):
        return (f'  File "{SITE}/torch_neuronx/xla_impl/trace.py", line 23, in <module>\n    from libneuronxla import neuron_xla_compile\n'
                f"ImportError: cannot import name 'neuron_xla_compile' from 'libneuronxla' ({SITE}/libneuronxla/__init__.py)")  # fmt: skip
    if spec.at_least(python.get("protobuf", "3"), "4"):
        return (f'  File "{SITE}/libneuronxla/proto/hlo_pb2.py", line 33, in <module>\n    _descriptor.EnumValueDescriptor(\n'
                "TypeError: Descriptors cannot be created directly.\nIf this call came from a _pb2.py file, your generated code is out of date "
                "and must be regenerated with protoc >= 3.19.0.")  # fmt: skip
    return ""


def _together(python: Mapping[str, str], one: str, other: str) -> bool:
    """Whether a release holds both versions."""
    return any(
        any(build.version == python[one] for build in item.packages.get(one, ()))
        and any(build.version == python[other] for build in item.packages.get(other, ()))
        for item in releases.releases()
    )


def _optimum(software: spec.Software, python: Mapping[str, str], environ: Mapping[str, str]) -> str:
    if python.get("transformers", TRANSFORMERS).startswith(TRANSFORMERS):
        return ""
    return (f'  File "{SITE}/optimum/neuron/generation/utils.py", line 37, in <module>\n    from transformers.generation.utils import '
            f"GenerationMode\nImportError: cannot import name 'GenerationMode' from 'transformers.generation.utils' "
            f"({SITE}/transformers/generation/utils.py)")  # fmt: skip


def _vllm(software: spec.Software, python: Mapping[str, str], environ: Mapping[str, str]) -> str:
    """Needs a platform plugin: optimum-neuron brings the one for Neuron, made for one vLLM."""
    if "optimum-neuron" not in python:
        return (f'  File "{SITE}/vllm/config/device.py", line 57, in __post_init__\n    raise RuntimeError(\nRuntimeError: Failed to infer device '
                "type, please set the environment variable `VLLM_LOGGING_LEVEL=DEBUG` to turn on verbose logging to help debug the issue.")  # fmt: skip
    if not python["vllm"].startswith(VLLM):
        return (f'  File "{SITE}/optimum/neuron/vllm/worker.py", line 22, in <module>\n    from vllm.utils import cdiv\n'
                f"ImportError: cannot import name 'cdiv' from 'vllm.utils' ({SITE}/vllm/utils/__init__.py)")  # fmt: skip
    return ""
