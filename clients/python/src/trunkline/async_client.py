"""The client for asyncio and trio."""

from __future__ import annotations

import inspect
import json as json_text
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from pathlib import Path
from typing import Any, Self

import anyio
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
from .generated.async_operations import AsyncApi

AsyncToken = str | Callable[[], str | Awaitable[str]]


class AsyncTrunkline(AsyncApi):
    """Client of the Trunkline API: a method to await for every operation."""

    def __init__(
        self,
        base_url: str,
        token: AsyncToken | None = None,
        *,
        timeout: float = DEFAULT_TIMEOUT_SECONDS,
        max_retries: int = DEFAULT_MAX_RETRIES,
        http_client: httpx.AsyncClient | None = None,
    ) -> None:
        """Creates a client.

        Args:
            base_url: Base URL of the API with its version, such as `https://voice.example.com/v1`.
            token: API key (`tl_live_…`) or access token, or a function that returns the current one or awaits it.
            timeout: Seconds for each try of a call.
            max_retries: How often a call is tried again.
            http_client: An httpx client of your own, for proxies or certificates. It is not closed.
        """
        self.base_url = base_url.rstrip("/")
        self._token = token
        self._timeout = timeout
        self._max_retries = max_retries
        self._owns_http = http_client is None
        self._http = http_client or httpx.AsyncClient(headers={"User-Agent": f"trunkline-python/{VERSION}"})

    def with_options(
        self, *, token: AsyncToken | None = None, timeout: float | None = None, max_retries: int | None = None
    ) -> AsyncTrunkline:
        """A client with other options that uses the same connections."""
        return AsyncTrunkline(
            self.base_url,
            self._token if token is None else token,
            timeout=self._timeout if timeout is None else timeout,
            max_retries=self._max_retries if max_retries is None else max_retries,
            http_client=self._http,
        )

    async def request(
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
        return await self._execute(call)

    async def download(self, url: str) -> bytes:
        """Fetches a signed link such as `pdf_url` or `download_url`. The token is not sent."""
        return (await self._execute(signed_link(self.base_url, url))).content

    async def download_to(self, url: str, path: str | Path) -> None:
        """Fetches a signed link to a file, however large."""
        try:
            async with self._http.stream(**signed_link(self.base_url, url).arguments(None), timeout=self._timeout) as response:
                if response.status_code >= 400:
                    await response.aread()
                checked(response)
                async with await anyio.open_file(path, "wb") as file:
                    async for chunk in response.aiter_bytes():
                        await file.write(chunk)
        except httpx.TransportError as cause:
            raise network_error(cause) from cause

    async def close(self) -> None:
        if self._owns_http:
            await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _result(self, call: Call, result: Any) -> Any:
        return result_of(await self._execute(call), result)

    async def _stream(self, path: str, event: Any, last_event_id: str | None) -> AsyncGenerator[Any, None]:
        following = Following(self.base_url, path, last_event_id, self._max_retries)
        while True:
            failure: NetworkError | ProblemError | None = None
            try:
                async with aclosing(self._follow(following)) as events:
                    async for data in events:
                        yield decode(event, json_text.loads(data))
            except (NetworkError, ProblemError) as caught:
                failure = caught
            await anyio.sleep(following.pause(failure))

    async def _follow(self, following: Following) -> AsyncGenerator[str, None]:
        """The data of the events of one connection."""
        token = await self._current_token()
        timeout = following.timeout(self._timeout)
        try:
            async with self._http.stream(**following.call().arguments(token), timeout=timeout) as response:
                if response.status_code >= 400:
                    await response.aread()
                checked(response)
                following.connected()
                async for chunk in response.aiter_bytes():
                    for data in following.feed(chunk):
                        yield data
        except httpx.TransportError as cause:
            raise network_error(cause) from cause

    async def _execute(self, call: Call) -> httpx.Response:
        tries = 0
        while True:
            try:
                return await self._attempt(call)
            except (NetworkError, ProblemError) as failure:
                delay = retry_delay(failure, tries, repeatable=call.repeatable) if tries < self._max_retries else None
                if delay is None:
                    raise
            tries += 1
            await anyio.sleep(delay)

    async def _attempt(self, call: Call) -> httpx.Response:
        arguments = call.arguments(await self._current_token())
        try:
            return checked(await self._http.request(**arguments, timeout=self._timeout))
        except httpx.TransportError as cause:
            raise network_error(cause) from cause

    async def _current_token(self) -> str | None:
        token = self._token() if callable(self._token) else self._token
        return await token if inspect.isawaitable(token) else token
