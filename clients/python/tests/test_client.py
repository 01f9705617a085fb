"""The client against a server that misbehaves."""

from __future__ import annotations

import asyncio
import datetime as dt
import io
import json
import re
import time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from answering import Answer, Seen, answering, hang_up, problem, reply, reply_json, stay_silent
from trunkline import AsyncTrunkline, NetworkError, ProblemError, Trunkline, models

TRUNK = {
    "id": "0198c0de-7a3b-7c4d-8e5f-001122334455",
    "name": "Main",
    "zone": "eu-west",
    "channel_cap": 10,
    "cps_limit": None,
    "is_default": True,
    "inbound_uri": None,
    "allowed_inbound_host": None,
    "sip_endpoint_hint": None,
    "created_at": "2026-01-31T12:00:00.123456789Z",
}
CDR = {
    "id": "1",
    "call_id": "a@b",
    "leg": "termination",
    "started_at": "2026-01-31T12:00:00Z",
    "answered_at": None,
    "ended_at": None,
    "duration_seconds": 7,
    "calling": "+31201234567",
    "called": "+4930123456",
    "country": "DE",
    "destination_name": "Germany",
    "status": "answered",
    "customer_charge": {"amount_minor": 1, "amount": "0.0045", "currency": "EUR"},
    "trunk_id": TRUNK["id"],
    "a_field_of_the_future": {"x": 1},
}
BUSY = problem(503, "service.unavailable", {"Retry-After": "0"})
KEY = re.compile("^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$")


def page(items: list[Any], cursor: str | None) -> Answer:
    return reply_json(200, {"data": items, "meta": {"next_cursor": cursor, "limit": 50}})


def create(client: Trunkline, **more: Any) -> models.Trunk:
    return client.create_trunk(name="Main", zone="eu-west", channel_cap=10, **more)


def keys(seen: list[Seen]) -> list[str]:
    return [one.headers["idempotency-key"] for one in seen]


def test_sends_token_path_query_and_body() -> None:
    with answering(reply_json(200, TRUNK), page([], None)) as server, Trunkline(server.url + "/", "tl_test_key") as client:
        client.update_trunk("a/b", cps_limit=None, if_match='"1"')
        list(client.list_cdrs(from_=dt.datetime(2026, 1, 31, tzinfo=dt.UTC), status="answered", limit=2))
        patch, listing = server.seen
        assert (patch.path, patch.body) == ("/v1/trunks/a%2Fb", b'{"cps_limit":null}')
        assert patch.headers["authorization"] == "Bearer tl_test_key"
        assert patch.headers["if-match"] == '"1"'
        assert listing.path == "/v1/cdrs?from=2026-01-31T00%3A00%3A00%2B00%3A00&status=answered&limit=2"
        assert listing.headers["idempotency-key"] is None


def test_decodes_times_money_and_what_it_does_not_know() -> None:
    with answering(page([CDR], None)) as server, Trunkline(server.url) as client:
        cdr = client.list_cdrs().first()
        assert cdr is not None
        assert cdr.started_at == dt.datetime(2026, 1, 31, 12, tzinfo=dt.UTC)
        assert cdr.customer_charge.amount == Decimal("0.0045")
        assert cdr.answered_at is None


def test_tells_apart_what_an_operation_may_answer() -> None:
    second_step = {"status": "2fa_required", "tmp_token": "t"}
    with answering(reply_json(200, second_step)) as server, Trunkline(server.url) as client:
        answer = client.sign_in(email="ada@carrier.example", password="correct horse battery staple")
        assert answer == models.SignInTwoFaRequired(status="2fa_required", tmp_token="t")


def test_refuses_a_time_without_a_zone() -> None:
    with Trunkline("http://127.0.0.1:9/v1") as client, pytest.raises(ValueError, match="no time zone"):
        list(client.list_cdrs(to=dt.datetime(2026, 1, 31)))


def test_retries_with_the_same_idempotency_key() -> None:
    with answering(hang_up, BUSY, reply_json(201, TRUNK)) as server, Trunkline(server.url) as client:
        assert create(client).name == "Main"
        assert len(server.seen) == 3
        assert len(set(keys(server.seen))) == 1
        assert KEY.match(keys(server.seen)[0])


