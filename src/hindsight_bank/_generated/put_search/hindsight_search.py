"""The types of the tool `hindsight_search`.

Generated; do not edit. `python -m codegen` makes this file from schemas/:

    put_search/rules/hindsight_search.json  sha256:996285a5deed7e44391ae0e9a44276da846e2b943d2b2d5e1b4acd3df140bbec
    put_search/tools/hindsight_search.json  sha256:b8372d78daf863ea9a8a87eee073e134d6b9e839a2531ab383306a4673056a7b
"""

from typing import Annotated, Required, TypedDict, final

from msgspec import Meta, Raw, Struct

from hindsight_bank._generated.reading import Timestamp
from hindsight_bank.layout import frozen
from hindsight_bank.shown import Shown


@final
@frozen(kw_only=True)
class PutSearchFact(Shown):
    """A fact that was found.

    Attributes:
        id: The fact's id, a UUID in lower case on the servers that ran.
        text: What is remembered, in one or a few sentences.
        type: The kind of fact: world, bank, agent or opinion. More may come.
        context: The context it was put with.
        event_date: When it happened or was said. None if unknown.
        document_id: The document it was extracted from. None for what hindsight_put stored.
    """

    id: str
    text: str
    type: str
    context: str | None
    event_date: Timestamp | None
    document_id: str | None


@final
@frozen(kw_only=True)
class PutSearchResult(Shown):
    """The facts that matched a search.

    Attributes:
        results: The facts found, best match first. Empty also for a bank that does not exist.
    """

    results: tuple[PutSearchFact, ...]
    error: None = None


class _PutSearchResult(Struct, frozen=True, kw_only=True):
    """PutSearchResult as it comes over the wire."""

    results: tuple[PutSearchFact, ...]
    error: None = None
    status: Raw = Raw()

    def build(self) -> PutSearchResult:
        return PutSearchResult(
            results=self.results,
        )


Answer = _PutSearchResult


class Arguments(TypedDict, total=False):
    """What hindsight_search takes, by our rules too. None is never sent."""

    bank_id: Required[str]
    query: Required[str]
    max_tokens: Annotated[int, Meta(ge=1)]
    explanation: str


EXCLUSIVE: tuple[tuple[str, ...], ...] = ()
TIMES: tuple[str, ...] = ()
