"""The pages as a person at a keyboard meets them: textual's own pilot, on a bank that is scripted."""

import asyncio
import subprocess
import sys
import threading
import time
import unicodedata
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from attrs import evolve
from conftest import OpenBank, Serve
from rich.cells import cell_len
from test_answers import FACT, read, structured
from textual.events import Key
from textual.pilot import Pilot
from textual.widgets import Input
from wire_server import MEMORY, PATIENCE, Hindsight

from hindsight_bank import (
    AnswerLostError,
    ArgumentsError,
    BackingOffError,
    Fact,
    IncompatibleServer,
    Memory,
    MemoryItem,
    MemoryPage,
    NotFoundError,
    ProtocolError,
    RecallResult,
    SourceMemory,
    UnauthorizedError,
    UnreachableError,
    pages,
)
from hindsight_bank.pages.app import Pages
from hindsight_bank.pages.errands import sentence
from hindsight_bank.pages.listing import Listing
from hindsight_bank.pages.preview import Preview
from hindsight_bank.pages.window import Window

# An escape sequence, console markup, an override of the reading direction, a bell, wide characters, a joined emoji.
HOSTILE = (
    "\x1b[2J\x1b]0;t\x07 [bold red]markup[/] [@click=app.quit]x[/] \u202egnp\u202c 全角 👩\u200d🚀 \x9b31m\r\n\tend"
)

FOUND: Fact = read("recall", structured("recall")).results[0]
READ: Memory = read("get_memory", structured("get_memory"))
ITEM: MemoryItem = read(
    "list_memories",
    structured(
        "list_memories", items=[FACT | {"context": "", "date": "", "entities": "", "tags": [], "proof_count": 1}]
    ),
).items[0]

# What textual calls the keys that are no letters.
NAMED = {"/": "slash", "?": "question_mark", "#": "number_sign", "\r": "enter"}

Script = Callable[["Pages", Pilot[None]], Awaitable[None]]


class Shelf:
    """A bank that can only be read: memory N is named "memory N", and its text too."""

    bank_id = "alice"

    def __init__(self, total: int = 250, text: str = "") -> None:
        self.total = total
        self.text = text
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.fault: Exception | None = None
        self.gate = threading.Event()
        self.gate.set()

    @property
    def offsets(self) -> list[int]:
        return [given["offset"] for name, given in self.calls if name == "list_memories"]

    def last(self, tool: str) -> dict[str, Any]:
        return next((given for name, given in reversed(self.calls) if name == tool), {})

    def list_memories(self, **given: Any) -> MemoryPage:
        self._called("list_memories", given)
        numbers = range(given["offset"], min(given["offset"] + given["limit"], self.total))
        items = tuple(evolve(ITEM, id=f"memory {n}", text=self.text or f"memory {n}") for n in numbers)
        return MemoryPage(items=items, total=self.total, limit=given["limit"], offset=given["offset"])

    def recall(self, query: str, **given: Any) -> RecallResult:
        self._called("recall", {"query": query, **given})
        fact = evolve(FOUND, id=query, text=f"answer to {query}")
        return RecallResult(results=(fact,), trace=None, entities=None, chunks=None, source_facts=None)

    def get_memory(self, memory_id: str) -> Memory:
        self._called("get_memory", {"memory_id": memory_id})
        source: dict[str, Any] = {"type": "world", "context": None, "occurred_start": None, "mentioned_at": None}
        return evolve(
            READ,
            id=memory_id,
            text=self.text or f"all of {memory_id}",
            entities=(self.text or "Alice, Bob",),
            tags=(self.text or "tea",),
            metadata={self.text or "source": self.text or "chat"},
            source_memories=(SourceMemory(id=f"{memory_id}+", text=self.text or f"before {memory_id}", **source),),
        )

    def _called(self, name: str, given: dict[str, Any]) -> None:
        self.calls.append((name, {name: value for name, value in given.items() if value is not None}))
        self.gate.wait(PATIENCE)
        if self.fault is not None:
            raise self.fault


def browse(bank: Any, script: Script, size: tuple[int, int] = (120, 40)) -> None:
    """Run the pages in a terminal of this size, and the script in them."""

    async def run() -> None:
        app = Pages(bank)
        async with app.run_test(size=size) as pilot:
            await script(app, pilot)

    asyncio.run(run())


