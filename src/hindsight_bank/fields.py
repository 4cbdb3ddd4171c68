"""Bytes that come in pieces of whatever size, joined; and, of an event stream, the field that each line is.

What is done here costs time and memory by the bytes that come, never by their pieces.
"""

from collections.abc import Iterator
from typing import Final

from hindsight_bank.errors import DeadlineError

Field = tuple[bytes, bytes]

_PIECE: Final = 2**16
_SMALL: Final = 2**10
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"


class _Pieces:
    """What comes in pieces, joined once; small ones at once, since a list of them takes many times their bytes."""

    def __init__(self) -> None:
        self._pieces: list[bytes | bytearray] = []

    def __bool__(self) -> bool:
        return bool(self._pieces)

    def add(self, piece: bytes) -> None:
        last = self._pieces[-1] if self._pieces else None
        if len(piece) >= _SMALL:
            self._pieces.append(piece)
        elif isinstance(last, bytearray) and len(last) < _PIECE:
            last += piece
        else:
            self._pieces.append(bytearray(piece))

    def joined(self) -> bytes:
        return b"".join(self._pieces)

    def field(self) -> Field:
        """Return what `_field` does of the whole; a long value is not copied once more to go without its name."""
        first, *rest = self._pieces
        if b":" not in first[:-1]:
            return _field(self.joined())
        name, value = _field(bytes(first))
        return name, b"".join((value, *rest))


def joined(chunks: Iterator[bytes]) -> bytes:
    """Return the whole; no piece outlives this, since a last one would pin the memory of all before it."""
    pieces = _Pieces()
    for chunk in chunks:
        pieces.add(chunk)
    return pieces.joined()


def fields(chunks: Iterator[bytes]) -> Iterator[Field | None]:
    """Yield the field that each line is, whether it ends in LF, CR or both; None for a blank one, which ends an event.

    A deadline that passes before the blank line of an event says that there was one: a server may have forgotten it.
    """
    begun = _Pieces()  # of a line whose end is still to come
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
                    field, begun = begun.field(), _Pieces()
                else:
                    field = None if end == start else _field(chunk[start:end])
                last = field if field is None or field[0] else last
                yield field
                start = after
            if start < len(chunk):
                begun.add(chunk[start:])
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
