"""The types of the tool `list_memories`.

Generated; do not edit. `python -m codegen` makes this file from schemas/:

    tools/list_memories.json  sha256:b34079c739ca2df225f185c25f3a075f5c31e3f308f694df5245581de4d0bf9b
"""

from typing import Annotated, Any, Literal, TypedDict, final

from msgspec import Meta, Raw, Struct
from msgspec.structs import force_setattr

from hindsight_bank._generated.reading import OrEmpty, Timestamp
from hindsight_bank.layout import frozen
from hindsight_bank.shown import Shown


@final
@frozen(kw_only=True)
class MemoryItem(Shown):
    """A memory as list_memories lists it.

    Attributes:
        id: The memory's UUID in lower case.
        text: What is remembered, in one or a few sentences.
        context: The context it was retained with, or an empty string.
        date: ISO 8601: the date the server sorts it under. Text, because it is empty where there is none.
        fact_type: The kind of memory: world, experience or observation; opinion in old banks. More may come.
        document_id: The document it was extracted from. None for an observation. Since 0.8.2.
        mentioned_at: When it was said or learned. None if unknown.
        occurred_start: When what it tells began. None if unknown.
        occurred_end: When what it tells ended. None if unknown.
        entities: Names of the entities it mentions, joined by a comma and a space (a name may have one too); get_memory
            lists them.
        chunk_id: The chunk of the document it was extracted from. None for an observation.
        proof_count: How many facts support it: 1, or more for an observation.
        tags: The tags it was retained with.
        metadata: What its retain attached; values written by other ways than retain may be any JSON. None if not sent.
            Since 0.8.5.
        consolidated_at: When observations were last drawn from it. None if not yet. Since 0.5.3.
        consolidation_failed_at: When drawing observations from it failed. None if it did not. Since 0.5.3.
        state: Always `valid` so far: invalidated memories are not listed. Since 0.8.2.
        invalidation_reason: Why it was invalidated. Since 0.8.2.
        invalidated_at: When it was invalidated. Since 0.8.2.
        edited_at: When somebody last edited it. None if never. Since 0.8.2.
        updated_at: When the server last wrote it. Since 0.9.2.
        source_memory_ids: Ids of the memories an observation was built from. None if not sent. Since 0.9.2.
    """

    id: str
    text: str
    context: str
    date: str
    fact_type: str
    document_id: str | None = None
    mentioned_at: Timestamp | None
    occurred_start: Timestamp | None
    occurred_end: Timestamp | None
    entities: str
    chunk_id: str | None
    proof_count: int
    tags: OrEmpty[tuple[str, ...]]
    metadata: dict[str, Any] | None = None
    consolidated_at: Timestamp | None = None
    consolidation_failed_at: Timestamp | None = None
    state: str | None = None
    invalidation_reason: str | None = None
    invalidated_at: Timestamp | None = None
    edited_at: Timestamp | None = None
    updated_at: Timestamp | None = None
    source_memory_ids: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if self.tags is None:
            force_setattr(self, "tags", ())


@final
@frozen(kw_only=True)
class MemoryPage(Shown):
    """One page of the bank's memories.

    Attributes:
        items: The memories, latest mentioned first.
        total: How many memories match, on all pages.
        limit: The limit asked for.
        offset: The offset asked for.
    """

    items: tuple[MemoryItem, ...]
    total: int
    limit: int
    offset: int
    error: None = None


class _MemoryPage(Struct, frozen=True, kw_only=True):
    """MemoryPage as it comes over the wire."""

    items: tuple[MemoryItem, ...]
    total: int
    limit: int
    offset: int
    error: None = None
    status: Raw = Raw()

    def build(self) -> MemoryPage:
        return MemoryPage(
            items=self.items,
            total=self.total,
            limit=self.limit,
            offset=self.offset,
        )


Answer = _MemoryPage


class Arguments(TypedDict, total=False):
    """What list_memories takes, by our rules too. None is never sent."""

    type: str
    q: str
    limit: Annotated[int, Meta(ge=0)]
    offset: Annotated[int, Meta(ge=0)]
    tags: list[str]
    tags_match: Literal["any", "all", "any_strict", "all_strict", "exact"]


EXCLUSIVE: tuple[tuple[str, ...], ...] = ()
TIMES: tuple[str, ...] = ()