def test_keeps_the_callers_key_and_chooses_another_for_another_call() -> None:
    key = "3f0d6bd5-9f1c-4b6e-8f2c-3f3a3f7f0b11"
    with answering(reply_json(201, TRUNK)) as server, Trunkline(server.url) as client:
        create(client, idempotency_key=key)
        create(client)
        create(client)
        assert keys(server.seen)[0] == key
        assert len(set(keys(server.seen))) == 3


def test_waits_as_long_as_retry_after_says() -> None:
    limited = problem(429, "rate_limited", {"Retry-After": "1"}, retry_after=1)
    with answering(limited, reply_json(200, TRUNK)) as server, Trunkline(server.url) as client:
        begun = time.monotonic()
        client.get_trunk("1")
        assert time.monotonic() - begun >= 0.99


def test_waits_for_a_request_with_the_same_key_that_is_still_running() -> None:
    running = problem(409, "idempotency.in_progress", {"Retry-After": "0"})
    with answering(running, reply_json(201, TRUNK)) as server, Trunkline(server.url) as client:
        create(client)
        assert len(server.seen) == 2


def test_does_not_wait_for_more_than_a_minute() -> None:
    with answering(problem(429, "rate_limited", retry_after=3600)) as server, Trunkline(server.url) as client:
        with pytest.raises(ProblemError) as refused:
            client.get_trunk("1")
        assert refused.value.retry_after == 3600
        assert len(server.seen) == 1


def test_does_not_repeat_a_lost_sign_in_which_has_no_key() -> None:
    with answering(hang_up) as server, Trunkline(server.url) as client:
        with pytest.raises(NetworkError) as lost:
            client.sign_in(email="ada@carrier.example", password="correct horse battery staple")
        assert not lost.value.timed_out
        assert len(server.seen) == 1
        assert server.seen[0].headers["idempotency-key"] is None


def test_gives_up_after_the_last_retry_and_at_once_on_other_problems() -> None:
    with answering(BUSY) as server, Trunkline(server.url, max_retries=1) as client:
        with pytest.raises(ProblemError) as refused:
            client.get_trunk("1")
        assert (refused.value.status, len(server.seen)) == (503, 2)
    with answering(problem(500, "internal")) as server, Trunkline(server.url) as client:
        with pytest.raises(ProblemError) as refused:
            client.get_trunk("1")
        assert (refused.value.code, len(server.seen)) == ("internal", 1)


def test_raises_a_problem_with_its_code_fields_and_request_id() -> None:
    invalid = problem(
        422, "validation.failed", detail="Not valid.", invalid_params=[{"name": "zone", "reason": "is required"}]
    )
    with answering(invalid) as server, Trunkline(server.url) as client:
        with pytest.raises(ProblemError) as refused:
            create(client)
        assert (refused.value.code, refused.value.detail) == ("validation.failed", "Not valid.")
        assert refused.value.errors == [("zone", "is required")]
        assert refused.value.request_id == "req-1"


def test_raises_what_a_proxy_answers() -> None:
    with answering(reply(403, b"<h1>No</h1>", {"Content-Type": "text/html"})) as server, Trunkline(server.url) as client:
        with pytest.raises(ProblemError) as refused:
            client.get_account()
        assert (refused.value.status, refused.value.code) == (403, "unknown")


def test_iterates_over_all_pages() -> None:
    pages = [page([CDR, CDR], "b"), page([], "c"), page([CDR], None)]
    with answering(*pages) as server, Trunkline(server.url) as client:
        assert len(list(client.list_cdrs(status="answered"))) == 3
        assert [one.path for one in server.seen] == [
            "/v1/cdrs?status=answered",
            "/v1/cdrs?status=answered&cursor=b",
            "/v1/cdrs?status=answered&cursor=c",
        ]
    with answering(*pages) as server, Trunkline(server.url) as client:
        assert client.list_cdrs().first() is not None
        assert len(server.seen) == 1


