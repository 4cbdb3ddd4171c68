"""What the pages ask a bank: reading calls only, each in a thread."""

from typing import TYPE_CHECKING

from hindsight_bank.pages.window import PAGE, Window

if TYPE_CHECKING:
    from hindsight_bank import Bank, Fact, MemoryItem, MemoryPage
    from hindsight_bank.pages.bar import Question


def first(bank: "Bank", question: "Question") -> "Window[MemoryItem | Fact]":
    """Search, or list the first page."""
    if question.recall and question.text:
        return Window.whole(_search(bank, question))
    window: Window[MemoryItem | Fact] = Window()
    page = more(bank, question, 0)
    window.put(0, page.items, page.total)
    return window


def more(bank: "Bank", question: "Question", offset: int) -> "MemoryPage":
    """List one page; all the tags asked for are on each of its memories."""
    return bank.list_memories(
        q=None if question.recall else question.text or None,
        type=question.type or None,
        tags=question.tags or None,
        tags_match="all_strict" if question.tags else None,
        limit=PAGE,
        offset=offset,
    )


def _search(bank: "Bank", question: "Question") -> "tuple[Fact, ...]":
    return bank.recall(
        question.text,
        types=[question.type] if question.type else None,
        tags=question.tags or None,
        tags_match="all_strict" if question.tags else None,
    ).results
