"""Results as a person sees them: what a repr tells, and the tables of notebooks and of rich."""

import io
import subprocess
import sys
from html.parser import HTMLParser
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from rich.pretty import pretty_repr
from rich.traceback import Traceback
from test_answers import ANSWERS, FACT, every_tool, read, structured

from hindsight_bank import Health
from hindsight_bank._generated import PUBLIC
from hindsight_bank.inert import one_line
from hindsight_bank.shown import Shown

CANARY = "canary"
HOSTILE = "\x1b[31m\x07 <script>alert(1)</script> &amp; [bold]x[/bold] $x^2$ \u202egnp \n" + CANARY
# Where an answer holds what a memory says.
PLANTED: dict[str, dict[str, Any]] = {
    "retain": {"message": HOSTILE},
    "recall": {
        "results": [
            FACT | {"text": HOSTILE, "context": HOSTILE, "tags": [HOSTILE], "entities": [HOSTILE]},
            FACT | {"metadata": {HOSTILE: HOSTILE}, "document_id": HOSTILE, "mentioned_at": "2026-03-02T10:00:00Z"},
        ],
        "chunks": {HOSTILE: {"chunk_text": HOSTILE, "chunk_index": 0, "truncated": False}},
        "entities": {HOSTILE: {"entity_id": "e", "canonical_name": HOSTILE, "observations": []}},
        "source_facts": {},
    },
    "reflect": {
        "text": HOSTILE,
        "based_on": {
            "world": [FACT | {"text": HOSTILE}],
            "directives": [{"id": "d", "name": HOSTILE, "content": HOSTILE}],
        },
        "structured_output": {HOSTILE: [{HOSTILE: HOSTILE}]},
        "usage": {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3},
        "tool_trace": [
            {"tool": "recall", "reason": HOSTILE, "input": {HOSTILE: 1}, "output": {}, "duration_ms": 1, "iteration": 1}
        ],
    },
    "list_memories": {
        "items": [
            FACT
            | {"text": HOSTILE, "context": HOSTILE, "date": "", "entities": HOSTILE, "tags": [HOSTILE]}
            | {"metadata": {HOSTILE: [HOSTILE]}, "proof_count": 2}
        ],
        "total": 1,
    },
    "get_memory": {
        "text": HOSTILE,
        "metadata": {HOSTILE: {HOSTILE: None}},
        "history": [HOSTILE, 1],
        "source_memory_ids": ["1", "2"],
        "source_memories": [FACT | {"text": HOSTILE, "type": "world"}],
    },
    "get_bank": {"name": HOSTILE, "mission": HOSTILE},
}
REPRS = {
    "retain": "RetainReceipt(status='accepted')",
    "recall": "RecallResult(2 results, 1 entities, 1 chunks)",
    "reflect": f"ReflectResult({len(HOSTILE)} characters, 1 structured_output, 1 tool_trace)",
    "list_memories": "MemoryPage(1 items, total=1, limit=100, offset=0)",
    "get_memory": f"Memory(id='{FACT['id']}', {len(HOSTILE)} characters, type='world', 1 metadata, 2 history,"
    " 2 source_memory_ids, 1 source_memories)",
    "get_bank": "BankProfile(bank_id='alice')",
}


class Page(HTMLParser):
    """What a browser would make of a table: its tags, and the text of its cells."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.cells: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        assert {name for name, _ in attributes} <= {"class", "dir", "style"}
        self.tags.add(tag)
        self.cells += [""] * (tag in ("td", "th", "p"))

    def handle_data(self, data: str) -> None:
        self.cells[-1] += data


def planted(tool: str) -> Any:
    return read(tool, structured(tool, **PLANTED[tool]))


def many(count: int) -> Any:
    return read("recall", structured("recall", results=[FACT | {"text": f"Fact {n}"} for n in range(count)]))


def printed(shown: Any, width: int) -> str:
    console = Console(file=io.StringIO(), width=width)
    console.print(shown)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


# -- short -------------------------------------------------------------------------------------------------------------


@every_tool
def test_a_repr_counts_what_a_result_holds_and_tells_no_memory(tool: str) -> None:
    """Public report: openai/openai-python #1196 (an error tracker stored an object's repr). Ours: its form."""
    result = planted(tool)
    assert repr(result) == str(result) == REPRS[tool]
    parts = [part for value in attrs.astuple(result, recurse=False) if isinstance(value, tuple) for part in value]
    assert not [part for part in parts if isinstance(part, Shown) and CANARY in repr(part)]


