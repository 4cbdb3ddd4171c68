"""Results as tables, in HTML and for rich: a row for each of many, or a name and a value for each attribute of one.

Every text is made inert when it becomes a cell. What is left out is counted, never silent.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from html import escape
from typing import TYPE_CHECKING, Any, Final

from attrs import fields, frozen, has

from hindsight_bank.inert import inert, one_line
from hindsight_bank.loading import unforked

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType

# More would bury the rest of a notebook.
_ROWS: Final = 30
_LINE: Final = 300
_TEXT: Final = 5000

# Notebooks set what stands between dollar signs as mathematics, unless the classes say no.
_FRAME: Final = '<div class="tex2jax_ignore mathjax_ignore">'
_CELL: Final = "text-align:left;vertical-align:top;white-space:"
_PROSE: Final = ("text", "tags", "value")
_NUMBERS: Final = ("score", "facts")
# Columns of a terminal: in fewer, the text of a memory would be a tower of single words.
_ROOM: Final = 80
_ROOM_FOR_TWO: Final = 50


@frozen(repr=False)  # a repr would tell memories
class Sheet:
    """A table of inert texts.

    Attributes:
        heads: The columns' headings.
        rows: The cells.
        note: What the table does not show.
    """

    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""


def sheet(result: Any) -> Sheet:
    """Lay out a result, or a part of one."""
    for name in ("results", "items"):
        if hasattr(result, name):
            return _many(name, getattr(result, name), _beside(result))
    rows = [
        (name, _cut(inert(_said(_moment(value) if name == "date" else value)), _TEXT)) for name, value in _flat(result)
    ]
    return Sheet((type(result).__name__, "value"), rows)


def html(table: Sheet) -> str:
    """Write a table for a notebook."""
    heads = "".join(f'<th style="text-align:left">{escape(head)}</th>' for head in table.heads)
    rows = "".join(f"<tr>{''.join(map(_html_cell, table.heads, row))}</tr>" for row in table.rows)
    body = f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>" if rows else ""
    note = f"<p>{escape(table.note)}</p>" if table.note else ""
    return f"{_FRAME}{body}{note}</div>"


def _html_cell(head: str, text: str) -> str:
    wrap = "pre-wrap;overflow-wrap:anywhere;min-width:6em" if head in _PROSE else "nowrap"
    return f'<td dir="auto" style="{_CELL}{wrap}">{escape(text)}</td>'


@frozen(repr=False)
class Printed:
    """What rich prints of a sheet: a table, or, where that has no room, each row as a paragraph."""

    sheet: Sheet

    def __rich_console__(self, console: "Console", options: "ConsoleOptions") -> "Iterator[RenderableType]":
        del console
        with unforked():
            from rich.box import SIMPLE_HEAD  # noqa: PLC0415 - an optional package
            from rich.table import Table  # noqa: PLC0415 - as above
            from rich.text import Text  # noqa: PLC0415 - as above

        heads, rows, note = self.sheet.heads, self.sheet.rows, self.sheet.note
        if options.max_width < (_ROOM_FOR_TWO if "value" in heads else _ROOM):
            for row in rows:
                yield from (Text(line, style) for line, style in _paragraph(heads, row))
        elif rows:
            made = Table(box=SIMPLE_HEAD)
            for head in heads:
                ratio = 1 if head in ("text", "value") else None
                made.add_column(Text(head), overflow="fold", no_wrap=head not in _PROSE, ratio=ratio)
            for row in rows:
                made.add_row(*map(Text, row))
            yield made
        if note:
            yield Text(f"  {note}")


def _paragraph(heads: Sequence[str], row: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield a row as its text and a line of the rest; or, of a name and its value, one below the other."""
    cells = dict(zip(heads, row, strict=True))
    if "value" in cells:
        yield row[0], "bright_black"
        yield row[1], ""
    else:
        yield cells.pop("text", ""), ""
        told = (f"{head} {cell}" if head in _NUMBERS else cell for head, cell in cells.items() if cell)
        yield " · ".join(told), "bright_black"
    yield "", ""


# -- many --------------------------------------------------------------------------------------------------------------

_COLUMNS: Final[Sequence[tuple[str, Callable[[Any], str]]]] = (
    ("type", lambda row: row.fact_type),
    ("score", lambda row: f"{row.scores.final:.2f}" if getattr(row, "scores", None) else ""),
    ("text", lambda row: row.text),
    ("said", lambda row: f"{row.mentioned_at:%Y-%m-%d}" if row.mentioned_at else ""),
    ("tags", lambda row: ", ".join(row.tags)),
    ("facts", lambda row: str(getattr(row, "proof_count", ""))),
)


def _many(name: str, items: Sequence[Any], beside: str) -> Sheet:
    """Lay out facts or memories, each with its index, in the columns that hold something."""
    shown = items[:_ROWS]
    columns = {head: [_cut(one_line(cell(row)), _LINE) for row in shown] for head, cell in _COLUMNS}
    used = {"": [str(index) for index in range(len(shown))]} | {head: c for head, c in columns.items() if any(c)}
    count = f"{len(items)} {name}" if len(items) == len(shown) else f"{len(shown)} of {len(items)} {name}"
    more = f"{len(items) - len(shown)} more in .{name}" if len(items) > len(shown) else ""
    note = ", ".join(filter(None, (count, more, beside)))
    return Sheet(list(used), list(zip(*used.values(), strict=True)), note)


def _beside(result: Any) -> str:
    """Tell what a result holds besides its rows."""
    return ", ".join(
        f"{name} {value}" if isinstance(value, int) else f"{len(value)} {name}"
        for name, value in _attributes(result)
        if value and name not in ("results", "items")
    )


# -- one ---------------------------------------------------------------------------------------------------------------


def _attributes(thing: Any) -> Iterator[tuple[str, Any]]:
    """Yield the attributes that say something."""
    for field in fields(type(thing)):
        if (value := getattr(thing, field.name)) not in (None, "", (), {}):
            yield field.name, value


def _flat(thing: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the attributes with those of the parts, each under its path."""
    for name, value in _attributes(thing):
        if has(type(value)):
            yield from _flat(value, f"{path}{name}.")
        else:
            yield f"{path}{name}", value


def _said(value: Any) -> str:
    """Write a value out, a line for each of several things."""
    match value:
        case dict():
            return _lines([f"{name}: {_plain(each)}" for name, each in value.items()])
        case tuple() if value and has(type(value[0])):
            return _lines([f"{'• ' if len(value) > 1 else ''}{_line(each)}" for each in value])
        case tuple() if all(isinstance(each, str) for each in value):
            return ", ".join(value)
        case datetime():
            return value.isoformat(" ", "seconds")
    return _plain(value)


def _moment(date: str) -> datetime | str:
    """Read the one time that comes as text, because it is empty where there is none."""
    try:
        return datetime.fromisoformat(date)
    except ValueError:
        return date


def _line(part: Any) -> str:
    """Write one of several parts in a line: its text, or what it has instead."""
    if hasattr(part, "text"):
        return one_line(part.text)
    told = (
        f"{len(value)} {name}" if isinstance(value, dict) else f"{name} {one_line(_plain(value))}"
        for name, value in _attributes(part)
    )
    return ", ".join(told)


def _plain(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list | tuple) else str(value)


def _lines(lines: Sequence[str]) -> str:
    more = [f"… {len(lines) - _ROWS} more"] if len(lines) > _ROWS else []
    return "\n".join([*lines[:_ROWS], *more])


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}… {len(text) - most} more characters"