async def until(pilot: Pilot[None], reached: Callable[[], Any]) -> None:
    patience = time.monotonic() + PATIENCE
    while not reached():
        assert time.monotonic() < patience, f"it does not come to that:\n{screen(pilot.app)}"
        await pilot.pause(0.01)


async def sees(pilot: Pilot[None], text: str) -> None:
    await until(pilot, lambda: text in screen(pilot.app))


def screen(app: Any) -> str:
    """Return what the terminal shows."""
    return "\n".join(strip.text for strip in app.screen._compositor.render_strips())


def burst(app: Pages, keys: str) -> None:
    """Press keys faster than any of them is looked at."""
    for key in keys:
        app.post_message(Key(NAMED.get(key, key), key))


async def write(pilot: Pilot[None], text: str) -> None:
    field = pilot.app.focused
    assert isinstance(field, Input)
    field.value = text
    await pilot.pause()


# -- the list ----------------------------------------------------------------------------------------------------------


def test_of_a_hundred_thousand_memories_only_what_is_in_view_is_fetched() -> None:
    """Ours: a bank may hold any number."""
    shelf = Shelf(100_000)

    async def script(app: Pages, pilot: Pilot[None]) -> None:
        await sees(pilot, "alice · 1 of 100,000")
        await sees(pilot, "memory 3")
        await pilot.press("end")
        await sees(pilot, "memory 99999")
        await sees(pilot, "alice · 100,000 of 100,000")
        assert shelf.offsets == [0, 99_900]
        app.query_one(Listing).action_move_to(50_000)
        await sees(pilot, "memory 50000")
        await pilot.press("home", "down", "j", "up", "k", "pagedown", "pageup")
        await sees(pilot, "memory 0 ")
        assert set(shelf.offsets) <= {0, 49_900, 50_000, 99_900}
        assert len(shelf.offsets) <= 5

    browse(shelf, script)


def test_the_list_grows_and_shrinks_with_the_bank() -> None:
    """Ours: memories come and go while somebody looks; `r` looks again."""
    shelf = Shelf(1)

    async def script(_: Pages, pilot: Pilot[None]) -> None:
        await sees(pilot, "1 of 1")
        for total, line in ((300, "1 of 300"), (0, "0 of 0"), (2, "1 of 2")):
            shelf.total = total
            await pilot.press("r")
            await sees(pilot, line)
        await until(pilot, lambda: "nothing found" not in screen(pilot.app))

    browse(shelf, script)


def test_the_list_is_filtered_by_type_words_and_tags() -> None:
    """Ours: a memory shown carries all the tags asked for."""
    shelf = Shelf()

    async def script(_: Pages, pilot: Pilot[None]) -> None:
        await sees(pilot, "memory 3")
        await pilot.press("t", "t")
        await until(pilot, lambda: shelf.last("list_memories").get("type") == "experience")
        await pilot.press("slash")
        await write(pilot, "tea time")
        await pilot.press("enter", "number_sign")
        await write(pilot, "a b")
        await pilot.press("enter")
        filters = {"q": "tea time", "type": "experience", "tags": ("a", "b"), "tags_match": "all_strict"}
        await until(pilot, lambda: shelf.last("list_memories") == {**filters, "limit": 100, "offset": 0})
        await sees(pilot, "esc Clear")
        await pilot.press("escape")
        await until(pilot, lambda: shelf.last("list_memories") == {"limit": 100, "offset": 0})
        await pilot.click("#type")
        await until(pilot, lambda: shelf.last("list_memories").get("type") == "world")

    browse(shelf, script)


# -- recall ------------------------------------------------------------------------------------------------------------


def test_recall_answers_while_the_question_is_being_typed() -> None:
    """Ours: without a key for it, after a pause."""
    shelf = Shelf()

    async def script(_: Pages, pilot: Pilot[None]) -> None:
        await sees(pilot, "memory 3")
        await pilot.press("question_mark")
        await pilot.press("w", "h", "o")
        await sees(pilot, "answer to who")
        await pilot.press("down", "t")
        await until(pilot, lambda: shelf.last("recall") == {"query": "who", "types": ["world"]})

    browse(shelf, script)