@every_tool
def test_what_walks_through_objects_tells_no_memory_either(tool: str) -> None:
    """Rich's tracebacks with locals print attrs classes attribute by attribute, unless `__rich_repr__` says what."""
    result = planted(tool)
    assert CANARY not in pretty_repr(result)
    try:
        assert result is None
    except AssertionError:
        told = printed(Traceback(show_locals=True, locals_max_string=10_000), 200)
    assert REPRS[tool].split("(")[0] in told
    assert CANARY not in told


def test_no_result_is_found_is_said() -> None:
    """Ours: nothing found and nothing known are not the same."""
    assert repr(many(0)) == "RecallResult(0 results)"


def test_every_type_shows_itself_and_stays_small() -> None:
    """Ours: results by the hundred thousand: slots, and no dict beside them."""
    import hindsight_bank  # noqa: PLC0415 - each class by its public name

    for name in PUBLIC:
        kind = getattr(hindsight_bank, name)
        assert issubclass(kind, Shown)
        assert "__repr__" not in vars(kind)
        assert not hasattr(object.__new__(kind), "__dict__")


# -- tables ------------------------------------------------------------------------------------------------------------


@every_tool
def test_a_notebook_shows_a_table_of_inert_text(tool: str) -> None:
    """HTML Living Standard, 13.1.2: what is escaped is text; MathJax ignores what its class says."""
    page = Page(text := planted(tool)._repr_html_())
    assert page.tags <= {"div", "table", "thead", "tbody", "tr", "th", "td", "p"}
    assert text.startswith('<div class="tex2jax_ignore mathjax_ignore">')
    assert not [c for c in text if not c.isprintable() and c != "\n"]
    assert any(CANARY in cell for cell in page.cells)


@given(st.text())
def test_a_cell_says_what_the_memory_says_and_is_text(text: str) -> None:
    """Ours: whatever the text, the table around it stays as it is."""
    fact = attrs.evolve(many(1).results[0], text=text)
    page = Page(attrs.evolve(many(1), results=(fact,))._repr_html_())
    shown = one_line(text)
    assert page.cells == ["", "type", *(["text"] if shown else []), "0", "world", *filter(None, [shown]), "1 results"]


@every_tool
@pytest.mark.parametrize("width", [40, 120])
def test_rich_prints_a_table_of_inert_text(tool: str, width: int) -> None:
    """Ours: what a server says is shown, never obeyed, and no wider than the terminal."""
    text = printed(planted(tool), width)
    assert not [c for c in text if not c.isprintable() and c != "\n"]
    assert max(map(len, text.splitlines())) <= width
    if width > 100:
        assert "[bold]x[/bold]" in text
        assert CANARY in text


def test_in_a_narrow_terminal_a_row_is_a_paragraph() -> None:
    """Ours: a column of two letters is no text."""
    fact = attrs.evolve(many(1).results[0], text="Alice prefers tea over coffee.", tags=("a", "b"))
    found = attrs.evolve(many(1), results=(fact,))
    assert printed(found, 79) == "Alice prefers tea over coffee.\n0 · world · a, b\n\n  1 results\n"
    assert "─" in printed(found, 80)
    assert "text\nAlice prefers tea over coffee.\n\n" in printed(fact, 49)
    assert "─" in printed(fact, 50)


