"""The types of the tool `hindsight_think`.

Generated; do not edit. `python -m codegen` makes this file from schemas/:

    agents/rules/hindsight_think.json  sha256:545c95cec5095a4e8c981a05bf3135c1d00eb56401bee41f03cacb4f62e7d76c
    agents/tools/hindsight_think.json  sha256:8fd908f0e75385c7c9cd7339fe60e1b8f1417820444b7733aafae80f1e42f85a
"""

from typing import Any, Literal, Required, TypedDict, final

from msgspec import Raw, Struct

from hindsight_bank.layout import frozen
from hindsight_bank.shown import Shown


@final
@frozen(kw_only=True)
class AgentGround(Shown):
    """A memory that an answer rests on.

    Attributes:
        text: What is remembered.
        weight: How much it weighs; higher is more.
    """

    text: str
    weight: float


@final
@frozen(kw_only=True)
class AgentThought(Shown):
    """An answer from memory.

    Attributes:
        text: The answer.
        based_on: The memories it rests on.
        new_opinions: Opinions formed on the way. The documentation shows none and does not say what one looks like.
    """

    text: str
    based_on: tuple[AgentGround, ...]
    new_opinions: tuple[Any, ...]
    error: None = None


class _AgentThought(Struct, frozen=True, kw_only=True):
    """AgentThought as it comes over the wire."""

    text: str
    based_on: tuple[AgentGround, ...]
    new_opinions: tuple[Any, ...]
    error: None = None
    status: Raw = Raw()

    def build(self) -> AgentThought:
        return AgentThought(
            text=self.text,
            based_on=self.based_on,
            new_opinions=self.new_opinions,
        )


Answer = _AgentThought


class Arguments(TypedDict, total=False):
    """What hindsight_think takes, by our rules too. None is never sent."""

    query: Required[str]
    agent_id: str
    budget: Literal["low", "mid", "high"]


EXCLUSIVE: tuple[tuple[str, ...], ...] = ()
TIMES: tuple[str, ...] = ()
