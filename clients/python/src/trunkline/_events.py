"""Server-sent events: what the sync and the async client share of following a stream."""

from __future__ import annotations

import re
from collections.abc import Iterator

import httpx

from ._core import Call, make_call
from ._retry import FIRST_DELAY_SECONDS, reconnect_delay, retry_delay
from .errors import NetworkError, ProblemError

LONGEST_SILENCE_SECONDS = 45.0
"""The service says every 15 seconds that it is alive."""
LINE_END = re.compile(b"\r\n|\n|\r")


class Following:
    """A stream over all its connections: what was seen last, and when to connect again."""

    def __init__(self, base_url: str, path: str, last_event_id: str | None, max_retries: int) -> None:
        self.last_event_id = last_event_id
        self._base_url = base_url
        self._path = path
        self._max_retries = max_retries
        self._was_connected = False
        self._tries = 0
        self._retry_seconds = FIRST_DELAY_SECONDS
        self.begin()

    def call(self) -> Call:
        """The request of the next connection."""
        headers = {"Accept": "text/event-stream", "Last-Event-ID": self.last_event_id}
        return make_call(self._base_url, "GET", self._path, headers=headers)

    @staticmethod
    def timeout(seconds: float) -> httpx.Timeout:
        return httpx.Timeout(seconds, read=max(seconds, LONGEST_SILENCE_SECONDS))

    def begin(self) -> None:
        """Forgets the part of an event that the last connection lost."""
        self._rest = b""
        self._ended_in_cr = False
        self._id = self.last_event_id
        self._data: list[str] = []

    def connected(self) -> None:
        self.begin()
        self._was_connected = True

    def feed(self, chunk: bytes) -> Iterator[str]:
        """The data of each event that these bytes complete."""
        self._tries = 0
        if self._ended_in_cr and chunk.startswith(b"\n"):
            chunk = chunk[1:]
        self._ended_in_cr = chunk.endswith(b"\r")
        *lines, self._rest = LINE_END.split(self._rest + chunk)
        for line in lines:
            if line:
                self._read_field(line.decode(errors="replace"))
                continue
            # An id counts in a block without data too: the stream begins with one.
            self.last_event_id = self._id
            if self._data:
                data, self._data = "\n".join(self._data), []
                yield data

    def _read_field(self, line: str) -> None:
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        match name:
            case "data":
                self._data.append(value)
            case "id" if value and "\0" not in value:
                self._id = value
            case "retry" if value.isascii() and value.isdecimal():
                self._retry_seconds = int(value) / 1000

    def pause(self, failure: NetworkError | ProblemError | None) -> float:
        """Seconds until the next connection; raises what another try would not mend.

        A stream that has been open is followed without end, since a service may be down for long.
        """
        if self._was_connected:
            delay = reconnect_delay(failure, self._tries, self._retry_seconds)
        elif failure is not None and self._tries < self._max_retries:
            delay = retry_delay(failure, self._tries, repeatable=True)
        else:
            delay = None
        self._tries += 1
        if delay is None:
            raise failure or NetworkError("the stream ended at once", timed_out=False)
        return delay
