"""When a call is tried again, and after how long."""

from __future__ import annotations

import random

from .errors import NetworkError, ProblemError, TrunklineError

TRANSIENT = {429, 502, 503, 504}
"""Statuses of a service, or a proxy before it, that will soon work again."""
NOT_CARRIED_OUT = {429, 503}
"""Those that say that the request was not carried out."""

FIRST_DELAY_SECONDS = 0.5
LONGEST_BACKOFF_SECONDS = 8.0
LONGEST_WAIT_SECONDS = 60.0
"""A service that asks for more patience than this is not waited for."""
LONGEST_PAUSE_SECONDS = 30.0
"""Between two connections of a stream."""


def retry_delay(failure: TrunklineError, tries: int, *, repeatable: bool) -> float | None:
    """Seconds to wait before the next try, or None if there should be none.

    Without an idempotency key only what surely did not happen is tried again.
    """
    if not may_repeat(failure, repeatable):
        return None
    asked = (failure.retry_after or 0.0) if isinstance(failure, ProblemError) else 0.0
    if asked > LONGEST_WAIT_SECONDS:
        return None
    backoff = min(FIRST_DELAY_SECONDS * 2.0**tries, LONGEST_BACKOFF_SECONDS) * random.uniform(0.5, 1.0)
    return max(asked, backoff)


def reconnect_delay(failure: TrunklineError | None, tries: int, first: float) -> float | None:
    """Seconds to wait before a stream is followed on, or None if the service refuses it.

    `tries` counts the connections since the last one that brought anything, `first` is the pause that the service asked for.
    """
    if failure is not None and not may_repeat(failure, repeatable=True):
        return None
    asked = (failure.retry_after or 0.0) if isinstance(failure, ProblemError) else 0.0
    backoff = min(first * 2.0 ** min(tries, 10), LONGEST_PAUSE_SECONDS) * random.uniform(0.5, 1.0)
    return max(min(asked, LONGEST_WAIT_SECONDS), backoff)


def may_repeat(failure: TrunklineError, repeatable: bool) -> bool:
    if isinstance(failure, NetworkError):
        return repeatable
    if not isinstance(failure, ProblemError):
        return False
    if failure.code == "idempotency.in_progress":
        return True
    return failure.status in (TRANSIENT if repeatable else NOT_CARRIED_OUT)
