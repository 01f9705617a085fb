"""What the client raises. All of it is a `TrunklineError`."""

from __future__ import annotations

import re
import time
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple

import httpx


class TrunklineError(Exception):
    """Anything that this package raises."""


class NetworkError(TrunklineError):
    """The service could not be reached, or did not answer in time. `__cause__` has the details."""

    def __init__(self, message: str, *, timed_out: bool) -> None:
        super().__init__(message)
        self.timed_out = timed_out


class InvalidParam(NamedTuple):
    """A field of the request that is not valid."""

    name: str
    reason: str


class ProblemError(TrunklineError):
    """The service refused the request. Branch on `code`, which is stable; `detail` is for people."""

    status: int
    """HTTP status of the response."""
    code: str
    """Problem code such as `validation.failed`; `unknown` if something before the service answered."""
    detail: str | None
    """What is wrong with this request."""
    errors: list[InvalidParam]
    """The fields that are not valid, with `validation.failed`."""
    request_id: str | None
    """Id of the request; quote it when you contact support."""
    retry_after: float | None
    """Seconds to wait before the next try, if the service named them."""
    problem: dict[str, Any]
    """The problem as it was sent, with the members that belong to its code."""

    def __init__(self, response: httpx.Response) -> None:
        problem = parse(response)
        self.status = response.status_code
        self.problem = problem
        self.code = re.split("[:#/]", problem.get("type", ""))[-1] or "unknown"
        self.detail = problem.get("detail")
        self.errors = [InvalidParam(one["name"], one["reason"]) for one in problem.get("invalid_params") or []]
        self.request_id = problem.get("request_id") or response.headers.get("x-request-id")
        self.retry_after = problem.get("retry_after")
        if self.retry_after is None:
            self.retry_after = seconds_of(response.headers.get("retry-after"))
        told = self.detail or problem.get("title") or response.text[:200]
        super().__init__(f"{self.status} {self.code}: {told}")


def parse(response: httpx.Response) -> dict[str, Any]:
    try:
        problem = response.json()
    except ValueError:
        return {}
    return problem if isinstance(problem, dict) and isinstance(problem.get("type"), str) else {}


def seconds_of(retry_after: str | None) -> float | None:
    """Retry-After in seconds; it may be a date (RFC 9110)."""
    if not retry_after:
        return None
    if retry_after.strip().isdecimal():
        return float(retry_after)
    try:
        return max(0.0, parsedate_to_datetime(retry_after).timestamp() - time.time())
    except ValueError:
        return None
