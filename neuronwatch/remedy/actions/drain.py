"""Drain the Kubernetes node: its hardware is broken, and whatever is started there fails."""

from __future__ import annotations

import re
from collections.abc import Mapping

from neuronwatch.model.diagnosis import Finding
from neuronwatch.model.records import Value
from neuronwatch.remedy.actions import _host
from neuronwatch.remedy.api import Action, Answer, Case, Proposal, Refusal, RemedyError

FAULTS = ("hw.uncorrectable-memory", "hw.device-missing")
_NODE = re.compile(r"[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?")


def propose(case: Case, finding: Finding | None) -> Answer:
    node = case.environ.get("NODE_NAME") or case.facts.get("host.hostname")
    if not isinstance(node, str) or not _NODE.fullmatch(node):
        return Refusal("the name of this node is not known: stop and start the instance, so that it comes up on other hardware")
    words = f"drain node {node}: its jobs are moved elsewhere, and none is started there"
    return Proposal(words, hand=_host.hand_of(case, node=node), restart=False, undo=f"kubectl uncordon {node}")


def apply(hand: Mapping[str, Value]) -> Mapping[str, Value]:
    node = hand.get("node")
    if not isinstance(node, str) or not _NODE.fullmatch(node):
        raise RemedyError("no node is named")
    _host.run(_host.root_of(hand), "kubectl", "drain", node, "--ignore-daemonsets", "--delete-emptydir-data=false")
    return {"did": f"node {node} was drained", "node": node, "host_root": hand.get("host_root")}


def undo(record: Mapping[str, Value]) -> str:
    node = str(record["node"])
    if not _NODE.fullmatch(node):
        raise RemedyError("no node is named")
    _host.run(_host.root_of(record), "kubectl", "uncordon", node)
    return f"node {node} takes jobs again"


ACTION = Action("drain", "host", "drain the Kubernetes node", FAULTS, propose, apply, undo, budget=1, cool_down=86400.0)
