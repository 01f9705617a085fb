"""Streams of events against a server that misbehaves."""

from __future__ import annotations

import asyncio
import json
from contextlib import aclosing

import pytest
from answering import Seen, answering, hang_up, problem, stream
from trunkline import AsyncTrunkline, NetworkError, ProblemError, Trunkline, models
from trunkline._events import Following

BEGIN = "retry: 5\nid: begin\n\n"


def event(id: str) -> str:
    payload = {"title": "\u2028Übergang", "id": "n-1"}
    body = {"id": id, "type": "kyb.approved", "timestamp": "2026-01-31T12:00:00Z", "data": payload}
    return f"id: {id}\nevent: kyb.approved\ndata: {json.dumps(body, ensure_ascii=False)}\n\n"


def last_ids(seen: list[Seen]) -> list[str | None]:
    return [one.headers["last-event-id"] for one in seen]


def test_follows_a_stream_over_connections_without_a_gap() -> None:
    half = event("e-3")[:40]
    answers = [
        stream(BEGIN),
        stream(BEGIN, event("e-1"), ":\n\n" + event("e-2") + half),
        hang_up,
        problem(503, "service.unavailable", {"Retry-After": "0"}),
        stream(BEGIN.replace("begin", "e-2"), event("e-3")),
    ]
    with answering(*answers) as server, Trunkline(server.url, "tl_test_key") as client:
        events = client.stream_events()
        found = [next(events) for _ in range(3)]
        events.close()
        assert [one.id for one in found] == ["e-1", "e-2", "e-3"]
        assert isinstance(found[0], models.KybApprovedEvent)
        # The first id came before any event.
        assert last_ids(server.seen) == [None, "begin", "e-2", "e-2", "e-2"]
        assert {one.path for one in server.seen} == {"/v1/events/stream"}
        assert {one.headers["accept"] for one in server.seen} == {"text/event-stream"}


def test_begins_after_an_event_that_was_seen() -> None:
    with answering(stream(BEGIN, event("e-8"))) as server, Trunkline(server.url) as client:
        assert next(client.admin_stream_events(last_event_id="e-7")).id == "e-8"
        assert last_ids(server.seen) == ["e-7"]
        assert server.seen[0].path == "/v1/admin/events/stream"


def test_asks_for_the_current_token_at_each_connection() -> None:
    tokens = iter(["first", "second"])
    with answering(stream(BEGIN), stream(event("e-1"))) as server, Trunkline(server.url, lambda: next(tokens)) as client:
        next(client.stream_events())
        assert [one.headers["authorization"] for one in server.seen] == ["Bearer first", "Bearer second"]


def test_raises_what_the_service_refuses() -> None:
    expired = problem(401, "auth.token_expired")
    with answering(stream(BEGIN, event("e-1")), expired) as server, Trunkline(server.url) as client:
        events = client.stream_events()
        next(events)
        with pytest.raises(ProblemError) as refused:
            next(events)
        assert refused.value.code == "auth.token_expired"


def test_gives_up_if_the_first_connection_fails() -> None:
    with answering(hang_up) as server, Trunkline(server.url, max_retries=1) as client:
        with pytest.raises(NetworkError):
            next(client.stream_events())
        assert len(server.seen) == 2


def test_is_followed_with_asyncio() -> None:
    async def main(url: str) -> list[str]:
        async with AsyncTrunkline(url) as client, aclosing(client.stream_events()) as events:
            return [(await anext(events)).id for _ in range(2)]

    with answering(stream(BEGIN, event("e-1")), stream(event("e-2"))) as server:
        assert asyncio.run(main(server.url)) == ["e-1", "e-2"]
        assert last_ids(server.seen) == [None, "e-1"]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("size", [1, 2, 3, 1000])
def test_reads_lines_however_they_end_and_arrive(end: str, size: int) -> None:
    following = Following("http://127.0.0.1:9/v1", "/events/stream", None, 3)
    text = f": hello{end}retry: 7{end}id: 0{end}{end}id:1{end}data:a{end}data: b{end}{end}event: x{end}{end}data: c{end}{end}"
    content = text.encode()
    found = [data for at in range(0, len(content), size) for data in following.feed(content[at : at + size])]
    assert (found, following.last_event_id) == (["a\nb", "c"], "1")
