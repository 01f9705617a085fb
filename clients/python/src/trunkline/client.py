"""The client for programs without asyncio."""

from __future__ import annotations

import json as json_text
import time
from collections.abc import Callable, Generator, Mapping
from pathlib import Path
from typing import Any, Self

import httpx

from ._codec import decode
from ._core import (
    DEFAULT_MAX_RETRIES,
    DEFAULT_TIMEOUT_SECONDS,
    VERSION,
    Call,
    checked,
    make_call,
    network_error,
    result_of,
    signed_link,
)
from ._events import Following
from ._retry import retry_delay
from .errors import NetworkError, ProblemError
from .generated.operations import Api

Token = str | Callable[[], str]


class Trunkline(Api):
    """Client of the Trunkline API: a method for every operation. May be shared by threads."""

    def __init__(
        self,
        base_url: str,
        token: Token | None = None,
        *,
        timeout: float = DEFAULT_TIMEOUT_SECONDS,
        max_retries: int = DEFAULT_MAX_RETRIES,
        http_client: httpx.Client | None = None,
    ) -> None:
        """Creates a client.

        Args:
            base_url: Base URL of the API with its version, such as `https://voice.example.com/v1`.
            token: API key (`tl_live_…`) or access token, or a function that returns the current one.
            timeout: Seconds for each try of a call.
            max_retries: How often a call is tried again.
            http_client: An httpx client of your own, for proxies or certificates. It is not closed.
        """
        self.base_url = base_url.rstrip("/")
        self._token = token
        self._timeout = timeout
        self._max_retries = max_retries
        self._owns_http = http_client is None
        self._http = http_client or httpx.Client(headers={"User-Agent": f"trunkline-python/{VERSION}"})

    def with_options(
        self, *, token: Token | None = None, timeout: float | None = None, max_retries: int | None = None
    ) -> Trunkline:
        """A client with other options that uses the same connections."""
        return Trunkline(
            self.base_url,
            self._token if token is None else token,
            timeout=self._timeout if timeout is None else timeout,
            max_retries=self._max_retries if max_retries is None else max_retries,
            http_client=self._http,
        )

    def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        json: Mapping[str, Any] | None = None,
        headers: Mapping[str, str | None] | None = None,
        idempotency_key: str | None = None,
    ) -> httpx.Response:
        """Sends a request as the methods do and returns the response, for its headers such as `ETag`."""
        call = make_call(
            self.base_url, method, path, query=query, json=json, headers=headers, idempotency_key=idempotency_key
        )
        return self._execute(call)

    def download(self, url: str) -> bytes:
        """Fetches a signed link such as `pdf_url` or `download_url`. The token is not sent."""
        return self._execute(signed_link(self.base_url, url)).content

    def download_to(self, url: str, path: str | Path) -> None:
        """Fetches a signed link to a file, however large."""
        try:
            with self._http.stream(**signed_link(self.base_url, url).arguments(None), timeout=self._timeout) as response:
                if response.status_code >= 400:
                    response.read()
                checked(response)
                with open(path, "wb") as file:
                    for chunk in response.iter_bytes():
                        file.write(chunk)
        except httpx.TransportError as cause:
            raise network_error(cause) from cause

    def close(self) -> None:
        if self._owns_http:
            self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _result(self, call: Call, result: Any) -> Any:
        return result_of(self._execute(call), result)

    def _stream(self, path: str, event: Any, last_event_id: str | None) -> Generator[Any, None, None]:
        following = Following(self.base_url, path, last_event_id, self._max_retries)
        while True:
            failure: NetworkError | ProblemError | None = None
            try:
                for data in self._follow(following):
                    yield decode(event, json_text.loads(data))
            except (NetworkError, ProblemError) as caught:
                failure = caught
            time.sleep(following.pause(failure))

    def _follow(self, following: Following) -> Generator[str, None, None]:
        """The data of the events of one connection."""
        token = self._token() if callable(self._token) else self._token
        timeout = following.timeout(self._timeout)
        try:
            with self._http.stream(**following.call().arguments(token), timeout=timeout) as response:
                if response.status_code >= 400:
                    response.read()
                checked(response)
                following.connected()
                for chunk in response.iter_bytes():
                    yield from following.feed(chunk)
        except httpx.TransportError as cause:
            raise network_error(cause) from cause

    def _execute(self, call: Call) -> httpx.Response:
        tries = 0
        while True:
            try:
                return self._attempt(call)
            except (NetworkError, ProblemError) as failure:
                delay = retry_delay(failure, tries, repeatable=call.repeatable) if tries < self._max_retries else None
                if delay is None:
                    raise
            tries += 1
            time.sleep(delay)

    def _attempt(self, call: Call) -> httpx.Response:
        token = self._token() if callable(self._token) else self._token
        try:
            return checked(self._http.request(**call.arguments(token), timeout=self._timeout))
        except httpx.TransportError as cause:
            raise network_error(cause) from cause
