"""The types of the tool `recall`.

Generated; do not edit. `python -m codegen` makes this file from schemas/:

    rules/recall.json  sha256:c67646f4749236f570c91d021792041af1afdf8065aa8f67ba88f2c6a46e2aa5
    tools/recall.json  sha256:e3091a3f8515d9a6c8700a320ccedfd232a0f6a43efd9035ce384656fcc1f8c7
    types/fact.json  sha256:16c4c627540bd13da68a48eab98616bed3a67b03e3ea819f6424bf1e94a31f76
"""

from typing import Annotated, Any, Literal, Required, TypedDict, final

from msgspec import Meta, Raw, Struct
from msgspec.structs import force_setattr

from hindsight_bank._generated.fact import Fact
from hindsight_bank._generated.reading import OrEmpty, Timestamp
from hindsight_bank.layout import frozen
from hindsight_bank.shown import Shown


@final
@frozen(kw_only=True)
class Chunk(Shown):
    """A passage of a retained text.

    Attributes:
        chunk_text: The passage as it was retained.
        chunk_index: Its place in the document, from 0.
        truncated: Whether max_chunk_tokens cut chunk_text short.
    """

    chunk_text: str
    chunk_index: int
    truncated: bool


@final
@frozen(kw_only=True)
class EntityObservation(Shown):
    """One conclusion about an entity.

    Attributes:
        text: The conclusion, in a sentence.
        mentioned_at: When it was drawn. None if unknown.
    """

    text: str
    mentioned_at: Timestamp | None


@final
@frozen(kw_only=True)
class Entity(Shown):
    """A person, place or thing that memories mention.

    Attributes:
        entity_id: The entity's UUID in lower case.
        canonical_name: The name the bank settled on.
        observations: What the bank concluded about it.
    """

    entity_id: str
    canonical_name: str
    observations: OrEmpty[tuple[EntityObservation, ...]]

    def __post_init__(self) -> None:
        if self.observations is None:
            force_setattr(self, "observations", ())


@final
@frozen(kw_only=True)
class RecallResult(Shown):
    """The memories that matched a recall.

    Attributes:
        results: The facts found, best match first.
        trace: Debugging details. None: no tool argument asks for them.
        entities: Entities by canonical name. None unless include_entities was asked for.
        chunks: Source passages by chunk id. None unless include_chunks was asked for.
        source_facts: The facts behind observations, by id. None unless include_source_facts was asked for.
        source_facts_truncated: Whether max_source_facts_tokens cut source_facts short. None unless they were asked for.
            Since 0.9.1.
    """

    results: tuple[Fact, ...]
    trace: dict[str, Any] | None
    entities: dict[str, Entity] | None
    chunks: dict[str, Chunk] | None
    source_facts: dict[str, Fact] | None
    source_facts_truncated: bool | None = None
    error: None = None


class _RecallResult(Struct, frozen=True, kw_only=True):
    """RecallResult as it comes over the wire."""

    results: tuple[Fact, ...]
    trace: dict[str, Any] | None
    entities: dict[str, Entity] | None
    chunks: dict[str, Chunk] | None
    source_facts: dict[str, Fact] | None
    source_facts_truncated: bool | None = None
    error: None = None
    status: Raw = Raw()

    def build(self) -> RecallResult:
        return RecallResult(
            results=self.results,
            trace=self.trace,
            entities=self.entities,
            chunks=self.chunks,
            source_facts=self.source_facts,
            source_facts_truncated=self.source_facts_truncated,
        )


Answer = _RecallResult


class Arguments(TypedDict, total=False):
    """What recall takes, by our rules too. None is never sent."""

    query: Required[str]
    max_tokens: Annotated[int, Meta(ge=1)]
    budget: Literal["low", "mid", "high"]
    types: list[str]
    prefer_observations: bool
    tags: list[str]
    tags_match: Literal["any", "all", "any_strict", "all_strict", "exact"]
    tag_groups: list[dict[str, Any]]
    query_timestamp: str
    min_scores: dict[str, Any]
    temporal_window: dict[str, Any]
    include_chunks: bool
    max_chunk_tokens: Annotated[int, Meta(ge=1)]
    include_entities: bool
    max_entity_tokens: Annotated[int, Meta(ge=1)]
    include_source_facts: bool
    max_source_facts_tokens: Annotated[int, Meta(ge=1)]


EXCLUSIVE: tuple[tuple[str, ...], ...] = (("tags", "tag_groups"),)
TIMES: tuple[str, ...] = ("query_timestamp",)
