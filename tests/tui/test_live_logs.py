"""The feed and the topic `logs`: asked for only while a page needs it, first filled from the tails."""

from __future__ import annotations

from typing import Any

from neuronwatch.daemon.protocol import ApiError
from neuronwatch.tui.feed.live import Live, needed


class Fake:
    """A client that answers from a table and ends the feed when its events are at their end."""

    def __init__(self, feed: Live, steps: list[tuple[str, ...] | dict[str, Any]]) -> None:
        self.feed, self.steps = feed, steps
        self.topics: list[list[str]] = []
        self.asked: list[str] = []

    def call(self, method: str, **params: Any) -> Any:
        if method == "subscribe":
            self.topics.append(params["topics"])
        elif method == "logs":
            self.asked.append(params.get("path", ""))
            if params.get("path") == "gone":
                raise ApiError("not-found", "gone")
            return {"path": params["path"], "lines": ["x"], "line": 1} if "path" in params else {"paths": ["a", "gone"]}
        return {"status": {"time": 1.0}, "snapshot": {"time": 1.0}, "facts": {"facts": {}}, "series": {"columns": {}, "times": []},
                "incidents": {"incidents": []}}.get(method, {})  # fmt: skip

    def event(self, timeout: float) -> dict[str, Any] | None:
        if not self.steps:
            self.feed._ended.set()
            return None
        step = self.steps.pop(0)
        if isinstance(step, tuple):
            self.feed.need(step)
            return None
        return step


def test_lines_are_asked_for_only_while_they_are_needed() -> None:
    feed = Live.__new__(Live)
    Live.__init__(feed, None)  # type: ignore[arg-type]
    event = {"event": "logs", "data": [{"path": "a", "lines": ["y"], "line": 2}]}
    client = Fake(feed, [("logs",), event, (), ("logs",)])
    told: list[tuple[str, Any]] = []
    feed._follow(client, told.extend)  # type: ignore[arg-type]
    assert ["logs" in topics for topics in client.topics] == [False, True, False, True]
    assert client.asked == ["", "a", "gone"] * 2
    assert [data for name, data in told if name == "lines"] == [event["data"]]
    assert [len(data) for name, data in told if name == "logs"] == [1, 1]


def test_one_frame_gets_the_tails() -> None:
    feed = Live.__new__(Live)
    assert needed(Fake(feed, []), ("logs",)) == [("logs", [{"path": "a", "lines": ["x"], "line": 1}])]  # type: ignore[arg-type]