@pytest.mark.parametrize(
    ("keys", "field", "typed"), [("/quit", "#text", "quit"), ("?jr#", "#text", "jr#"), ("#tr?", "#tags", "tr?")]
)
def test_keys_that_come_in_one_burst_go_where_the_first_sends_them(keys: str, field: str, typed: str) -> None:
    """Ours: a paste and a slow line bring several keys at once."""
    shelf = Shelf()

    async def script(app: Pages, pilot: Pilot[None]) -> None:
        await sees(pilot, "memory 3")
        burst(app, keys)
        await until(pilot, lambda: app.query_one(field, Input).value == typed)
        burst(app, "\rt")
        await until(pilot, lambda: "'world'" in str(shelf.calls))
        await sees(pilot, "alice · ")
        assert isinstance(app.focused, Listing)
        assert app.query_one(field, Input).value == typed

    browse(shelf, script)


def test_who_leaves_recall_is_asked_for_words_again() -> None:
    """Ours: Escape gives up the field, then the question."""

    async def script(app: Pages, pilot: Pilot[None]) -> None:
        await sees(pilot, "memory 3")
        await pilot.press("question_mark")
        assert app.query_one("#text", Input).placeholder == "a question"
        await write(pilot, "tea")
        await pilot.press("escape")
        await sees(pilot, "answer to tea")
        await pilot.press("escape")
        await sees(pilot, "memory 3")
        assert app.query_one("#text", Input).placeholder == "words"

    browse(Shelf(), script)


def test_a_stale_answer_is_dropped_and_of_the_questions_that_wait_only_the_last_is_asked() -> None:
    """Ours: a slow server gets one call at a time."""
    shelf = Shelf()

    async def script(app: Pages, pilot: Pilot[None]) -> None:
        await sees(pilot, "all of memory 0")
        await pilot.press("question_mark")
        shelf.gate.clear()
        for text in ("one", "two", "three"):
            await write(pilot, text)
            await pilot.press("enter", "question_mark")
        await until(pilot, lambda: shelf.last("recall"))
        shelf.gate.set()
        while "answer to three" not in screen(app):
            assert "answer to one" not in screen(app)
            await pilot.pause(0.01)
        assert [given["query"] for name, given in shelf.calls if name == "recall"] == ["one", "three"]

    browse(shelf, script)


# -- the preview -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [(120, 40), (40, 20)])
def test_a_memory_is_read_its_source_followed_and_the_way_back_taken(size: tuple[int, int]) -> None:
    """Ours: back to where one was, then to the list."""

    async def script(app: Pages, pilot: Pilot[None]) -> None:
        await sees(pilot, "memory 3")
        await pilot.press("down", "enter")
        await sees(pilot, "all of memory 1")
        await pilot.press("enter")
        await sees(pilot, "all of memory 1+")
        await pilot.press("enter")
        await sees(pilot, "all of memory 1++")
        await pilot.press("escape")
        await sees(pilot, "before memory 1+")
        await pilot.press("backspace")
        await until(pilot, lambda: "memory 1+" not in screen(app).replace("before memory 1", ""))
        assert not app.query_one(Listing).has_focus
        await pilot.press("escape")
        await sees(pilot, "memory 3")
        assert app.query_one(Listing).has_focus

    browse(Shelf(), script, size)


def test_the_memory_under_the_cursor_is_previewed_with_all_that_is_known_of_it() -> None:
    """Ours: at once what the list knows, then the rest."""
    shelf = Shelf()

    async def script(_: Pages, pilot: Pilot[None]) -> None:
        await sees(pilot, "all of memory 0")
        for known in ("Alice, Bob", "tea", "chat", "→ before memory 0", "@ Alice, Bob", "# tea"):
            await sees(pilot, known)
        shelf.fault = NotFoundError("Memory 'memory 1' not found", what="memory")
        await pilot.press("down")
        await sees(pilot, "not found; it may be gone: r loads again")
        assert "memory 1" in screen(pilot.app)

    browse(shelf, script)


