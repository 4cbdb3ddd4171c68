"""Bytes that come in pieces of whatever size, joined; and, of an event stream, the field that each line is.

What is done here costs time and memory by the bytes that come, never by their pieces.
"""

from collections.abc import Callable, Iterator
from io import BytesIO
from typing import Final

from hindsight_bank.errors import DeadlineError

Field = tuple[bytes, bytes]
Coming = Callable[[], int]
"""Tells how many bytes are known to come after what is here; 0 if nobody knows."""

_GROWTH: Final = 8
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"


class _Joined:
    """Bytes that come in pieces, joined as they come.

    Growing may copy all that is here: there is room for what is known to come, but for no more than some times what is
    here, since a chunk of many lines is told of with each. Where nothing is known, BytesIO grows by an eighth.
    """

    def __init__(self, coming: Coming) -> None:
        self._coming = coming
        self._whole = BytesIO()
        self._room = 0

    def add(self, piece: bytes) -> None:
        begun = self._whole.tell()
        size = begun + len(piece)
        if size > self._room:
            self._room = size + min(self._coming(), _GROWTH * size)
            self._whole.seek(self._room)
            self._whole.write(b"\0")
            self._whole.seek(begun)
        self._whole.write(piece)

    def whole(self) -> bytes:
        self._whole.truncate()
        return self._whole.getvalue()


class _Line:
    """A line whose end is still to come."""

    def __init__(self, begun: bytes, coming: Coming) -> None:
        self._name: bytes | None = None
        self._joined = _Joined(coming)
        if b":" in begun[:-1]:  # or a space might follow, which is no part of the value
            self._name, begun = _field(begun)
        self._joined.add(begun)

    def add(self, piece: bytes) -> None:
        self._joined.add(piece)

    def field(self) -> Field:
        """Return what `_field` does of the whole; a long value is not copied once more to go without its name."""
        value = self._joined.whole()
        return _field(value) if self._name is None else (self._name, value)


def joined(chunks: Iterator[bytes], coming: Coming) -> bytes:
    """Return the whole."""
    whole = _Joined(coming)
    for chunk in chunks:
        whole.add(chunk)
    return whole.whole()


def fields(chunks: Iterator[bytes], coming: Coming) -> Iterator[Field | None]:
    """Yield the field that each line is, whether it ends in LF, CR or both; None for a blank one, which ends an event.

    A deadline that passes before the blank line of an event says that there was one: a server may have forgotten it.
    """
    begun: _Line | None = None
    field: Field | None
    last: Field | None = None  # comments, which have no name, left aside
    after_return = False
    try:
        for chunk in _unmarked(chunks):
            # A CR ends a line at once; an LF that comes with the next chunk belongs to it.
            start = 1 if after_return and chunk.startswith(b"\n") else 0
            after_return = chunk.endswith(b"\r")
            for end, after in _ends(chunk, start):
                if begun:
                    begun.add(chunk[start:end])
                    field, begun = begun.field(), None
                else:
                    field = None if end == start else _field(chunk[start:end])
                last = field if field is None or field[0] else last
                yield field
                start = after
            if start < len(chunk):
                if begun:
                    begun.add(chunk[start:])
                else:
                    begun = _Line(chunk[start:], coming)
    except DeadlineError as error:
        if begun or last:
            error.args = (f"{error.args[0]}, and the last event that came had no end",)
        raise


def _unmarked(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Yield a stream without the byte order mark that it may begin with."""
    begun = b""
    for chunk in chunks:
        begun += chunk
        if not _BYTE_ORDER_MARK.startswith(begun):
            yield begun.removeprefix(_BYTE_ORDER_MARK)
            yield from chunks


def _ends(chunk: bytes, start: int) -> Iterator[tuple[int, int]]:
    """Yield where each line ends and where the next one begins; no byte is looked at twice for the same kind of end."""
    feed, back = chunk.find(b"\n", start), chunk.find(b"\r", start)
    while feed >= 0 or back >= 0:
        if back < 0 or 0 <= feed < back:
            yield feed, feed + 1
            feed = chunk.find(b"\n", feed + 1)
        elif feed == back + 1:
            yield back, feed + 1
            feed, back = chunk.find(b"\n", feed + 1), chunk.find(b"\r", feed + 1)
        else:
            yield back, back + 1
            back = chunk.find(b"\r", back + 1)


def _field(line: bytes) -> Field:
    """Return the name and the value of a field, without the one space that may come before the value."""
    end = line.find(b":")
    if end < 0:
        return line, b""
    return line[:end], line[end + (2 if line.startswith(b" ", end + 1) else 1) :]
