"""The list: draws the rows in view from a window, and says when it wants more."""

from typing import ClassVar, Final, TypeAlias

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from rich.style import Style
from textual.binding import Binding, BindingType
from textual.events import Click, Resize
from textual.geometry import Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip

from hindsight_bank import Fact, MemoryItem
from hindsight_bank.inert import one_line
from hindsight_bank.pages.window import Window

Row: TypeAlias = MemoryItem | Fact

COLOURS: Final = {"world": "cyan", "experience": "green", "observation": "magenta"}
# From this width on a row has its date.
_DATED: Final = 48
_MARK: Final = 2


class Listing(ScrollView, can_focus=True):
    """Memories, one a line, of which any number may exist."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", show=False),
        Binding("down,j", "move(1)", show=False),
        Binding("pageup", "leap(-1)", show=False),
        Binding("pagedown,space", "leap(1)", show=False),
        Binding("home", "move_to(0)", show=False),
        Binding("end", "move_to(-1)", show=False),
    ]
    DEFAULT_CSS = """
    Listing { overflow-x: hidden; scrollbar-size-vertical: 1; }
    Listing > .listing--cursor { background: $panel; }
    Listing:focus > .listing--cursor { background: $primary; color: $text; }
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {"listing--cursor"}

    cursor = reactive(0, init=False)

    class Moved(Message):
        """Other rows are in view, or another row is under the cursor."""

    class Chosen(Message):
        """A row was clicked twice, to be read."""

    def __init__(self) -> None:
        super().__init__()
        self._window: Window[Row] = Window()

    @property
    def current(self) -> Row | None:
        """The memory under the cursor."""
        return self._window.row(self.cursor)

    @property
    def in_view(self) -> tuple[int, int]:
        """The first and the last row in view."""
        return self.scroll_offset.y, self.scroll_offset.y + max(self.size.height, 1) - 1

    def show(self, window: Window[Row], cursor: int = 0) -> None:
        """Draw another list."""
        self._window = window
        self.scroll_to(y=0, animate=False)
        self.cursor = cursor
        self.update()

    def update(self) -> None:
        """Draw what has come in."""
        total = self._window.total or 0
        self.virtual_size = Size(1, total)
        self.cursor = max(min(self.cursor, total - 1), 0)
        self.refresh()
        self.post_message(self.Moved())

    def render_line(self, y: int) -> Strip:
        """Draw one line of the terminal."""
        index, width = y + self.scroll_offset.y, self.scrollable_content_region.width
        total = self._window.total
        if total == 0 and y == 0:
            return Strip([Segment(set_cell_size("nothing found", width), Style(dim=True))])
        if index >= (total or 0):
            return Strip.blank(width, self.rich_style)
        style = self.get_component_rich_style("listing--cursor") if index == self.cursor else self.rich_style
        row = self._window.row(index)
        mark = one_line(row.fact_type)[:1].upper() if row else ""
        colour = Style(color=COLOURS.get(row.fact_type) if row and index != self.cursor else None, bold=True)
        line = _line(row, width) if row else "…"
        return Strip(
            [
                Segment(set_cell_size(mark, _MARK), style + colour),
                Segment(_fitted(line, max(width - _MARK, 0)), style),
            ]
        )

    def watch_cursor(self, before: int, now: int) -> None:
        """Keep the cursor in view."""
        first, last = self.in_view
        if now < first or now > last:
            self.scroll_to(y=now if now < first else now - self.size.height + 1, animate=False)
        self.refresh_line(before)
        self.refresh_line(now)
        self.post_message(self.Moved())

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Say that other rows are in view."""
        super().watch_scroll_y(old_value, new_value)
        self.post_message(self.Moved())

    def on_resize(self, _: Resize) -> None:
        """Say that more rows may be in view."""
        self.watch_cursor(self.cursor, self.cursor)

    def on_click(self, event: Click) -> None:
        """Put the cursor where the mouse is, and read there on a second click."""
        self.action_move_to(event.y + self.scroll_offset.y)
        if event.chain > 1:
            self.post_message(self.Chosen())

    def action_move(self, rows: int) -> None:
        """Move the cursor by some rows."""
        self.action_move_to(max(self.cursor + rows, 0))

    def action_leap(self, screens: int) -> None:
        """Move the cursor by some screens."""
        self.action_move(screens * max(self.size.height - 1, 1))

    def action_move_to(self, row: int) -> None:
        """Move the cursor to a row; -1 is the last."""
        last = (self._window.total or 1) - 1
        self.cursor = last if row < 0 else min(row, last)


def _line(row: Row, width: int) -> str:
    """Return what a row says of a memory; of its text, what may be in view."""
    score = f"{row.scores.final:.2f}  " if isinstance(row, Fact) and row.scores else ""
    date = f"{row.mentioned_at:%Y-%m-%d}  " if row.mentioned_at and width >= _DATED else ""
    return score + date + one_line(row.text[: 4 * width])


def _fitted(text: str, width: int) -> str:
    return set_cell_size(text, width) if cell_len(text) <= width else f"{set_cell_size(text, max(width - 1, 0))}…"
