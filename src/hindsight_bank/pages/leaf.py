"""A memory laid out for reading, and the ways that lead on from it; every text inert."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final, Literal, TypeAlias

from attrs import frozen
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from hindsight_bank import Fact, Memory, MemoryItem
from hindsight_bank.inert import inert, one_line
from hindsight_bank.pages.listing import COLOURS

Some: TypeAlias = Memory | MemoryItem | Fact

_TIMES: Final = {
    "mentioned_at": "said",
    "occurred_start": "began",
    "occurred_end": "ended",
    "edited_at": "edited",
    "invalidated_at": "invalid",
    "consolidated_at": "summed up",
}


@frozen
class Way:
    """A way on: to a memory by its id, or to all that name an entity or carry a tag."""

    to: Literal["memory", "entity", "tag"]
    target: str
    label: str


def leaf(memory: Some) -> RenderableType:
    """Lay out what is known of a memory."""
    grid = Table.grid(padding=(0, 1))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(ratio=1, overflow="fold")
    for name, value in _known(memory):
        if value:
            grid.add_row(name, Text(one_line(value), COLOURS.get(value, "")))
    return Group(Text(inert(memory.text), overflow="fold"), "", grid)


def ways(memory: Some) -> list[Way]:
    """Return the ways on: its sources first."""
    sources = [Way("memory", each.id, each.text) for each in getattr(memory, "source_memories", ())]
    entities = [Way("entity", name, name) for name in memory.entities if not isinstance(memory, MemoryItem)]
    return [*sources, *entities, *(Way("tag", tag, tag) for tag in memory.tags)]


def _known(memory: Some) -> Iterator[tuple[str, str]]:
    yield "type", kind(memory)
    for name, label in _TIMES.items():
        yield label, _moment(getattr(memory, name, None))
    if isinstance(memory.entities, str):
        yield "entities", memory.entities
    else:
        yield "entities", ", ".join(memory.entities)
    yield "tags", ", ".join(memory.tags)
    yield "context", memory.context or ""
    yield "document", memory.document_id or ""
    for key, value in (memory.metadata or {}).items():
        yield one_line(key)[:16], str(value)
    for name in ("state", "invalidation_reason"):
        value = getattr(memory, name, None)
        yield name.rpartition("_")[2], "" if value in (None, "valid") else str(value)
    yield "sources", _sources(memory)
    yield "id", memory.id


def kind(memory: Some) -> str:
    """Return a memory's type, which has two names on the wire."""
    return memory.type if isinstance(memory, Memory) else memory.fact_type


def _sources(memory: Any) -> str:
    ids, here = getattr(memory, "source_memory_ids", None) or (), getattr(memory, "source_memories", ())
    gone = f", {len(ids) - len(here)} no longer there" if here and len(here) < len(ids) else ""
    return f"{len(ids)}{gone}" if ids else ""


def _moment(moment: datetime | None) -> str:
    return f"{moment:%Y-%m-%d %H:%M}" if moment else ""
