"""The types of the tool `hindsight_search`.

Generated; do not edit. `python -m codegen` makes this file from schemas/:

    agents/rules/hindsight_search.json  sha256:1d4c5bc68bd77ad91f24747463bddf32cf95425be33e041617b87611e150cab3
    agents/tools/hindsight_search.json  sha256:c42cd54bbfcb36a915145a77d30a1a6c4324d5c1553ea635b78f410db189ddc6
"""

from typing import Annotated, Required, TypedDict, final

from msgspec import Meta, Raw, Struct

from hindsight_bank.layout import frozen
from hindsight_bank.shown import Shown


@final
@frozen(kw_only=True)
class AgentFact(Shown):
    """A memory that was found.

    Attributes:
        text: What is remembered.
        weight: How well it matched; higher is better.
        fact_type: The kind of memory, for example world. More may come.
    """

    text: str
    weight: float
    fact_type: str


@final
@frozen(kw_only=True)
class AgentSearchResult(Shown):
    """The memories that matched a search.

    Attributes:
        results: The memories found, best match first.
    """

    results: tuple[AgentFact, ...]
    error: None = None


class _AgentSearchResult(Struct, frozen=True, kw_only=True):
    """AgentSearchResult as it comes over the wire."""

    results: tuple[AgentFact, ...]
    error: None = None
    status: Raw = Raw()

    def build(self) -> AgentSearchResult:
        return AgentSearchResult(
            results=self.results,
        )


Answer = _AgentSearchResult


class Arguments(TypedDict, total=False):
    """What hindsight_search takes, by our rules too. None is never sent."""

    query: Required[str]
    agent_id: str
    top_k: Annotated[int, Meta(ge=1)]


EXCLUSIVE: tuple[tuple[str, ...], ...] = ()
TIMES: tuple[str, ...] = ()
