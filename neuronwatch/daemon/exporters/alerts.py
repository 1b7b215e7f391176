"""Webhooks and programs that are told about incidents: each change once, again after a failure, never twice at a time.

Nothing runs in the loop: a webhook is posted by a small process, a program is one. What was told survives a restart.
"""

from __future__ import annotations

import json
import os
import random
import sys
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuronwatch.daemon import status
from neuronwatch.daemon.config import Alert
from neuronwatch.daemon.exporters.files import Complaint, replace
from neuronwatch.daemon.exporters.spawn import Child
from neuronwatch.daemon.exporters.webhook import AGAIN
from neuronwatch.model.diagnosis import SEVERITIES
from neuronwatch.model.live import Health, Incident

if TYPE_CHECKING:
    from neuronwatch.daemon.service import Service

FILE = "alerts.json"
MAX_WAITING = 100
"""Alerts that wait for one receiver; the oldest are dropped, and that is said."""
MAX_TOLD = 1000
FIRST_PAUSE, LONGEST_PAUSE = 2.0, 300.0
TEMPORARY = frozenset((AGAIN, None))


class Receiver:
    """One webhook or program with its queue: one delivery at a time, in order."""

    def __init__(self, service: Service, alert: Alert, name: str, told: dict[str, str], save: Callable[[], None]) -> None:
        self.name = name
        self._service = service
        self._alert = alert
        self._told = told
        """Incident to the last state that was told."""
        self._save = save
        self._queue: deque[tuple[str, dict[str, Any]]] = deque()
        self._child: Child | None = None
        self._attempt = 0
        self._closed = False

    def offer(self, what: str, text: str, incident: Incident) -> None:
        """Queues the news where it is wanted and not told yet."""
        if not self._wants(incident) or self._told.get(incident.id) == incident.state:
            return
        if incident.state == "resolved" and incident.id not in self._told:
            return  # nobody was told that it was there
        self._told[incident.id] = incident.state
        while len(self._told) > MAX_TOLD:
            del self._told[next(iter(self._told))]
        body = {
            "schema": "neuronwatch.alert/1", "what": what, "text": status.hidden(text), "host": os.uname().nodename,
            "time": self._service.loop.clock.now().wall, "incident": status.incident(incident),
        }  # fmt: skip
        self._queue.append((incident.id, body))
        if len(self._queue) > MAX_WAITING:
            lost, _ = self._queue.popleft() if self._child is None else self._second()
            self._service.log.error("an alert is dropped, too many wait", alert=self.name, incident=lost)
        self._next()

    def _second(self) -> tuple[str, dict[str, Any]]:
        """Takes the oldest that is not under way."""
        item = self._queue[1]
        del self._queue[1]
        return item

    def _wants(self, incident: Incident) -> bool:
        alert = self._alert
        if incident.state not in alert.states or SEVERITIES.index(incident.severity) < SEVERITIES.index(alert.severity):
            return False
        return not alert.faults or any(
            incident.fault == name or (name.endswith(".*") and incident.fault.startswith(name[:-1])) for name in alert.faults
        )

    def _next(self) -> None:
        if self._child is not None or not self._queue or self._closed or self._attempt:
            return
        self._start()

    def _start(self) -> None:
        if self._closed or not self._queue:
            return
        _, body = self._queue[0]
        argv, data, environ = _order(self._alert, body)
        try:
            limit = self._alert.timeout + (5.0 if self._alert.url else 0.0)
            self._child = Child(self._service.loop, argv, data, environ, limit, self._done)
        except OSError as error:
            self._done(127, (error.strerror or str(error)).lower())

    def _done(self, code: int | None, said: str) -> None:
        self._child = None
        log = self._service.log
        incident, _ = self._queue[0]
        if code == 0:
            log.info("alert sent", alert=self.name, incident=incident, attempts=self._attempt + 1)
            self._settled()
            return
        why = said.splitlines()[-1][:300] if said else "no answer in time" if code is None else f"exit status {code}"
        hopeless = bool(self._alert.url) and code not in TEMPORARY
        self._attempt += 1
        if hopeless or self._attempt > self._alert.retries:
            log.error("alert not sent", alert=self.name, incident=incident, attempts=self._attempt, why=status.hidden(why))
            self._settled()
            return
        pause = min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** (self._attempt - 1)) * random.uniform(0.8, 1.2)
        log.warning("alert failed, another attempt follows", alert=self.name, incident=incident, seconds=round(pause, 1),
                    why=status.hidden(why))  # fmt: skip
        self._service.loop.after(pause * self._service.loop.clock.rate, self._start)

    def _settled(self) -> None:
        self._queue.popleft()
        self._attempt = 0
        self._save()
        self._next()

    def close(self) -> None:
        self._closed = True
        if self._child is not None:
            self._child.kill()

    def settled(self) -> dict[str, str]:
        """What need not be told again after a restart."""
        waiting = {incident for incident, _ in self._queue}
        return {incident: state for incident, state in self._told.items() if incident not in waiting}


