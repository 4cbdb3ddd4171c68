"""The bar above the list: what is asked for, as it is being typed."""

from typing import TYPE_CHECKING, Final

from attrs import evolve, frozen
from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.events import Click
from textual.message import Message
from textual.widgets import Input, Static

if TYPE_CHECKING:
    from textual.timer import Timer

TYPES: Final = ("", "world", "experience", "observation")
# Seconds without a key until what is typed counts.
_PAUSE: Final = 0.3


@frozen
class Question:
    """What is asked for.

    Attributes:
        text: Words that a memory contains; or, with `recall`, a question.
        recall: Whether the bank is searched by recall rather than listed.
        tags: Tags that a memory carries.
        type: The kind of memory, or an empty string for all.
    """

    text: str = ""
    recall: bool = False
    tags: tuple[str, ...] = ()
    type: str = ""


class Bar(Horizontal):
    """The fields of the question."""

    DEFAULT_CSS = """
    Bar { height: 1; background: $panel; }
    Bar Static { width: auto; padding: 0 1; }
    Bar #text { width: 2fr; }
    Bar #tags { width: 1fr; }
    """

    class Asked(Message):
        """Something else is asked for."""

        def __init__(self, question: Question) -> None:
            super().__init__()
            self.question = question

    def __init__(self) -> None:
        super().__init__()
        self.question = Question()
        self._pause: Timer | None = None

    def compose(self) -> ComposeResult:
        """Lay out the fields in one line."""
        yield Static("/", id="mode", markup=False)
        yield Input(placeholder="words", compact=True, id="text", max_length=500)
        yield Input(placeholder="tags", compact=True, id="tags", max_length=500)
        yield Static("any type", id="type", markup=False)

    def write(self, *, recall: bool) -> Input:
        """Ask for words, or by a question for recall, and return the field for them."""
        self.ask(evolve(self.question, recall=recall))
        return self._turn_to(recall=recall)

    def turn(self) -> None:
        """Ask for the next type."""
        self.ask(evolve(self.question, type=TYPES[(TYPES.index(self.question.type) + 1) % len(TYPES)]))

    def fill(self, question: Question) -> None:
        """Ask for something that nobody typed."""
        with self.prevent(Input.Changed):
            self._turn_to(recall=question.recall).value = question.text
            self.query_one("#tags", Input).value = " ".join(question.tags)
        self.ask(question)

    def _turn_to(self, *, recall: bool) -> Input:
        """Show which of the two the text is, and return its field."""
        self.query_one("#mode", Static).update("?" if recall else "/")
        text = self.query_one("#text", Input)
        text.placeholder = "a question" if recall else "words"
        return text

    def ask(self, question: Question) -> None:
        """Ask, unless it is asked already."""
        self.query_one("#type", Static).update(question.type or "any type")
        if question != self.question:
            self.question = question
            self.post_message(self.Asked(question))

    def on_input_changed(self, _: Input.Changed) -> None:
        """Wait for a pause in the typing."""
        if self._pause is not None:
            self._pause.stop()
        self._pause = self.set_timer(_PAUSE, self.settle)

    def settle(self) -> None:
        """Be content with what is typed."""
        text = self.query_one("#text", Input).value.strip()
        tags = tuple(self.query_one("#tags", Input).value.replace(",", " ").split())
        self.ask(evolve(self.question, text=text, tags=tags))

    @on(Click, "#type")
    def clicked(self) -> None:
        """Ask for the next type."""
        self.turn()
