"""Lists that are fetched page by page while they are iterated over."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from ._codec import decode

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """One page of a list."""

    items: list[T]
    next_cursor: str | None
    """Cursor of the next page; None on the last."""
    totals: T | None = None
    """Sums of all pages, where a report has them."""


class Listing(Generic[T]):
    """What both kinds of lists share."""

    def __init__(
        self,
        fetch: Callable[[str, Mapping[str, Any]], Any],
        path: str,
        key: str,
        item: Any,
        query: Mapping[str, Any],
        cursor: str | None,
    ) -> None:
        self._fetch = fetch
        self._path = path
        self._key = key
        self._item = item
        self._query = query
        self._cursor = cursor

    def _request(self, cursor: str | None) -> Any:
        return self._fetch(self._path, {**self._query, "cursor": cursor})

    def _read(self, answer: Mapping[str, Any], cursor: str | None) -> Page[T]:
        following = answer.get("meta", answer).get("next_cursor")
        items = [decode(self._item, value) for value in answer[self._key]]
        # A list that is polled, such as that of events, repeats its cursor at the end.
        return Page(items, following if following != cursor else None, decode(self._item, answer.get("totals")))


class Pager(Listing[T]):
    """A list: iterate over its items, or over its `pages()`."""

    def __iter__(self) -> Iterator[T]:
        for page in self.pages():
            yield from page.items

    def pages(self) -> Iterator[Page[T]]:
        cursor = self._cursor
        while True:
            page = self._read(self._request(cursor), cursor)
            yield page
            if not page.next_cursor:
                return
            cursor = page.next_cursor

    def first(self) -> T | None:
        """The first item, or None."""
        return next(iter(self), None)


class AsyncPager(Listing[T]):
    """A list: iterate over its items with `async for`, or over its `pages()`."""

    async def __aiter__(self) -> AsyncIterator[T]:
        async for page in self.pages():
            for item in page.items:
                yield item

    async def pages(self) -> AsyncIterator[Page[T]]:
        cursor = self._cursor
        while True:
            page = self._read(await self._request(cursor), cursor)
            yield page
            if not page.next_cursor:
                return
            cursor = page.next_cursor

    async def first(self) -> T | None:
        """The first item, or None."""
        async for item in self:
            return item
        return None
