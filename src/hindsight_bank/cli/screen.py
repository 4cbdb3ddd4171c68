"""What a person sees: headings, code, tables, panels and progress, as wide as the terminal, coloured only in one.

Results go to standard output. What passes goes there too in the demo, else to standard error, for a terminal only.

Every text that goes in is made inert here, so that no command can forget it.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Final

from attrs import frozen
from rich import box
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.panel import Panel
from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, TaskID, TextColumn
from rich.rule import Rule
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from hindsight_bank.inert import inert, one_line

# Wider lines tire the eye; in narrower ones a table's columns would.
_WIDEST: Final = 120
_NARROW: Final = 72

_COLOURS: Final[Mapping[str, str]] = {"world": "cyan", "experience": "green", "observation": "magenta"}


@frozen
class Column:
    """A column of a table.

    Attributes:
        name: Its heading.
        style: How rich styles its cells.
        right: Whether it is aligned to the right.
        share: Its share of the room that the others leave; 0 for as wide as its cells. The column with the largest
            share holds the row's text.
        alone: Whether it gets a line of its own where the row is a paragraph.
    """

    name: str
    style: str = ""
    right: bool = False
    share: int = 0
    alone: bool = False


class _Console(Console):
    """A console that leaves a closed pipe to its caller."""

    def on_broken_pipe(self) -> None:
        self.quiet = True
        raise BrokenPipeError


class Screen:
    """Standard output, for people; or standard error, for what passes."""

    def __init__(self, *, stderr: bool = False) -> None:
        self._console = _Console(markup=False, emoji=False, highlight=False, stderr=stderr)
        self._console.width = min(self._console.width, _WIDEST)

    @property
    def _narrow(self) -> bool:
        return self._console.width < _NARROW

    @classmethod
    def waiting(cls, what: str) -> AbstractContextManager[None]:
        """Show a spinner and the seconds on standard error while the block runs."""
        return cls(stderr=True).spinner(what)

    def heading(self, title: str) -> None:
        """Begin a section."""
        self._console.print()
        self._console.print(Rule(Text(one_line(title), "bold"), align="left", style="blue"))

    def say(self, text: str, style: str = "") -> None:
        """Print a paragraph."""
        self._console.print(Text(inert(text), style))

    def verbatim(self, text: str, style: str = "") -> None:
        """Print lines as they are, however long, to be copied."""
        self._console.print(Text(inert(text), style), soft_wrap=True)

    def note(self, text: str, style: str = "") -> None:
        """Print one line, however long: a path or a command in it can be copied."""
        self.verbatim(one_line(text), style)

    def done(self, text: str, *, whole: bool = False) -> None:
        """Print what was done; if `whole`, in one line as `note` does."""
        self._console.print(Text.assemble(("✓ ", "bold green"), one_line(text)), soft_wrap=whole)

    def code(self, source: str) -> None:
        """Print Python."""
        text = Syntax(source, "python", theme="ansi_dark", background_color="default").highlight(source.rstrip())
        text.rstrip()
        text.no_wrap = False
        self._console.print()
        self._console.print(Padding(text, (0, 0, 0, 2), expand=False))
        self._console.print()

    def rows(self, columns: Sequence[Column], rows: Sequence[Sequence[str]], least: int = _NARROW) -> None:
        """Print a table; where there are fewer than `least` columns, each row as a paragraph."""
        if self._console.width < least:
            for row in rows:
                self._console.print(_paragraph(columns, row))
            return
        table = Table(
            box=box.SIMPLE_HEAD, border_style="bright_black", header_style="bold", show_edge=False, expand=True
        )
        for column in columns:
            table.add_column(
                column.name,
                style=column.style,
                justify="right" if column.right else "left",
                overflow="fold",
                no_wrap=not column.share,
                ratio=column.share or None,
            )
        for row in rows:
            table.add_row(*map(_coloured, row))
        self._console.print(table)

    def fields(self, title: str, pairs: Sequence[tuple[str, str]]) -> None:
        """Print names and values in a panel."""
        self._console.print(_panel(title, _grid(pairs, narrow=self._narrow)))

    def answer(self, title: str, text: str, rests_on: Sequence[tuple[str, str]]) -> None:
        """Print an answer and, by kind, the facts on which it rests."""
        body: list[RenderableType] = [Text(inert(text), "bold")]
        if rests_on:
            body += [Text("\nbased on", "bright_black"), _grid(rests_on, narrow=self._narrow)]
        self._console.print(_panel(title, Group(*body)))

    def caught(self, error: Exception, pairs: Sequence[tuple[str, str]]) -> None:
        """Print an error that was expected, as a program would catch it."""
        body = Group(Text(inert(str(error))), _grid(pairs, narrow=self._narrow))
        self._console.print(_panel(f"except {type(error).__name__}", body, "red"))

    @contextmanager
    def progress(self, what: str, total: int) -> Iterator["Bar"]:
        """Show a bar while the block runs."""
        with self._live(
            _form("{task.description}"), BarColumn(), _form("{task.completed:.0f}/{task.total:.0f}")
        ) as live:
            yield Bar(live, live.add_task(one_line(what), total=total))

    @contextmanager
    def spinner(self, what: str) -> Iterator[None]:
        """Show a spinner and the seconds while the block runs."""
        with self._live(SpinnerColumn(), _form("{task.description}"), _form("{task.elapsed:.0f} s")) as live:
            live.add_task(one_line(what), total=None)
            yield

    def _live(self, *columns: ProgressColumn) -> Progress:
        shown = self._console.is_terminal and self._console.file.isatty()  # FORCE_COLOR makes a file a "terminal"
        return Progress(*columns, console=self._console, transient=True, disable=not shown)


@frozen
class Bar:
    """A progress bar that is being shown."""

    _progress: Progress
    _task: TaskID

    def reach(self, completed: int) -> None:
        """Set how much is done."""
        self._progress.update(self._task, completed=completed)


def _form(form: str) -> TextColumn:
    return TextColumn(form, markup=False)


def _coloured(value: str) -> Text:
    return Text(one_line(value), _COLOURS.get(value, ""))


def _paragraph(columns: Sequence[Column], row: Sequence[str]) -> RenderableType:
    """Return a row as its text and, below, the rest."""
    text = max(range(len(columns)), key=lambda index: columns[index].share)
    cells = [cell for index, cell in enumerate(zip(columns, row, strict=True)) if cell[1] and index != text]
    rest = [
        Text.assemble((f"{column.name} " if column.right else "", "bright_black"), _coloured(value))
        for column, value in cells
        if not column.alone
    ]
    alone = [Text(one_line(value), column.style) for column, value in cells if column.alone]
    return Group(Text(one_line(row[text])), Text(" · ", "bright_black").join(rest), *alone, "")


def _grid(pairs: Sequence[tuple[str, str]], *, narrow: bool) -> RenderableType:
    """Return names and values side by side, or below each other where there is no room."""
    if narrow:
        return Group(
            *(Text.assemble((f"{one_line(name)}\n", "bright_black"), _coloured(value)) for name, value in pairs)
        )
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="bright_black", no_wrap=True)
    grid.add_column(ratio=1, overflow="fold")
    for name, value in pairs:
        grid.add_row(one_line(name), _coloured(value))
    return grid


def _panel(title: str, body: RenderableType, style: str = "blue") -> Panel:
    return Panel(body, title=Text(one_line(title), "bold"), title_align="left", border_style=style, padding=(0, 1))
