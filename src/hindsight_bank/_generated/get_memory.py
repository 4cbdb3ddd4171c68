"""The types of the tool `get_memory`.

Generated; do not edit. `python -m codegen` makes this file from schemas/:

    tools/get_memory.json  sha256:b14746719ff244536615caa3c7b6a1dd2923f4b11728dd891811a376af251c7e
"""

from typing import Any, Required, TypedDict, final

from msgspec import Raw, Struct
from msgspec.structs import force_setattr

from hindsight_bank._generated.reading import OrEmpty, Timestamp
from hindsight_bank.layout import frozen
from hindsight_bank.shown import Shown


@final
@frozen(kw_only=True)
class SourceMemory(Shown):
    """A memory that an observation was built from, in short.

    Attributes:
        id: The memory's UUID in lower case.
        text: What is remembered.
        type: The kind of memory: world or experience. More may come.
        context: The context it was retained with.
        occurred_start: When what it tells began. None if unknown.
        mentioned_at: When it was said or learned. None if unknown.
    """

    id: str
    text: str
    type: str
    context: str | None
    occurred_start: Timestamp | None
    mentioned_at: Timestamp | None


@final
@frozen(kw_only=True)
class Memory(Shown):
    """A memory as get_memory fetches it, with all that the server knows of it.

    Attributes:
        id: The memory's UUID in lower case.
        text: What is remembered, in one or a few sentences.
        context: The context it was retained with, or an empty string.
        date: ISO 8601: the date the server sorts it under. Text, because it is empty where there is none.
        type: The kind of memory, elsewhere named fact_type: world, experience or observation; opinion in old banks.
            More may come.
        mentioned_at: When it was said or learned. None if unknown.
        occurred_start: When what it tells began. None if unknown.
        occurred_end: When what it tells ended. None if unknown.
        entities: Names of the people, places and things it mentions.
        document_id: The document it was extracted from. None for an observation.
        chunk_id: The chunk of the document it was extracted from. None for an observation.
        tags: The tags it was retained with.
        metadata: What its retain attached; values written by other ways than retain may be any JSON. None if not sent.
            Since 0.8.5.
        observation_scopes: Which tags the observations drawn from it get: a word or lists of tags. None if not set.
            Since 0.4.15.
        state: `valid` or `invalidated`. Since 0.8.2.
        invalidation_reason: Why it was invalidated. None if it is valid, or nobody said. Since 0.8.2.
        invalidated_at: When it was invalidated. None if it is valid. Since 0.8.2.
        edited_at: When somebody last edited it. None if never. Since 0.8.2.
        consolidated_at: When observations were last drawn from it. None if not yet. Since 1.1.0.
        consolidation_failed_at: When drawing observations from it failed. None if it did not. Since 1.1.0.
        history: Deprecated by the server, and empty in every answer seen. None if not sent. Since 0.4.17.
        source_memory_ids: Ids of the memories an observation was built from.
        source_memories: Those of source_memory_ids that still exist, latest mentioned first.
    """

    id: str
    text: str
    context: str
    date: str
    type: str
    mentioned_at: Timestamp | None
    occurred_start: Timestamp | None
    occurred_end: Timestamp | None
    entities: OrEmpty[tuple[str, ...]]
    document_id: str | None
    chunk_id: str | None
    tags: OrEmpty[tuple[str, ...]]
    metadata: dict[str, Any] | None = None
    observation_scopes: str | tuple[Any, ...] | None = None
    state: str | None = None
    invalidation_reason: str | None = None
    invalidated_at: Timestamp | None = None
    edited_at: Timestamp | None = None
    consolidated_at: Timestamp | None = None
    consolidation_failed_at: Timestamp | None = None
    history: tuple[Any, ...] | None = None
    source_memory_ids: OrEmpty[tuple[str, ...]] = ()
    source_memories: OrEmpty[tuple[SourceMemory, ...]] = ()
    error: None = None

    def __post_init__(self) -> None:
        if self.entities is None:
            force_setattr(self, "entities", ())
        if self.tags is None:
            force_setattr(self, "tags", ())
        if self.source_memory_ids is None:
            force_setattr(self, "source_memory_ids", ())
        if self.source_memories is None:
            force_setattr(self, "source_memories", ())


class _Memory(Struct, frozen=True, kw_only=True):
    """Memory as it comes over the wire."""

    id: str
    text: str
    context: str
    date: str
    type: str
    mentioned_at: Timestamp | None
    occurred_start: Timestamp | None
    occurred_end: Timestamp | None
    entities: OrEmpty[tuple[str, ...]]
    document_id: str | None
    chunk_id: str | None
    tags: OrEmpty[tuple[str, ...]]
    metadata: dict[str, Any] | None = None
    observation_scopes: str | tuple[Any, ...] | None = None
    state: str | None = None
    invalidation_reason: str | None = None
    invalidated_at: Timestamp | None = None
    edited_at: Timestamp | None = None
    consolidated_at: Timestamp | None = None
    consolidation_failed_at: Timestamp | None = None
    history: tuple[Any, ...] | None = None
    source_memory_ids: OrEmpty[tuple[str, ...]] = ()
    source_memories: OrEmpty[tuple[SourceMemory, ...]] = ()
    error: None = None
    status: Raw = Raw()

    def build(self) -> Memory:
        return Memory(
            id=self.id,
            text=self.text,
            context=self.context,
            date=self.date,
            type=self.type,
            mentioned_at=self.mentioned_at,
            occurred_start=self.occurred_start,
            occurred_end=self.occurred_end,
            entities=self.entities,
            document_id=self.document_id,
            chunk_id=self.chunk_id,
            tags=self.tags,
            metadata=self.metadata,
            observation_scopes=self.observation_scopes,
            state=self.state,
            invalidation_reason=self.invalidation_reason,
            invalidated_at=self.invalidated_at,
            edited_at=self.edited_at,
            consolidated_at=self.consolidated_at,
            consolidation_failed_at=self.consolidation_failed_at,
            history=self.history,
            source_memory_ids=self.source_memory_ids,
            source_memories=self.source_memories,
        )


Answer = _Memory


class Arguments(TypedDict, total=False):
    """What get_memory takes, by our rules too. None is never sent."""

    memory_id: Required[str]


EXCLUSIVE: tuple[tuple[str, ...], ...] = ()
TIMES: tuple[str, ...] = ()
