"""What the methods of the API do. One function each; `table` is the list."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from neuronwatch.daemon.api import Method, Peer, topics_of
from neuronwatch.daemon.protocol import SCHEMA, ApiError, version_of

if TYPE_CHECKING:
    from neuronwatch.daemon.service import Service


def table(service: Service) -> dict[str, Method]:
    def hello(_peer: Peer, params: dict[str, Any]) -> Any:
        if version_of(params.get("schema", SCHEMA)) > version_of(SCHEMA):
            raise ApiError("version", f"this daemon speaks {SCHEMA}: update it, or use an older client")
        return service.hello()

    def status(_peer: Peer, _params: dict[str, Any]) -> Any:
        return service.status()

    def subscribe(peer: Peer, params: dict[str, Any]) -> Any:
        names = params.get("topics", [])
        if not isinstance(names, list):
            raise ApiError("bad-request", "topics must be a list")
        peer.topics = topics_of(names)
        return {"topics": sorted(peer.topics)}

    return {"hello": hello, "status": status, "subscribe": subscribe}
