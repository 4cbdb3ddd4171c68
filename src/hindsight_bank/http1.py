"""HTTP/1.1 on one connection: the head of a request out, an answer's head and body in (RFC 9112).

Strict where leniency could take a cut or smuggled answer for a whole one. Lines end in CRLF, headers are not folded,
lengths are digits and agree, chunks are whole, and one thing frames a body: `chunked` in HTTP/1.1, or a length, or the
end of the connection. Nothing that came is quoted.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from hindsight_bank.network import Exchange, Stream

_TOKEN: Final = rb"[!#$%&'*+.^_`|~0-9A-Za-z-]++"
# What may go out; and what may come in, where other control characters may stay (RFC 9110, 5.5).
_SAID: Final = rb"[\t -~\x80-\xff]*+"
_TEXT: Final = rb"[^\x00\n\r\x0b\x0c]*+"
_REQUEST: Final = re.compile(rb"[A-Z]++ [!-~]++ HTTP/1\.1\r\n(?:" + _TOKEN + rb": " + _SAID + rb"\r\n)*+\r\n")
_STATUS: Final = re.compile(rb"HTTP/1\.([01]) ([1-9][0-9]{2})(?: (" + _TEXT + rb"))?")
_FIELD: Final = re.compile(rb"(" + _TOKEN + rb"):(" + _TEXT + rb")")
_LENGTH: Final = re.compile(rb"[0-9]{1,19}")
_CHUNK: Final = re.compile(rb"([0-9A-Fa-f]{1,16})(?:;" + _TEXT + rb")?[\t ]*")
_BEGINNING: Final = b"HTTP/1."

_MOST_HEAD: Final = 102_400

Fields = Sequence[tuple[bytes, bytes]]


class FramingError(Exception):
    """What came, or what should go out, is no HTTP/1.1."""


class Head(NamedTuple):
    """The head of an answer."""

    version: bytes
    status: int
    reason: bytes
    headers: list[tuple[bytes, bytes]]

    def values(self, name: bytes) -> list[bytes]:
        """Return the members of a header that is a list, in lower case."""
        found = [value for each, value in self.headers if each.lower() == name]
        return [member.strip(b" \t") for member in b",".join(found).lower().split(b",")] if found else []


def head(method: bytes, target: bytes, fields: Iterable[tuple[bytes, bytes]]) -> bytes:
    """Return the head of a request."""
    lines = [b"%b: %b\r\n" % field for field in fields]
    text = b"%b %b HTTP/1.1\r\n%b\r\n" % (method, target, b"".join(lines))
    # Each field is one line: no more come out than went in.
    if not _REQUEST.fullmatch(text) or text.count(b"\n") != len(lines) + 2:
        raise FramingError("a request that cannot be sent")
    return text


class Connection:
    """A connection, and what was read of it beyond what was asked for.

    Attributes:
        stream: Its socket.
        reusable: Whether an answer was read to its end, and another request may come.
        since: When it was last used.
    """

    def __init__(self, stream: Stream) -> None:
        self.stream = stream
        self.reusable = False
        self.since = 0.0
        self._data = b""
        self._at = 0

    def close(self) -> None:
        """Close the connection."""
        self.reusable = False
        self.stream.close()

    def is_usable(self) -> bool:
        """Tell whether a request may go out: nothing came that is nobody's answer, nor the end."""
        return self._at == len(self._data) and self.stream.is_quiet()

    def answer(self, exchange: Exchange, *, tunnel: bool = False) -> tuple[Head, Iterator[bytes]]:
        """Read the head of the next answer, past interim ones; return it and the body, which is still to be read."""
        self.reusable = False
        found = self._head(exchange)
        while 100 <= found.status < 200:  # noqa: PLR2004 - HTTP: interim
            if found.status == 101:  # noqa: PLR2004 - HTTP
                raise FramingError("another protocol, which was not asked for")
            found = self._head(exchange)
        return found, self._body(exchange, found, tunnel=tunnel)

    def _head(self, exchange: Exchange) -> Head:
        while (end := self._data.find(b"\r\n\r\n", self._at)) < 0:
            begun = self._data[self._at :]
            if begun[: len(_BEGINNING)] != _BEGINNING[: len(begun)] or begun.count(b"\n") > begun.count(b"\r\n"):
                raise FramingError("an answer that is not HTTP/1.1")
            if len(begun) > _MOST_HEAD:
                raise FramingError("the head of the answer is too long")
            self._more(exchange)
        first, *lines = self._data[self._at : end].split(b"\r\n")
        self._at = end + 4
        if not (status := _STATUS.fullmatch(first)):
            raise FramingError("an answer that is not HTTP/1.1")
        headers = []
        for line in lines:
            if not (field := _FIELD.fullmatch(line)):
                raise FramingError("the answer has a malformed header")
            headers.append((field[1], field[2].strip(b" \t")))
        return Head(status[1], int(status[2]), status[3] or b"", headers)

    def _body(self, exchange: Exchange, found: Head, *, tunnel: bool) -> Iterator[bytes]:
        if tunnel and 200 <= found.status < 300:  # noqa: PLR2004 - whatever else it says (RFC 9110, 9.3.6)
            return self._exactly(exchange, 0, keep=False)
        codings, lengths = found.values(b"transfer-encoding"), set(found.values(b"content-length"))
        if codings and (codings != [b"chunked"] or lengths or found.version == b"0"):
            raise FramingError("an answer framed in an unknown or in more than one way")
        if len(lengths) > 1 or not all(map(_LENGTH.fullmatch, lengths)):
            raise FramingError("the answer has no sensible length")
        keep = exchange.sent and found.version == b"1" and b"close" not in found.values(b"connection")
        if found.status in (204, 304):
            return self._exactly(exchange, 0, keep=keep)
        if codings:
            return self._chunks(exchange, keep=keep)
        return self._exactly(exchange, int(lengths.pop()), keep=keep) if lengths else self._to_the_end(exchange)

    def _exactly(self, exchange: Exchange, size: int, *, keep: bool) -> Iterator[bytes]:
        if not size:
            self._end(keep=keep)
            return iter(())
        return self._sized(exchange, size, keep=keep)

    def _sized(self, exchange: Exchange, size: int, *, keep: bool) -> Iterator[bytes]:
        yield from self._some(exchange, size)
        self._end(keep=keep)

    def _chunks(self, exchange: Exchange, *, keep: bool) -> Iterator[bytes]:
        while size := self._size(exchange):
            yield from self._some(exchange, size)
            if self._line(exchange):
                raise FramingError("a chunk of the answer does not end")
        total = 0
        while trailer := self._line(exchange):
            total += len(trailer)
            if total > _MOST_HEAD or not _FIELD.fullmatch(trailer):
                raise FramingError("the answer has a malformed trailer")
        self._end(keep=keep)

    def _end(self, *, keep: bool) -> None:
        """Let the next request come, and go of the last piece, which would pin the memory of all before it."""
        self._data, self._at = self._data[self._at :], 0
        self.reusable = keep

    def _to_the_end(self, exchange: Exchange) -> Iterator[bytes]:
        data = self._data[self._at :] or self.stream.read(exchange)
        self._data, self._at = b"", 0
        while data:
            yield data
            data = self.stream.read(exchange)

    def _some(self, exchange: Exchange, left: int) -> Iterator[bytes]:
        """Yield so many bytes."""
        while left:
            if self._at == len(self._data):
                self._more(exchange)
            data = self._data[self._at : self._at + left]
            self._at += len(data)
            exchange.coming = left = left - len(data)
            yield data

    def _size(self, exchange: Exchange) -> int:
        if not (size := _CHUNK.fullmatch(self._line(exchange))):
            raise FramingError("the answer has a malformed chunk")
        return int(size[1], 16)

    def _line(self, exchange: Exchange) -> bytes:
        while (end := self._data.find(b"\r\n", self._at)) < 0:
            if len(self._data) - self._at > _MOST_HEAD:
                raise FramingError("a line of the answer is too long")
            self._more(exchange)
        line, self._at = self._data[self._at : end], end + 2
        return line

    def _more(self, exchange: Exchange) -> None:
        if not (data := self.stream.read(exchange)):
            raise FramingError("the connection ended")
        self._data, self._at = self._data[self._at :] + data, 0
