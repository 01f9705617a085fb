"""Webhooks as in Standard Webhooks 1.0: `webhook-signature` holds HMAC-SHA256 over id, timestamp and body."""

from __future__ import annotations

import base64
import binascii
import datetime as dt
import hashlib
import hmac
import json
import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from .errors import TrunklineError

DEFAULT_TOLERANCE_SECONDS = 300
PREFIX = "whsec_"
VERSION = "v1,"


class WebhookVerificationError(TrunklineError):
    """The request is not a webhook of the service, or it is too old. Answer 400 and do nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookEvent:
    """What a webhook tells."""

    id: str
    """Id of the event; the same when a delivery is repeated."""
    type: str
    """Type of the event, such as `topup.completed`."""
    timestamp: dt.datetime | None
    """When it happened."""
    data: dict[str, Any]
    """The resource, or the payload of the notification."""


def verify_webhook(
    body: bytes | str,
    headers: Mapping[str, str],
    secret: str | Iterable[str],
    *,
    tolerance_seconds: float = DEFAULT_TOLERANCE_SECONDS,
    now: float | None = None,
) -> WebhookEvent:
    """Verifies a webhook and returns its event.

    Args:
        body: The body as it arrived, not parsed and serialized again.
        headers: The headers of the request; case does not matter.
        secret: The secret of the endpoint; several while it is being replaced.
        tolerance_seconds: How much the timestamp may differ from now.
        now: The time in Unix seconds, for tests.
    """
    given = {name.lower(): value for name, value in headers.items()}
    id, timestamp = required(given, "webhook-id"), required(given, "webhook-timestamp")
    signatures = required(given, "webhook-signature").split(" ")
    verify_time(timestamp, time.time() if now is None else now, tolerance_seconds)
    secrets = [secret] if isinstance(secret, str) else list(secret)
    expected = [signature_of(one, id, timestamp, body).encode() for one in secrets]
    sent = [signature.encode() for signature in signatures if signature.startswith(VERSION)]
    if not any(hmac.compare_digest(one, other) for one in sent for other in expected):
        raise WebhookVerificationError("no signature matches")
    return parse(body, id)


def sign_webhook(body: bytes | str, secret: str, *, id: str, timestamp: float | None = None) -> dict[str, str]:
    """Signs a webhook as the service does, to test a receiver. Returns the three headers."""
    seconds = str(int(time.time() if timestamp is None else timestamp))
    signature = signature_of(secret, id, seconds, body)
    return {"webhook-id": id, "webhook-timestamp": seconds, "webhook-signature": signature}


def required(headers: Mapping[str, str], name: str) -> str:
    value = headers.get(name)
    if not value:
        raise WebhookVerificationError(f"the header {name} is missing")
    return value


def verify_time(timestamp: str, now: float, tolerance: float) -> None:
    if not re.fullmatch("[0-9]{1,12}", timestamp):
        raise WebhookVerificationError("the timestamp is not a number of seconds")
    age = int(now) - int(timestamp)
    if age > tolerance:
        raise WebhookVerificationError("the timestamp is too old")
    if age < -tolerance:
        raise WebhookVerificationError("the timestamp is in the future")


def signature_of(secret: str, id: str, timestamp: str, body: bytes | str) -> str:
    raw = body.encode() if isinstance(body, str) else body
    digest = hmac.digest(key_of(secret), f"{id}.{timestamp}.".encode() + raw, hashlib.sha256)
    return VERSION + base64.b64encode(digest).decode()


def key_of(secret: str) -> bytes:
    try:
        key = base64.b64decode(secret.removeprefix(PREFIX), validate=True)
    except (binascii.Error, ValueError) as cause:
        raise ValueError("a webhook secret is whsec_ and base64") from cause
    if not key:
        raise ValueError("a webhook secret is whsec_ and base64")
    return key


def parse(body: bytes | str, id: str) -> WebhookEvent:
    try:
        event = json.loads(body)
        if not isinstance(event, dict):
            raise ValueError("not an object")
        timestamp = event.get("timestamp")
        at = dt.datetime.fromisoformat(timestamp) if isinstance(timestamp, str) else None
    except ValueError as cause:
        raise WebhookVerificationError("the body is not an event") from cause
    return WebhookEvent(
        id=str(event.get("id", id)), type=str(event.get("type", "")), timestamp=at, data=event.get("data") or {}
    )
