"""Webhooks: the vectors that all clients share, and the standardwebhooks package in both directions."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from typing import Any

import pytest
from standardwebhooks import Webhook
from standardwebhooks import WebhookVerificationError as TheirError
from trunkline import WebhookVerificationError, sign_webhook, verify_webhook

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
EVENT = {"id": "evt_1", "type": "topup.completed", "timestamp": "2026-01-31T12:00:00Z", "data": {"company": "Café"}}
BODY = json.dumps(EVENT, ensure_ascii=False)
VECTORS = json.loads((Path(__file__).parents[2] / "webhook-vectors.json").read_text(encoding="utf-8"))["vectors"]


@pytest.mark.parametrize("vector", VECTORS, ids=[vector["name"] for vector in VECTORS])
def test_vector(vector: dict[str, Any]) -> None:
    names = {"webhook-id": "id", "webhook-timestamp": "timestamp", "webhook-signature": "signature"}
    headers = {header: vector[name] for header, name in names.items() if vector[name] is not None}
    if vector["valid"]:
        assert verify_webhook(vector["body"], headers, vector["secrets"], now=vector["now"]).id == vector["id"]
    else:
        with pytest.raises(WebhookVerificationError):
            verify_webhook(vector["body"], headers, vector["secrets"], now=vector["now"])


def test_signs_the_published_vector_as_published() -> None:
    published = VECTORS[0]
    secret, id, now = published["secrets"][0], published["id"], published["now"]
    headers = sign_webhook(published["body"], secret, id=id, timestamp=now)
    assert headers["webhook-signature"] == published["signature"]


def test_accepts_what_the_standardwebhooks_package_signs() -> None:
    now = dt.datetime.now(dt.UTC)
    signature = Webhook(SECRET).sign("evt_1", now, BODY)
    headers = {"Webhook-Id": "evt_1", "Webhook-Timestamp": str(int(now.timestamp())), "Webhook-Signature": signature}
    event = verify_webhook(BODY.encode(), headers, SECRET)
    assert (event.type, event.data) == ("topup.completed", {"company": "Café"})
    assert event.timestamp == dt.datetime(2026, 1, 31, 12, tzinfo=dt.UTC)


def test_signs_what_the_standardwebhooks_package_accepts() -> None:
    headers = sign_webhook(BODY, SECRET, id="evt_1")
    assert Webhook(SECRET).verify(BODY, headers) == EVENT
    with pytest.raises(TheirError):
        Webhook(SECRET).verify(BODY + " ", headers)


@pytest.mark.parametrize("secret", ["", "whsec_", "whsec_§"])
def test_refuses_a_secret_that_is_none(secret: str) -> None:
    with pytest.raises(ValueError, match="whsec_"):
        sign_webhook(BODY, secret, id="evt_1")


@pytest.mark.parametrize("body", ["[]", "null", "{", '{"timestamp": "noon"}'])
def test_refuses_a_body_that_is_no_event(body: str) -> None:
    with pytest.raises(WebhookVerificationError):
        verify_webhook(body, sign_webhook(body, SECRET, id="evt_1"), SECRET)
