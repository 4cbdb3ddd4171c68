"""The pages: a bar above, a list and a preview, a line below, and what passes between them."""

from functools import partial
from typing import TYPE_CHECKING, ClassVar, Final

from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.widgets import Footer, Input, Static

from hindsight_bank.pages import asking
from hindsight_bank.pages.bar import Bar, Question
from hindsight_bank.pages.errands import Errands
from hindsight_bank.pages.listing import Listing, Row
from hindsight_bank.pages.preview import Preview
from hindsight_bank.pages.window import Window

if TYPE_CHECKING:
    from textual.timer import Timer

    from hindsight_bank import Bank, Memory, MemoryPage
    from hindsight_bank.pages.leaf import Some

# Seconds that the cursor rests on a memory until all of it is fetched.
_REST: Final = 0.15
_AT_ONCE: Final = 0.001


class Pages(App[None]):
    """The browser of one bank."""

    ENABLE_COMMAND_PALETTE = False
    AUTO_FOCUS = None  # the list has it: what was pressed before anything is shown must not go into a field
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (72, "-wide")]  # noqa: RUF012 - as textual declares it
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q", "quit", "Quit"),  # first, where a narrow footer shows it
        # Those with priority move the keyboard before the next key is looked at: a burst of keys ends where it should.
        Binding("slash", "write(False)", "Filter", key_display="/", priority=True),
        Binding("question_mark", "write(True)", "Recall", key_display="?", priority=True),
        Binding("number_sign", "tag", "Tags", key_display="#", priority=True),
        Binding("t", "turn", "Type"),
        Binding("ctrl+c", "quit", show=False, priority=True),
        Binding("enter", "read", "Read"),
        Binding("escape", "clear", "Clear"),
        Binding("r", "reload", "Reload"),
        Binding("escape", "leave", "To the list", priority=True),
        Binding("enter", "leave", show=False, priority=True),
        Binding("down", "leave", key_display="↓", show=False, priority=True),
    ]
    CSS = """
    Listing { width: 1fr; }
    Preview { width: 1fr; border-left: solid $panel; }
    .-narrow Preview { display: none; border: none; }
    .-narrow .reading Preview { display: block; }
    .-narrow .reading Listing { display: none; }
    #line { height: auto; max-height: 3; padding: 0 1; color: $text-muted; }
    #line.failed { color: $text-error; text-style: bold; }
    """

    def __init__(self, bank: "Bank") -> None:
        super().__init__()
        self.title = bank.bank_id
        self._bank = bank
        self._errands = Errands(self, self._failed)
        self._question = Question()
        self._window: Window[Row] = Window()
        self._stuck = False
        self._previewed: str | None = None  # an id, or "" for none
        self._past: list[Some] = []
        self._rest: Timer | None = None

    def compose(self) -> ComposeResult:
        """Lay out the parts."""
        yield Bar()
        with Horizontal(id="desk"):
            yield Listing()
            yield Preview()
        yield Static("loading …", id="line", markup=False)
        yield Footer(compact=True, show_command_palette=False)

    def on_mount(self) -> None:
        """Begin with the whole list."""
        self.set_focus(self.query_one(Listing))
        self.action_reload()

    def _say(self, sentence: str, *, failed: bool = False) -> None:
        self.query_one("#line", Static).update(sentence)
        self.query_one("#line").set_class(failed, "failed")

    def _failed(self, kind: str, sentence: str) -> None:
        """Show an error; the list asks for nothing more until the person does."""
        self._stuck = self._stuck or kind == "list"
        self._say(sentence, failed=True)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002 - textual's
        """Offer only what the keyboard can do now."""
        if isinstance(self.focused, Input):
            return action in ("quit", "leave")
        if action == "leave":
            return False
        return action != "clear" or self._question != Question()

    # -- the list ------------------------------------------------------------------------------------------------------

    def _begin(self, question: Question, cursor: int = 0) -> None:
        """List or search anew; what is listed stays until the answer is here."""
        self._question = question
        self._stuck = False
        self.refresh_bindings()
        self._say("loading …")
        self._errands.ask("list", partial(asking.first, self._bank, question), partial(self._show, cursor))

    def _show(self, cursor: int, window: Window[Row]) -> None:
        self._window = window
        self._previewed = None
        self.query_one(Listing).show(window, cursor)

    def _more(self, offset: int, page: "MemoryPage") -> None:
        self._window.put(offset, page.items, page.total)
        self.query_one(Listing).update()

    def on_listing_moved(self) -> None:
        """Fetch what is in view and not here, and preview what is under the cursor."""
        if self._stuck or not self.query(Preview):  # as it closes, a last answer may find nothing to be shown in
            return
        listing = self.query_one(Listing)
        if self._window.total is not None:
            self._say(
                f"{self._bank.bank_id} · {min(listing.cursor + 1, self._window.total):,} of {self._window.total:,}"
            )
        if not self._errands.busy("list") and (offset := self._window.missing(*listing.in_view)) is not None:
            more = partial(asking.more, self._bank, self._question, offset)
            self._errands.ask("list", more, partial(self._more, offset))
        if listing.display and self.query_one(Preview).display:
            self._preview()

    # -- the preview ---------------------------------------------------------------------------------------------------

    def _preview(self, rest: float = _REST) -> None:
        """Show what the list knows of the memory under the cursor, then all of it."""
        row = self.query_one(Listing).current
        if (row.id if row else "") == self._previewed:
            return
        self._previewed = row.id if row else ""
        self._past.clear()
        self.query_one(Preview).show(row)
        self._errands.forget("memory")
        if self._rest is not None:
            self._rest.stop()
        if row:
            self._rest = self.set_timer(rest, partial(self._fetch, row.id))

    def _fetch(self, memory_id: str) -> None:
        self._errands.ask("memory", partial(self._bank.get_memory, memory_id), self._read)

    def _read(self, memory: "Memory") -> None:
        preview = self.query_one(Preview)
        held = preview.has_focus_within
        preview.show(memory)
        if held:
            preview.enter()

    def action_read(self) -> None:
        """Read the memory under the cursor."""
        if self.query_one(Listing).current:
            self.query_one("#desk").add_class("reading")
            self._preview(_AT_ONCE)
            self.query_one(Preview).enter()

    def on_preview_followed(self, event: Preview.Followed) -> None:
        """Open a source, or list what names an entity or carries a tag."""
        preview, way = self.query_one(Preview), event.way
        if way.to == "memory":
            self._fetch_next(preview.memory, way.target)
            return
        question = Question(text=way.target) if way.to == "entity" else Question(tags=(way.target,))
        self._leave()
        self.query_one(Bar).fill(question)

    def _fetch_next(self, now: "Some | None", memory_id: str) -> None:
        def read(memory: "Memory") -> None:
            self._past += [now] if now else []
            self._read(memory)

        self._errands.ask("memory", partial(self._bank.get_memory, memory_id), read)

    def on_preview_left(self) -> None:
        """Go back to the memory before, or to the list."""
        if self._past:
            self.query_one(Preview).show(self._past.pop())
            self.query_one(Preview).enter()
        else:
            self._leave()

    def _leave(self) -> None:
        """Give the keyboard to the list, and show its memory again."""
        if self._past:
            self.query_one(Preview).show(self._past[0])
            self._past.clear()
        self.query_one("#desk").remove_class("reading")
        self.set_focus(self.query_one(Listing))

    def on_listing_chosen(self) -> None:
        """Read the memory that was clicked."""
        self.action_read()

    # -- the bar -------------------------------------------------------------------------------------------------------

    def on_bar_asked(self, event: Bar.Asked) -> None:
        """List or search for something else."""
        self._begin(event.question)

    def action_leave(self) -> None:
        """Give the keyboard to the list, and ask without waiting."""
        self.query_one(Bar).settle()
        self._leave()

    def action_write(self, recall: bool) -> None:  # noqa: FBT001 - as bindings name it
        """Have words typed, or a question."""
        self._leave()
        self.set_focus(self.query_one(Bar).write(recall=recall))

    def action_tag(self) -> None:
        """Have tags typed."""
        self._leave()
        self.set_focus(self.query_one("#tags", Input))

    def action_turn(self) -> None:
        """List the next type."""
        self.query_one(Bar).turn()

    def action_reload(self) -> None:
        """Ask for the same again."""
        self._begin(self._question, self.query_one(Listing).cursor)

    def action_clear(self) -> None:
        """List everything."""
        self.query_one(Bar).fill(Question())
