"""An answer's body: bytes in, the JSON text of each message out, whether it came as JSON or as an event stream."""

import codecs
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from types import TracebackType
from typing import Final, Self

import httpx_sse

from hindsight_bank.deadline import Deadline
from hindsight_bank.errors import BankError, ProtocolError
from hindsight_bank.network import Exchange

JSON: Final = "application/json"
EVENTS: Final = "text/event-stream"

# What is read of a refusal's body, enough for any sentence, and the seconds that it may take: the status says most.
_REFUSAL_BYTES: Final = 16_384
_REFUSAL_SECONDS: Final = 2.0


class Reply:
    """An answer whose headers are here and whose body is still to be read.

    Attributes:
        status: The HTTP status.
        headers: The headers, whatever the case of their names.
        exchange: What the socket knows of this exchange.
        event_id: The id of the last event that came with one.
        retry: The milliseconds that the server wants waited before the stream is resumed, if it says.
    """

    def __init__(
        self,
        status: int,
        headers: Mapping[str, str],
        chunks: Iterator[bytes],
        close: Callable[[], None],
        *,
        exchange: Exchange,
        most_bytes: int,
    ) -> None:
        self.status = status
        self.headers = headers
        self.exchange = exchange
        self.event_id = ""
        self.retry: int | None = None
        self._chunks = chunks
        self._close = close
        self._most_bytes = most_bytes

    def messages(self) -> Iterator[bytes]:
        """Yield the JSON text of each message of a successful answer; drain the answer to its end."""
        encoding = self.headers.get("content-encoding", "identity")
        if encoding.strip().lower() != "identity":
            raise ProtocolError(f"the answer is compressed ({encoding[:40]!r}), which was not asked for")
        media_type = self._media_type()
        if media_type == JSON:
            yield _utf8(b"".join(self._counted()))
        elif media_type == EVENTS:
            for event in self._events():
                self.event_id = event.id or self.event_id
                self.retry = self.retry if event.retry is None else event.retry
                # An event without data primes a resumable stream; other event types are not ours.
                if event.data and event.event in ("", "message"):
                    yield event.data.encode()
        else:
            found = "a web page" if media_type == "text/html" else repr(media_type[:60])
            raise ProtocolError(
                f"the answer is {found}, not JSON or an event stream: this is no MCP endpoint; check the server URL,"
                " and whether a login page or a proxy stands before the server"
            )

    def is_stream(self) -> bool:
        """Tell whether this is a successful answer that is an event stream."""
        return self.status == 200 and self._media_type() == EVENTS  # noqa: PLR2004 - HTTP

    def first_event(self) -> str:
        """Return the type of the first event of a stream, empty if there is none."""
        return next((event.event for event in self._events()), "")

    def refusal(self) -> bytes:
        """Read the beginning of the body of an unsuccessful answer; what cannot be read is not worth an error."""
        body = b""
        left = self.exchange.deadline.remaining()
        self.exchange.deadline = Deadline("reading a refusal", min(_REFUSAL_SECONDS, left))
        with suppress(BankError):
            for chunk in self._chunks:
                body += chunk
                if len(body) > _REFUSAL_BYTES:
                    break
        return body[:_REFUSAL_BYTES]

    def close(self) -> None:
        """Give the connection back, or close it where the answer was not read to its end."""
        self._close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _events(self) -> Iterator[httpx_sse.ServerSentEvent]:
        return httpx_sse.EventSource(_Text(self._counted())).iter_sse()  # type: ignore[arg-type]  # all it uses

    def _media_type(self) -> str:
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    def _counted(self) -> Iterator[bytes]:
        """Yield the body within its bound."""
        total = 0
        for chunk in self._chunks:
            total += len(chunk)
            if total > self._most_bytes:
                raise ProtocolError(
                    f"the answer is larger than {self._most_bytes} bytes; ask for less, or raise max_response_bytes"
                )
            yield chunk


class _Text:
    """Strictly decoded text of an event stream, in the two attributes that `EventSource` asks of a response."""

    headers: Final = {"content-type": EVENTS}

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks

    def iter_text(self) -> Iterator[str]:
        # utf-8-sig: the standard drops one leading byte order mark.
        decoder = codecs.getincrementaldecoder("utf-8-sig")()
        try:
            for chunk in self._chunks:
                if text := decoder.decode(chunk):
                    yield text
        except UnicodeDecodeError:
            raise ProtocolError("the event stream is not UTF-8") from None


def _utf8(body: bytes) -> bytes:
    """Return `body` if it is UTF-8: the JSON decoder does not look into what it skips."""
    if not body.isascii():
        try:
            body.decode()
        except UnicodeDecodeError:
            raise ProtocolError("the answer is not UTF-8") from None
    return body
