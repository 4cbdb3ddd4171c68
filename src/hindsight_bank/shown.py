"""How results show themselves: a short repr for logs, a table for notebooks and for rich.

A repr ends up in logs, tracebacks and crash reports: it tells what an object is and how much it holds, but nothing that
a memory says. The tables are for the person who asked; what makes them loads when one is shown.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from attrs import fields

from hindsight_bank.loading import unforked

if TYPE_CHECKING:
    from hindsight_bank.tables import Printed

# Names and words of the server's own.
_TOLD = ("id", "entity_id", "bank_id", "operation_id", "type", "fact_type", "state", "status", "tool", "scope")
_TEXTS = ("text", "chunk_text", "content")
_LISTS = ("results", "items")


class _Bare(str):
    """A text that is its own repr."""

    __slots__ = ()
    __repr__ = str.__str__


class Shown:
    """What every result and every part of one inherits."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(_told(self))})"

    def __rich_repr__(self) -> Iterator[str]:
        """Tell rich's tracebacks and pretty printer what the repr tells; they would walk through the attributes."""
        yield from map(_Bare, _told(self))

    def _repr_html_(self) -> str:
        """Return a table in HTML, for Jupyter."""
        with unforked():
            from hindsight_bank import tables  # noqa: PLC0415 - needed only here

        return tables.html(tables.sheet(self))

    def __rich__(self) -> "Printed":
        """Return a table for rich."""
        with unforked():
            from hindsight_bank import tables  # noqa: PLC0415 - needed only here

        return tables.Printed(tables.sheet(self))


def _told(shown: Any) -> Iterator[str]:
    """Yield what may be told of an object's attributes."""
    for name in (field.name for field in fields(type(shown))):
        match getattr(shown, name):
            case str() as text if name in _TEXTS:
                yield f"{len(text)} characters"
            case str() as word if name in _TOLD:
                yield f"{name}={word!r}"
            case int() | float() as number:
                yield f"{name}={number}"
            case tuple() | dict() as held if held or name in _LISTS:
                yield f"{len(held)} {name}"
