"""An answer's body: bytes in, the JSON text of each message out, whether it came as JSON or as an event stream."""

import codecs
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from operator import itemgetter
from types import TracebackType
from typing import Final, Self

from hindsight_bank.deadline import Deadline
from hindsight_bank.errors import BankError, ProtocolError
from hindsight_bank.fields import fields, joined
from hindsight_bank.network import Exchange

JSON: Final = "application/json"
EVENTS: Final = "text/event-stream"

# Python reads no number of any length; milliseconds of so many digits are for ever already.
_MOST_DIGITS: Final = 18
_PIECE: Final = 2**16

# What is read of a refusal's body, enough for any sentence, and the seconds that it may take: the status says most.
_REFUSAL_BYTES: Final = 16_384
_REFUSAL_SECONDS: Final = 2.0

# What may be quoted of headers; anything else might be a secret that is echoed.
_CODINGS: Final = ("gzip", "x-gzip", "deflate", "br", "zstd", "compress")
_TYPES: Final = (
    *("text/plain", "text/xml", "application/xml", "application/octet-stream", "application/x-ndjson"),
    *("application/problem+json", "application/jsonl", "application/json-seq", "text/json"),
)


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
        coding = self.headers.get("content-encoding", "identity").strip().lower()
        if coding != "identity":
            raise ProtocolError(f"the answer is compressed{_named(coding, _CODINGS)}, which was not asked for")
        media_type = self._media_type()
        if media_type == JSON:
            yield _utf8(joined(self._counted(), self._coming), "answer")
        elif media_type == EVENTS:
            yield from map(itemgetter(1), filter(_is_message, self._events()))  # which hold none, as a loop would
        else:
            found = "a web page" if media_type == "text/html" else f"something else{_named(media_type, _TYPES)}"
            raise ProtocolError(
                f"the answer is {found}, not JSON or an event stream: this is no MCP endpoint; check the server URL,"
                " and whether a login page or a proxy stands before the server"
            )

    def _events(self) -> Iterator[tuple[bytes, bytes]]:
        """Yield the type and the data of each event (HTML standard, 9.2.6, "Interpreting an event stream").

        Data of several lines are joined as they come: an event of very many costs what its bytes do. Nothing here holds
        an event that was yielded: it may be most of an answer's memory.
        """
        data: bytes | bytearray | None = None
        kind, event_id = b"", b""
        for field in fields(self._counted(), self._coming):
            if field is None:
                if event_id:
                    self.event_id = event_id.decode()
                if data is not None or kind:
                    event = [(kind, bytes(data or b""))]
                    data, kind, value = None, b"", b""
                    yield event.pop()
                continue
            name, value = (_utf8(part, "event stream") for part in field)
            if name == b"data":
                data = value if data is None else _extended(data, value)
            elif name == b"event":
                kind = value
            elif name == b"id" and b"\0" not in value:
                event_id = value or event_id
            elif name == b"retry" and value.isdigit():
                self.retry = int(value.lstrip(b"0")[:_MOST_DIGITS] or b"0")

    def is_stream(self) -> bool:
        """Tell whether this is a successful answer that is an event stream."""
        return self.status == 200 and self._media_type() == EVENTS  # noqa: PLR2004 - HTTP

    def first_event(self) -> str:
        """Return the type of the first event of a stream, empty if there is none."""
        return next((kind.decode() for kind, _ in self._events() if kind), "")

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

    def _media_type(self) -> str:
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    def _coming(self) -> int:
        """Return how many bytes more are known to come, within the bound."""
        return min(self.exchange.coming, self._most_bytes)

    def _counted(self) -> Iterator[bytes]:
        """Yield the body within its bound."""
        total = 0
        for chunk in self._chunks:
            total += len(chunk)
            if total > self._most_bytes:
                raise ProtocolError(
                    f"the answer is larger than {self._most_bytes} bytes; ask for less, or"
                    " raise the bound in Python: Bank(..., max_response_bytes=...)"
                )
            yield chunk


def _is_message(event: tuple[bytes, bytes]) -> bool:
    """Tell whether an event is ours: one without data primes a resumable stream, and other types are nobody's."""
    kind, data = event
    return kind in (b"", b"message") and len(data) > 0


def _named(value: str, known: Sequence[str]) -> str:
    return f" ({value})" if value in known else ""


def _extended(data: bytes | bytearray, line: bytes) -> bytearray:
    """Return the data of an event with one more line; those of one line, as usual, are never copied."""
    if isinstance(data, bytes):
        data = bytearray(data)
    data += b"\n"
    data += line
    return data


def _utf8(text: bytes, what: str) -> bytes:
    """Return `text` if it is UTF-8: the JSON decoder does not look into what it skips."""
    if not text.isascii():
        decoder = codecs.getincrementaldecoder("utf-8")()  # piece by piece, since text may take four times its bytes
        try:
            for start in range(0, len(text), _PIECE):
                decoder.decode(text[start : start + _PIECE])
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            raise ProtocolError(f"the {what} is not UTF-8") from None
    return text
