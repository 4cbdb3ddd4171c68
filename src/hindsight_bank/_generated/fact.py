"""A type that several tools share.

Generated; do not edit. `python -m codegen` makes this file from schemas/:

    types/fact.json  sha256:16c4c627540bd13da68a48eab98616bed3a67b03e3ea819f6424bf1e94a31f76
"""

from typing import final

from msgspec.structs import force_setattr

from hindsight_bank._generated.reading import OrEmpty, Timestamp
from hindsight_bank.layout import frozen
from hindsight_bank.shown import Shown


@final
@frozen(kw_only=True)
class Scores(Shown):
    """How well a fact matched a recall, stage by stage. Comparable within one answer only.

    Attributes:
        final: What the results are ranked by; higher is better, unbounded.
        reranker: The reranker's score, usually 0 to 1. None if the server has no reranking model.
        semantic: Cosine similarity to the query. None if the search by meaning did not find the fact.
        keyword: Full-text score, 0 or more, unbounded. None if the search by words did not find the fact.
    """

    final: float
    reranker: float | None
    semantic: float | None
    keyword: float | None


@final
@frozen(kw_only=True)
class Fact(Shown):
    """A memory as recall finds it and reflect cites it.

    Attributes:
        id: The memory's UUID in lower case; some mental models have `mm-` and hexadecimal digits instead.
        text: What is remembered, in one or a few sentences.
        fact_type: The kind of memory: world, experience or observation; opinion in old banks, mental-models in
            based_on. More may come.
        entities: Names of the people, places and things it mentions. Empty unless include_entities was asked for.
        context: The context it was retained with.
        occurred_start: When what it tells began. None if unknown.
        occurred_end: When what it tells ended. None if unknown.
        mentioned_at: When it was said or learned. Facts of one retain lie 10 ms apart, so not always exactly the time
            sent.
        document_id: The document it was extracted from. None for an observation or a mental model.
        metadata: What its retain attached, every value as text. Empty also where the server sends null, which some hits
            have.
        chunk_id: The chunk of the document it was extracted from: a key of the recall's chunks. None for an
            observation.
        tags: The tags it was retained with.
        source_fact_ids: Ids of the facts an observation was built from. Empty unless include_source_facts was asked
            for.
        scores: How well it matched. None where nothing was ranked: in source_facts and based_on. Since 0.8.4.
    """

    id: str
    text: str
    fact_type: str
    entities: OrEmpty[tuple[str, ...]]
    context: str | None
    occurred_start: Timestamp | None
    occurred_end: Timestamp | None
    mentioned_at: Timestamp | None
    document_id: str | None
    metadata: OrEmpty[dict[str, str]]
    chunk_id: str | None
    tags: OrEmpty[tuple[str, ...]]
    source_fact_ids: OrEmpty[tuple[str, ...]]
    scores: Scores | None = None

    def __post_init__(self) -> None:
        if self.entities is None:
            force_setattr(self, "entities", ())
        if self.metadata is None:
            force_setattr(self, "metadata", {})
        if self.tags is None:
            force_setattr(self, "tags", ())
        if self.source_fact_ids is None:
            force_setattr(self, "source_fact_ids", ())