def _order(alert: Alert, body: dict[str, Any]) -> tuple[list[str], bytes, dict[str, str]]:
    """Arguments, input and environment of the process."""
    if alert.url:
        order = {"url": alert.url, "headers": alert.headers, "timeout": alert.timeout, "body": body}
        environ = {name: os.environ[name] for name in _PASSED if name in os.environ}
        return [sys.executable, "-m", __package__ + ".webhook"], json.dumps(order).encode(), environ
    incident = body["incident"]
    environ = {
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8",
        "NEURONWATCH_INCIDENT": incident["id"], "NEURONWATCH_STATE": incident["state"], "NEURONWATCH_FAULT": incident["fault"],
        "NEURONWATCH_SEVERITY": incident["severity"], "NEURONWATCH_TITLE": incident["title"].replace("\0", ""),
    }  # fmt: skip
    return list(alert.command), json.dumps(body).encode() + b"\n", environ


_PASSED = ("PATH", "PYTHONPATH", "SSL_CERT_FILE", "SSL_CERT_DIR", "HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy",
           "NO_PROXY", "no_proxy")  # fmt: skip


class Alerts:
    name = "alerts"

    def __init__(self, service: Service) -> None:
        self._service = service
        self._path = service.options.state / FILE
        self._complaint = Complaint(service.log, "what was alerted")
        known = _read(self._path)
        self._receivers: list[Receiver] = []
        for number, alert in enumerate(service.config.alerts):
            name = alert.name or f"alert {number + 1}"
            self._receivers.append(Receiver(service, alert, name, known.get(name, {}), self._save))
        service.loop.after(0.0, self._catch_up)

    def _catch_up(self) -> None:
        """What was not told before a restart."""
        for incident in self._service.incidents():
            self.incident("known", "known since before the restart of the daemon", incident)

    def incident(self, what: str, text: str, incident: Incident) -> None:
        for receiver in self._receivers:
            receiver.offer(what, text, incident)

    def source(self, health: Health) -> None:
        pass

    def keep(self) -> None:
        self._save()

    def _save(self) -> None:
        error: OSError | None = None
        try:
            replace(self._path, json.dumps({item.name: item.settled() for item in self._receivers}).encode(), 0o600)
        except OSError as caught:
            error = caught
        self._complaint.told(error)

    def close(self) -> None:
        for receiver in self._receivers:
            receiver.close()
        self._save()


def _read(path: Path) -> dict[str, dict[str, str]]:
    """What was told before the restart; a damaged file means that it is told again."""
    try:
        document = json.loads(path.read_bytes())
        return {str(name): {str(key): str(state) for key, state in told.items()} for name, told in document.items()}
    except (OSError, ValueError, AttributeError, RecursionError):
        return {}


def make(service: Service) -> Alerts:
    return Alerts(service)
