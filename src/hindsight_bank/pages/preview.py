"""The preview: one memory to read, the ways that lead on from it, and the way back."""

from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.message import Message
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from hindsight_bank.inert import one_line
from hindsight_bank.pages.leaf import Some, Way, leaf, ways

_SIGNS = {"memory": "→ ", "entity": "@ ", "tag": "# "}


class Preview(Vertical):
    """One memory."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,backspace", "back", "Back"),
        Binding("space", "turn_page(1)", show=False),
        Binding("b", "turn_page(-1)", show=False),
    ]
    DEFAULT_CSS = """
    Preview { padding: 0 1; }
    Preview VerticalScroll { height: 1fr; scrollbar-size-vertical: 1; }
    Preview OptionList, Preview OptionList:focus {
        height: auto; max-height: 40%; border: none; padding: 0; margin-top: 1;
        background: transparent; text-wrap: nowrap; text-overflow: ellipsis; scrollbar-size-vertical: 1;
    }
    Preview OptionList.empty { display: none; }
    """

    class Followed(Message):
        """A way was taken."""

        def __init__(self, way: Way) -> None:
            super().__init__()
            self.way = way

    class Left(Message):
        """The reader goes back."""

    def __init__(self) -> None:
        super().__init__()
        self.memory: Some | None = None
        self._ways: list[Way] = []

    def compose(self) -> ComposeResult:
        """Lay out the text and, below it, the ways."""
        with VerticalScroll():
            yield Static(markup=False)
        yield OptionList(markup=False, classes="empty")

    def show(self, memory: Some | None) -> None:
        """Show another memory, or none."""
        if memory is self.memory:
            return
        again = memory and self.memory and memory.id == self.memory.id
        self.memory = memory
        self.query_one(Static).update("" if memory is None else leaf(memory))
        if not again:
            self.query_one(VerticalScroll).scroll_home(animate=False)
        self._ways = ways(memory) if memory else []
        listed = self.query_one(OptionList)
        listed.clear_options()
        listed.set_class(not self._ways, "empty")
        listed.add_options(Option(_line(way)) for way in self._ways)

    def enter(self) -> None:
        """Give the keyboard to the ways, or to the text if there are none."""
        listed = self.query_one(OptionList)
        self.screen.set_focus(listed if self._ways else self.query_one(VerticalScroll))
        listed.highlighted = listed.highlighted or (0 if self._ways else None)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Follow a way."""
        event.stop()
        self.post_message(self.Followed(self._ways[event.option_index]))

    def action_turn_page(self, pages: int) -> None:
        """Scroll the text, while the keyboard is with the ways."""
        text = self.query_one(VerticalScroll)
        text.scroll_relative(y=pages * max(text.size.height - 1, 1), animate=False)

    def action_back(self) -> None:
        """Go back."""
        self.post_message(self.Left())


def _line(way: Way) -> Text:
    text = one_line(way.label)
    return Text.assemble((_SIGNS[way.to], "dim"), text)