def test_what_rich_prints_tells_no_memory_in_its_repr() -> None:
    """Public report: openai/openai-python #1196: tracebacks and logs show reprs."""
    printed = many(1).__rich__()
    assert "Fact 0" in str(printed.sheet.rows)
    assert "Fact 0" not in f"{printed!r}{printed.sheet!r}"


def test_nothing_found_is_no_empty_table() -> None:
    """Ours: a count says it."""
    assert Page(many(0)._repr_html_()).cells == ["0 results"]
    assert "<table" not in many(0)._repr_html_()
    assert printed(many(0), 100) == printed(many(0), 40) == "  0 results\n"


def test_a_long_list_shows_its_head_and_counts_the_rest() -> None:
    """Ours: what is left out is counted, never silent."""
    page = Page(many(1234)._repr_html_())
    assert page.cells[-1] == "30 of 1234 results, 1204 more in .results"
    assert page.cells[-3:-1] == ["world", "Fact 29"]
    assert "30 of 1234 results, 1204 more in .results" in printed(many(1234), 80)
    assert Page(many(30)._repr_html_()).cells[-1] == "30 results"


def test_a_long_text_is_cut_and_counts_the_rest() -> None:
    """Ours: a row in a list is short, a memory alone is long, and neither is endless."""
    fact = attrs.evolve(many(1).results[0], text="x" * 10_000)
    row = Page(attrs.evolve(many(1), results=(fact,))._repr_html_())
    assert "x" * 300 + "… 9700 more characters" in row.cells
    assert "x" * 5000 + "… 5000 more characters" in Page(fact._repr_html_()).cells


def test_many_sources_are_cut_and_counted() -> None:
    """Ours: an observation may rest on hundreds of facts."""
    sources = [FACT | {"text": f"Source {n}", "type": "world"} for n in range(100)]
    cells = Page(read("get_memory", structured("get_memory", source_memories=sources))._repr_html_()).cells
    lines = cells[cells.index("source_memories") + 1].splitlines()
    assert (len(lines), lines[29], lines[30]) == (31, "• Source 29", "… 70 more")


def test_a_part_stands_under_its_path() -> None:
    """Ours: a table says how its value is reached."""
    health = Health(bank=planted("get_bank"), seconds=0.25, server="hindsight 1.1.0", protocol="2026-07-28")
    assert "<p>" not in health._repr_html_()
    cells = Page(health._repr_html_()).cells
    assert cells[cells.index("bank.disposition.empathy") + 1] == "3"
    assert cells[cells.index("seconds") + 1] == "0.25"


@pytest.mark.parametrize(
    ("date", "shown"), [("2025-03-02T10:00:00.050000+00:00", "2025-03-02 10:00:00+00:00"), ("soon", "soon")]
)
def test_every_time_looks_the_same(date: str, shown: str) -> None:
    """Hindsight 0.4.14 to 1.1.0: the date of a memory is text, with microseconds; its other times are times."""
    cells = Page(read("get_memory", structured("get_memory", date=date))._repr_html_()).cells
    assert cells[cells.index("date") + 1] == shown


def test_the_core_loads_neither_the_tables_nor_rich() -> None:
    """Ours: who shows nothing pays for nothing."""
    script = (
        "import sys; sys.modules['click'] = None; from hindsight_bank import Bank, Fact, Memory\n"
        "print(sys.modules.keys() & {'hindsight_bank.tables', 'hindsight_bank.inert', 'rich', 'IPython'})"
    )
    assert subprocess.run([sys.executable, "-c", script], check=True, capture_output=True).stdout.strip() == b"set()"


def test_the_tables_in_html_need_no_other_package() -> None:
    """Ours: a notebook has no rich, perhaps."""
    script = (
        "import sys; sys.modules['rich'] = None; from hindsight_bank import Disposition\n"
        "print(Disposition(skepticism=1, literalism=2, empathy=3)._repr_html_())"
    )
    shown = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True).stdout
    assert Page(shown.rstrip()).cells[:4] == ["Disposition", "value", "skepticism", "1"]


assert ANSWERS.keys() == PLANTED.keys() == REPRS.keys()
