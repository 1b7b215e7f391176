"""A small daemon that speaks `neuronwatch.api/1` and has no host: for tests and benches of the dashboard.

    python fake_daemon.py SOCKET [--devices 16] [--cores 8] [--hz 1] [--fault]

Each core changes with each event, so that a dashboard has all there is to draw.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import socket
import sys
import threading
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tui import pictures

PARTS = ("tensors", "constants", "model_code", "scratchpad", "runtime")


class FakeDaemon:
    """`answers`: method to its result, or to a function of its parameters; of a method that is not there it says so."""

    def __init__(
        self, path: Path, devices: int = 2, cores: int = 4, hz: float = 1.0, document: dict[str, Any] | None = None
    ) -> None:
        self.path = path
        self.hz = hz
        self.names = [f"nd{device}:nc{core}" for device in range(devices) for core in range(cores)]
        self.document = document or pictures.status()
        self.answers: dict[str, Any] = {
            "status": self._status,
            "facts": {"facts": pictures.facts(devices, cores)},
            "snapshot": self._snapshot,
            "incidents": lambda _params: {"incidents": self.document["incidents"]},
            "subscribe": lambda params: {"topics": params.get("topics", [])},
            "rules": {"rules": []},
            "ack": lambda params: {"incidents": []},
        }
        self.called: list[tuple[str, dict[str, Any]]] = []
        self._turn = 0
        self._listening = socket.socket(socket.AF_UNIX)
        path.unlink(missing_ok=True)
        self._listening.bind(str(path))
        self._listening.listen(16)
        self._clients: set[socket.socket] = set()
        self._subscribed: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._ended = threading.Event()
        for target in (self._accept, self._tick):
            threading.Thread(target=target, daemon=True).start()

    def close(self) -> None:
        """Goes away as a daemon that is killed does."""
        self._ended.set()
        self.path.unlink(missing_ok=True)
        for item in (self._listening, *self._clients):
            with contextlib.suppress(OSError):
                item.shutdown(socket.SHUT_RDWR)
            item.close()

    def __enter__(self) -> FakeDaemon:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def say(self, topic: str, data: Any) -> None:
        """An event to whoever listens."""
        line = _line({"event": topic, "dropped": 0, "data": data})
        with self._lock:
            for client in list(self._subscribed):
                try:
                    client.sendall(line)
                except OSError:
                    self._subscribed.discard(client)

    def _accept(self) -> None:
        while not self._ended.is_set():
            try:
                client, _ = self._listening.accept()
            except OSError:
                return
            self._clients.add(client)
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        try:
            client.sendall(_line({"event": "hello", "data": {"schema": "neuronwatch.api/1", "version": "0", "pid": os.getpid()}}))
            for line in client.makefile("rb"):
                request = json.loads(line)
                name, params = request["method"], request.get("params") or {}
                self.called.append((name, params))
                answer = self.answers.get(name)
                if answer is None:
                    told: dict[str, Any] = {"error": {"code": "unknown-method", "message": name}}
                else:
                    told = {"result": answer(params) if callable(answer) else answer}
                with self._lock:
                    client.sendall(_line({"id": request.get("id"), **told}))
                    if name == "subscribe":
                        self._subscribed.add(client)
        except (OSError, ValueError):
            pass
        finally:
            self._clients.discard(client)
            self._subscribed.discard(client)
            client.close()

    def _tick(self) -> None:
        while not self._ended.wait(1.0 / self.hz):
            self._turn += 1
            for item in self._samples():
                self.say("samples", item)

    def _status(self, _params: dict[str, Any]) -> dict[str, Any]:
        now = time.time()
        return {**self.document, "time": now, "sources": [{**item, "last": now} for item in self.document["sources"]]}

    def _samples(self) -> list[dict[str, Any]]:
        """Every core another number each turn, as a job with a wave through its cores has it."""
        now = time.time()
        share = [50 + 49 * math.sin(self._turn / 7 + place / 5) for place in range(len(self.names))]
        used = [4e9 + 1e8 * value for value in share]
        memory = {"core.memory.used": used, **{f"core.memory.{part}": [value / 5 for value in used] for part in PARTS}}
        host = {"host.cpu": share[:1] or [3.0], "host.memory.used": [4e11], "host.memory.total": [2e12], "host.disk.used": [61.0],
                "host.load": [12.5], "host.network.receive": [3e8], "host.network.transmit": [2e8]}  # fmt: skip
        return [
            {"time": now, "source": "neuron-monitor", "metrics": {"core.utilization": {"entities": self.names, "values": share}}},
            {"time": now, "source": "sysfs", "metrics": {name: {"entities": self.names, "values": values} for name, values in memory.items()}},
            {"time": now, "source": "host", "metrics": {name: {"entities": [""], "values": values} for name, values in host.items()}},
        ]  # fmt: skip

    def _snapshot(self, _params: dict[str, Any]) -> dict[str, Any]:
        metrics: dict[str, Any] = {}
        for item in self._samples():
            for name, columns in item["metrics"].items():
                metrics[name] = {
                    entity: [value, 0.0, None, item["source"]]
                    for entity, value in zip(columns["entities"], columns["values"], strict=True)
                }
        return {"time": time.time(), "metrics": metrics}


def _line(message: dict[str, Any]) -> bytes:
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("socket", type=Path)
    parser.add_argument("--devices", type=int, default=16)
    parser.add_argument("--cores", type=int, default=8)
    parser.add_argument("--hz", type=float, default=1.0)
    parser.add_argument("--fault", action="store_true", help="with an open incident")
    args = parser.parse_args()
    found = pictures.status(
        "fault", ("hw.uncorrectable-memory",), (pictures.incident("hw.uncorrectable-memory", "critical", ("nd3",)),)
    )
    daemon = FakeDaemon(args.socket, args.devices, args.cores, args.hz, found if args.fault else None)
    print("ready", flush=True)
    try:
        threading.Event().wait()
    except KeyboardInterrupt:
        daemon.close()


if __name__ == "__main__":
    main()
