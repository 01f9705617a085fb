"""What the sync and the async client share: how a call becomes a request, and a response a result."""

from __future__ import annotations

import os
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, BinaryIO, Final
from urllib.parse import quote

import httpx

from ._codec import decode, encode, text_of
from .errors import NetworkError, ProblemError

VERSION = "0.2.0"
DEFAULT_TIMEOUT_SECONDS = 30.0
DEFAULT_MAX_RETRIES = 3

FileInput = bytes | BinaryIO | os.PathLike[str]
"""A file to upload: its bytes, an open file or a path."""


class Unset:
    """The type of `UNSET`."""

    def __repr__(self) -> str:
        return "UNSET"


UNSET: Final = Unset()
"""Leaves a field as it is; None clears it."""


def segment(value: str) -> str:
    """A part of a path."""
    if not value:
        raise ValueError("a part of the path is empty")
    return quote(str(value), safe="")


@dataclass(frozen=True, slots=True)
class Call:
    """A request that may be sent several times. The key is the same each time."""

    method: str
    url: str
    params: list[tuple[str, str]] = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=dict)
    content: bytes | None = None
    data: dict[str, str] | None = None
    files: dict[str, tuple[str, bytes]] | None = None
    repeatable: bool = True
    is_signed_link: bool = False

    def arguments(self, token: str | None) -> dict[str, Any]:
        """The arguments of `httpx.Client.request`."""
        headers = dict(self.headers)
        if token and not self.is_signed_link:
            headers["Authorization"] = f"Bearer {token}"
        return {
            "method": self.method,
            "url": self.url,
            "params": self.params or None,
            "headers": headers,
            "content": self.content,
            "data": self.data,
            "files": self.files,
            "follow_redirects": self.is_signed_link,
        }


class Operations:
    """What the generated methods are built on."""

    base_url: str

    def _send(self, method: str, path: str, result: Any, **parts: Any) -> Any:
        """Sends a request and returns its result; the async client returns an awaitable of it."""
        return self._result(make_call(self.base_url, method, path, **parts), result)

    def _page(self, path: str, query: Mapping[str, Any]) -> Any:
        """Gets a page of a list; the async client returns an awaitable of it."""
        return self._send("GET", path, dict[str, Any], query=query)

    def _result(self, call: Call, result: Any) -> Any:
        raise NotImplementedError

    def _stream(self, path: str, event: Any, last_event_id: str | None) -> Any:
        """Follows a stream of events; the async client returns an async generator."""
        raise NotImplementedError


def make_call(
    base_url: str,
    method: str,
    path: str,
    *,
    query: Mapping[str, Any] | None = None,
    json: Mapping[str, Any] | None = None,
    form: Mapping[str, Any] | None = None,
    optional: Mapping[str, Any] | None = None,
    may_be_empty: bool = False,
    whole: Any = UNSET,
    content: str | bytes | None = None,
    idempotency_key: str | None = None,
    keyed: bool = True,
    headers: Mapping[str, str | None] | None = None,
) -> Call:
    """A call of an operation.

    Its body is `json` or `form` with what is given of `optional`, the `whole` of something that is not flat, or the
    `content` of a file.
    """
    given = {name: value for name, value in (headers or {}).items() if value is not None}
    if method != "GET" and keyed:
        given["Idempotency-Key"] = idempotency_key or str(uuid.uuid4())
    call = Call(
        method,
        base_url + path,
        [(name, text_of(value)) for name, value in (query or {}).items() if value is not None],
        given,
        repeatable=method == "GET" or keyed,
    )
    rest = {name: value for name, value in (optional or {}).items() if is_given(value, method)}
    if form is not None:
        return with_form(call, {**form, **rest})
    if content is not None:
        return with_content(call, content.encode() if isinstance(content, str) else content, "text/csv")
    if whole is not UNSET:
        return call if whole is None else with_content(call, encode(whole), "application/json")
    body = {**(json or {}), **rest}
    if json is None or (may_be_empty and not body):
        return call
    return with_content(call, encode(body), "application/json")


def signed_link(base_url: str, url: str) -> Call:
    """A download, which needs no token and may be redirected."""
    return Call("GET", str(httpx.URL(base_url).join(url)), is_signed_link=True)


def is_given(value: Any, method: str) -> bool:
    """In a PATCH None clears a field; elsewhere it is the same as nothing."""
    return value is not UNSET and (value is not None or method == "PATCH")


def with_content(call: Call, content: bytes, media_type: str) -> Call:
    headers = {**call.headers, "Content-Type": media_type}
    return Call(call.method, call.url, call.params, headers, content, repeatable=call.repeatable)


def with_form(call: Call, form: Mapping[str, Any]) -> Call:
    data = {name: value for name, value in form.items() if isinstance(value, str)}
    files = {name: read_file(value) for name, value in form.items() if not isinstance(value, str)}
    return Call(call.method, call.url, call.params, call.headers, data=data, files=files, repeatable=call.repeatable)


def read_file(file: FileInput) -> tuple[str, bytes]:
    """Name and content, read at once so that it can be sent again."""
    if isinstance(file, bytes):
        return "file", file
    if isinstance(file, os.PathLike):
        with open(file, "rb") as opened:
            return os.path.basename(file), opened.read()
    return os.path.basename(str(getattr(file, "name", "file"))), file.read()


def checked(response: httpx.Response) -> httpx.Response:
    """The response, unless it tells of a problem."""
    if response.status_code >= 400:
        raise ProblemError(response)
    return response


def network_error(cause: httpx.TransportError) -> NetworkError:
    timed_out = isinstance(cause, httpx.TimeoutException)
    return NetworkError(str(cause) or type(cause).__name__, timed_out=timed_out)


def result_of(response: httpx.Response, result: Any) -> Any:
    if result is None or response.status_code == 204:
        return None
    return response.content if result is bytes else decode(result, response.json())
