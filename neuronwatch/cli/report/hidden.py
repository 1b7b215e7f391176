"""Reports show the lines of the evidence, and people paste reports into tickets: secrets in them are hidden, on the screen too.

Hosts, addresses and accounts stay, since the reader must find the machine; for a text without them there is `collect`.
"""

from __future__ import annotations

from neuronwatch.collect.redact import Redactor
from neuronwatch.model.dataclass import replace
from neuronwatch.model.diagnosis import Diagnosis, Finding


def without_secrets(diagnosis: Diagnosis) -> Diagnosis:
    redactor = Redactor(secrets_only=True)
    text = redactor.text
    return replace(
        diagnosis,
        findings=tuple(_finding(finding, redactor) for finding in diagnosis.findings),
        facts={name: redactor.value(name, value) for name, value in diagnosis.facts.items()},
        sources=tuple(replace(item, path=text(item.path), reason=text(item.reason)) for item in diagnosis.sources),
        unknown=tuple(text(item) for item in diagnosis.unknown),
    )


def _finding(finding: Finding, redactor: Redactor) -> Finding:
    text = redactor.text
    return replace(
        finding,
        title=text(finding.title),
        cause=text(finding.cause),
        fix=tuple(text(item) for item in finding.fix),
        confirm=tuple(text(item) for item in finding.confirm),
        evidence=tuple(replace(item, path=text(item.path), text=text(item.text)) for item in finding.evidence),
        entities=tuple(text(item) for item in finding.entities),
        why=tuple(text(item) for item in finding.why),
    )
