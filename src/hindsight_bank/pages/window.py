"""A window on a long list: its length is known, and only the pages looked at last are held."""

from collections.abc import Sequence
from typing import Final, Generic, TypeVar

Row = TypeVar("Row")

PAGE: Final = 100
_HELD: Final = 8


class Window(Generic[Row]):
    """Rows by their index, as far as they are here.

    Args:
        page: How many rows a page has.
        held: How many pages are kept; of more, the one not looked at for longest goes.

    Attributes:
        total: How many rows the list has; None until the first page is here.
        page: How many rows a page has.
    """

    def __init__(self, page: int = PAGE, held: int = _HELD) -> None:
        self.total: int | None = None
        self.page = page
        self._held = held
        self._pages: dict[int, Sequence[Row]] = {}

    @classmethod
    def whole(cls, rows: Sequence[Row]) -> "Window[Row]":
        """Return a window on a list that is all here."""
        window = cls(page=max(1, len(rows)))
        window.put(0, rows, len(rows))
        return window

    def row(self, index: int) -> Row | None:
        """Return a row, None if it is not here."""
        rows = self._pages.get(index // self.page, ())
        place = index % self.page
        return rows[place] if place < len(rows) else None

    def missing(self, first: int, last: int) -> int | None:
        """Return the offset of the first page that these rows need and that is not here, None if all are."""
        if self.total is None:
            return 0
        needed = range(max(first, 0) // self.page, min(last, self.total - 1) // self.page + 1)
        for number in needed:
            if number not in self._pages:
                return number * self.page
            self._pages[number] = self._pages.pop(number)  # looked at last
        return None

    def put(self, offset: int, rows: Sequence[Row], total: int) -> None:
        """Take in a page, and the list's length as it is now."""
        self.total = total
        self._pages[offset // self.page] = rows
        while len(self._pages) > self._held:
            del self._pages[next(iter(self._pages))]