def test_reads_the_other_envelopes() -> None:
    row = {"id": 7, "action": "account.update"}
    with answering(reply_json(200, {"rows": [row], "next_cursor": "b"}), reply_json(200, {"rows": [row]})) as server:
        with Trunkline(server.url) as client:
            assert [entry.action for entry in client.list_audit_log_entries()] == ["account.update"] * 2


def test_stops_where_the_cursor_repeats() -> None:
    with answering(page([CDR], "b"), page([], "b")) as server, Trunkline(server.url) as client:
        assert len(list(client.list_cdrs())) == 1
        assert len(server.seen) == 2


def test_times_out() -> None:
    with answering(stay_silent) as server, Trunkline(server.url, timeout=0.1, max_retries=0) as client:
        with pytest.raises(NetworkError) as late:
            client.get_account()
        assert late.value.timed_out


def test_sends_forms_and_csv_as_they_are(tmp_path: Path) -> None:
    created = reply_json(201, {})
    (tmp_path / "extract.pdf").write_bytes(b"%PDF-1.7")
    with answering(hang_up, created) as server, Trunkline(server.url) as client:
        client.upload_kyb_document(doc_kind="company_registration", file=tmp_path / "extract.pdf")
        client.upload_vat_evidence(file=io.BytesIO(b"%PDF-1.7"))
        client.import_rate_deck("1", dry_run=True, body="prefix,rate\n")
        client.import_rate_deck("1")
        first, again, evidence, deck, pulled = server.seen
        assert first.headers["content-type"].startswith("multipart/form-data; boundary=")
        for upload in (first, again):
            assert b'filename="extract.pdf"' in upload.body and b"company_registration" in upload.body
        assert b"%PDF-1.7" in evidence.body
        assert (deck.headers["content-type"], deck.body) == ("text/csv", b"prefix,rate\n")
        assert deck.path.endswith("?dry_run=true")
        assert pulled.body == b""


def test_downloads_without_the_token(tmp_path: Path) -> None:
    with answering(reply(200, b"%PDF"), reply(200, b"%PDF"), reply(204)) as server:
        turn = iter(range(9))
        with Trunkline(server.url, lambda: f"token-{next(turn)}") as client:
            assert client.download("/v1/files/abc") == b"%PDF"
            client.download_to(f"{server.url}/files/abc", tmp_path / "file.pdf")
            client.delete_trunk("1")
        assert (tmp_path / "file.pdf").read_bytes() == b"%PDF"
        assert [one.headers["authorization"] for one in server.seen[:2]] == [None, None]
        assert server.seen[0].path == "/v1/files/abc"
        assert server.seen[2].headers["authorization"].startswith("Bearer token-")


def test_returns_the_response_for_its_headers() -> None:
    with answering(reply_json(200, TRUNK, {"ETag": '"7"'})) as server, Trunkline(server.url) as client:
        assert client.request("GET", "/trunks/1").headers["etag"] == '"7"'


def test_does_the_same_with_asyncio(tmp_path: Path) -> None:
    async def use(url: str) -> None:
        async def token() -> str:
            return "tl_test_key"

        async with AsyncTrunkline(url, token) as client:
            made = await client.create_trunk(name="Main", zone="eu-west", channel_cap=10)
            assert made.created_at.year == 2026
            assert [cdr.id async for cdr in client.list_cdrs()] == ["1", "1"]
            assert await client.list_cdrs().first() is not None
            await client.download_to("/v1/files/abc", tmp_path / "file.pdf")
            with pytest.raises(ProblemError, match="validation.failed"):
                await client.with_options(timeout=5).get_trunk("1")

    invalid = problem(422, "validation.failed")
    answers = [hang_up, BUSY, reply_json(201, TRUNK), page([CDR], "b"), page([CDR], None), page([CDR], None)]
    with answering(*answers, reply(200, b"%PDF"), invalid) as server:
        asyncio.run(use(server.url))
        assert len(set(keys(server.seen[:3]))) == 1
        assert json.loads(server.seen[2].body) == {"name": "Main", "zone": "eu-west", "channel_cap": 10}
        assert server.seen[0].headers["authorization"] == "Bearer tl_test_key"
        assert (tmp_path / "file.pdf").read_bytes() == b"%PDF"
