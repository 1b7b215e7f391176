"""node-problem-detector: the answer of a custom plug-in (`neuronwatch status --format npd`), and its status as JSON in a file.

A plug-in ends with 0 (no problem), 1 (problem) or 2 (unknown) and prints at most 80 bytes.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuronwatch.daemon import status
from neuronwatch.daemon.exporters.files import Complaint, replace
from neuronwatch.model.live import Health, Incident

if TYPE_CHECKING:
    from neuronwatch.daemon.service import Service

MAX_OUTPUT = 80
CONDITION = "NeuronProblem"
_STATUS = {"healthy": ("False", 0), "warning": ("False", 0), "fault": ("True", 1), "unknown": ("Unknown", 2)}


def plugin_answer(document: dict[str, Any]) -> tuple[str, int]:
    """Line and exit status. A warning is no problem of the node: nobody drains it for one."""
    code = _STATUS.get(document["verdict"], ("Unknown", 2))[1]
    text = f"{_reason(document)}: {_message(document)}" if code else f"neuronwatch: {document['verdict']}"
    shown = "".join(char if char.isprintable() else "?" for char in text)
    return shown.encode()[:MAX_OUTPUT].decode("utf-8", "ignore"), code


def problem_status(document: dict[str, Any]) -> dict[str, Any]:
    """The status that node-problem-detector's monitors produce: events (none) and one condition."""
    since = min((item["opened"] for item in document["incidents"]), default=document["time"])
    return {
        "source": "neuronwatch",
        "events": [],
        "conditions": [{
            "type": CONDITION, "status": _STATUS.get(document["verdict"], ("Unknown", 2))[0],
            "transition": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(since)),
            "reason": _reason(document), "message": _message(document),
        }],
    }  # fmt: skip


def _reason(document: dict[str, Any]) -> str:
    """A CamelCase word, as Kubernetes wants it: of `hw.device-missing` HwDeviceMissing."""
    if document["verdict"] == "healthy":
        return "NeuronIsHealthy"
    faults = [item["fault"] for item in document["incidents"] if item["fault"]]
    if not faults:
        return "NeuronUnknown" if document["verdict"] == "unknown" else "NeuronProblem"
    return "".join(part.capitalize() for part in faults[0].replace(".", "-").replace("_", "-").split("-"))


def _message(document: dict[str, Any]) -> str:
    titles = [item["title"] for item in document["incidents"]] or list(document["reasons"])
    return "; ".join(titles)[:1000] or f"the host is {document['verdict']}"


class NodeProblem:
    """Writes the status to a file whenever an incident or a source changed, and each minute."""

    name = "npd"

    def __init__(self, service: Service) -> None:
        self._service = service
        self._path = Path(service.config.exporters.npd.path)
        self._complaint = Complaint(service.log, "the file for node-problem-detector", path=str(self._path))
        self._timer = service.loop.every(60.0 * service.loop.clock.rate, self._write)
        service.loop.after(0.0, self._write)

    def incident(self, what: str, text: str, incident: Incident) -> None:
        self._service.loop.after(0.0, self._write)

    def keep(self) -> None:
        pass

    def source(self, health: Health) -> None:
        self._service.loop.after(0.0, self._write)

    def _write(self) -> None:
        error: OSError | None = None
        try:
            replace(self._path, json.dumps(problem_status(status.document(self._service))).encode() + b"\n")
        except OSError as caught:
            error = caught
        self._complaint.told(error)

    def close(self) -> None:
        self._timer.cancel()
        self._path.unlink(missing_ok=True)


def make(service: Service) -> NodeProblem:
    return NodeProblem(service)