def test_where_nothing_is_found_nothing_is_previewed() -> None:
    """Ours: what is no longer listed is no answer to what was asked."""
    shelf = Shelf(1)

    async def script(app: Pages, pilot: Pilot[None]) -> None:
        await sees(pilot, "all of memory 0")
        shelf.total = 0
        await pilot.press("t")
        await sees(pilot, "nothing found")
        await until(pilot, lambda: "memory 0" not in screen(app))
        assert app.query_one(Preview).memory is None

    browse(shelf, script)


def test_a_long_text_is_read_to_its_end_while_the_keyboard_is_with_the_ways() -> None:
    """Ours: space and b turn its pages."""
    shelf = Shelf(text="word " * 200 + "end.")

    async def script(app: Pages, pilot: Pilot[None]) -> None:
        await until(pilot, lambda: app.query_one(Listing).current)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.query_one(Preview).memory, Memory))
        await pilot.pause()
        top = screen(app)
        await pilot.press(*["space"] * 40)
        await sees(pilot, "end.")
        await pilot.press(*["b"] * 40)
        await until(pilot, lambda: screen(app) == top)

    browse(shelf, script, (40, 20))


def test_a_narrow_terminal_still_says_how_to_quit() -> None:
    """Ours: the one thing that nobody should have to look for."""

    async def script(_: Pages, pilot: Pilot[None]) -> None:
        await sees(pilot, "memory 3")
        await sees(pilot, "q Quit")
        await pilot.press("enter")
        await sees(pilot, "all of memory 0")
        await sees(pilot, "q Quit")

    browse(Shelf(), script, size=(40, 20))


@pytest.mark.parametrize(("presses", "asked"), [(1, {"q": "Alice, Bob"}), (2, {"tags": ("tea",)})])
def test_an_entity_and_a_tag_lead_to_all_that_have_it(presses: int, asked: dict[str, Any]) -> None:
    """Ours: they fill in the filter."""
    shelf = Shelf()

    async def script(app: Pages, pilot: Pilot[None]) -> None:
        await sees(pilot, "all of memory 0")
        await pilot.press("enter", *["down"] * presses, "enter")
        await until(pilot, lambda: asked.items() <= shelf.last("list_memories").items())
        assert app.query_one(Listing).has_focus

    browse(shelf, script)


# -- whatever comes ----------------------------------------------------------------------------------------------------

ERRORS = [
    (UnauthorizedError("HTTP 401", status=401), "HTTP 401; quit, and come back with another key"),
    (ArgumentsError("list_memories: unknown @ tags"), "list_memories: unknown @ tags; change the filter"),
    (NotFoundError("no such bank"), "no such bank; it may be gone: r loads again"),
    (UnreachableError("no connection"), "no connection; see that the server runs; r tries again"),
    (BackingOffError("cools down"), "cools down; r tries again"),
    (AnswerLostError("cut"), "cut; r tries again"),
    (IncompatibleServer("no recall"), "no recall; this server cannot be browsed"),
    (ProtocolError("no\n\x1b[2JJSON"), "no \\x1b[2JJSON; please report it; r tries again"),
    (ZeroDivisionError(), "ZeroDivisionError; a fault of hindsight-bank: please report it"),
]


@pytest.mark.parametrize(("error", "line"), ERRORS, ids=[type(error).__name__ for error, _ in ERRORS])
def test_an_error_is_a_line_that_says_what_to_do(error: Exception, line: str) -> None:
    """Ours: nothing crashes."""
    assert sentence(error) == line


def test_after_an_error_nothing_is_asked_until_the_person_asks_again() -> None:
    """Ours: a server that is down is left alone, and what is listed stays."""
    shelf = Shelf(1000)

    async def script(_: Pages, pilot: Pilot[None]) -> None:
        await sees(pilot, "all of memory 0")
        shelf.fault = UnreachableError("no connection")
        await pilot.press("end")
        await sees(pilot, "no connection; see that the server runs; r tries again")
        asked = len(shelf.offsets)
        await pilot.press("pageup", "pageup", "home", "down", "up")
        await sees(pilot, "memory 3")
        await pilot.pause(0.3)
        assert len(shelf.offsets) == asked
        shelf.fault = None
        await pilot.press("r")
        await sees(pilot, "alice · 1 of 1,000")

    browse(shelf, script)


@pytest.mark.parametrize("size", [(120, 40), (80, 24), (40, 20), (10, 5)])
def test_hostile_memories_are_shown_inert_and_within_the_terminal(size: tuple[int, int]) -> None:
    """Ours: what a memory says is shown, never obeyed."""
    shelf = Shelf(30, HOSTILE)

    async def script(app: Pages, pilot: Pilot[None]) -> None:
        await until(pilot, lambda: app.query_one(Listing).current)
        await pilot.press("down", "enter")
        await until(pilot, lambda: isinstance(app.query_one(Preview).memory, Memory))
        for _ in range(2):
            await pilot.pause()
            lines = screen(app).splitlines()
            assert not [c for c in "".join(lines) if unicodedata.category(c) in ("Cc", "Cs") or c == "\u202e"]
            assert {cell_len(line) for line in lines} == {size[0]}
            await pilot.press("escape")
        assert size[0] < 80 or "[bold red]markup[/]" in screen(app)

    browse(shelf, script, size)


@pytest.mark.parametrize("keys", [["q"], ["ctrl+c"], ["slash", "q", "ctrl+c"]])
def test_quitting_waits_for_no_call(keys: list[str]) -> None:
    """Ours: a server that hangs does not hold the terminal."""
    shelf = Shelf()
    shelf.gate.clear()

    async def script(_: Pages, pilot: Pilot[None]) -> None:
        await until(pilot, lambda: shelf.calls)
        await pilot.press(*keys)
        await until(pilot, lambda: not pilot.app.is_running)

    browse(shelf, script)
    assert not shelf.gate.is_set()
    shelf.gate.set()


@pytest.mark.parametrize("generation", ["modern", "stateful"])
def test_a_bank_is_browsed_and_only_read_over_the_wire(generation: Any, serve: Serve, open_bank: OpenBank) -> None:
    """Hindsight 1.1.0, as scripted: both generations of the protocol. Ours: with none but the reading tools."""
    item = {**MEMORY, "fact_type": "world", "entities": "Alice", "proof_count": 1}
    listed = {"items": [item], "total": 1, "limit": 100, "offset": 0}
    server = serve(Hindsight(generation, {"list_memories": listed}))

    async def script(_: Pages, pilot: Pilot[None]) -> None:
        await sees(pilot, "alice · 1 of 1")
        await until(pilot, lambda: "get_memory" in server.log)
        await pilot.press("q")

    browse(open_bank(server), script)
    assert set(server.log) <= {"tools/list", "initialize", "notifications/initialized", "get_bank", "DELETE"} | {
        "list_memories",
        "get_memory",
    }


def test_textual_is_loaded_when_the_pages_open() -> None:
    """Ours: heavy imports load at first use; without the extra, an ImportError names what is missing."""
    script = (
        "import sys; sys.modules['textual'] = None\n"
        "from hindsight_bank.pages import run\n"
        "try: run(None)\n"
        "except ModuleNotFoundError as error: print(error.name)"
    )
    said = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True).stdout
    assert said.split(".")[0].strip() == "textual"
    assert pages.run.__doc__


# -- the window --------------------------------------------------------------------------------------------------------


def test_a_window_holds_the_pages_looked_at_last() -> None:
    """Ours: memory stays flat however far one scrolls."""
    window: Window[int] = Window(page=10, held=2)
    assert window.missing(0, 5) == 0
    for offset in (0, 10, 20):
        window.put(offset, range(offset, offset + 10), 100)
        assert window.missing(0, 5) is None
    assert (window.row(0), window.row(10), window.row(25), window.row(99)) == (0, None, 25, None)
    assert window.missing(5, 15) == 10
    assert window.missing(20, 29) is None
    assert window.missing(95, 200) == 90


def test_a_page_shorter_than_promised_is_not_asked_for_again() -> None:
    """Ours: memories go while somebody looks."""
    window: Window[int] = Window(page=10)
    window.put(0, [1, 2], 10)
    assert window.missing(0, 9) is None
    assert (window.row(1), window.row(2)) == (2, None)
    assert Window.whole([]).missing(0, 9) is None
