"""The types of the tool `hindsight_agents`.

Generated; do not edit. `python -m codegen` makes this file from schemas/:

    agents/tools/hindsight_agents.json  sha256:a282796d1ea3c594679de063522bdee47dfbf7e57a0ca5407592802a6d656420
"""

from typing import TypedDict, final

from msgspec import Raw, Struct

from hindsight_bank.layout import frozen
from hindsight_bank.shown import Shown


@final
@frozen(kw_only=True)
class Agent(Shown):
    """A memory bank.

    Attributes:
        agent_id: Its agent's id.
    """

    agent_id: str


@final
@frozen(kw_only=True)
class AgentList(Shown):
    """All memory banks of a server.

    Attributes:
        memory_banks: One for each agent. The wire's `memory banks`.
    """

    memory_banks: tuple[Agent, ...]
    error: None = None


class _AgentList(Struct, frozen=True, kw_only=True, rename={"memory_banks": "memory banks"}):
    """AgentList as it comes over the wire."""

    memory_banks: tuple[Agent, ...]
    error: None = None
    status: Raw = Raw()

    def build(self) -> AgentList:
        return AgentList(
            memory_banks=self.memory_banks,
        )


Answer = _AgentList


class Arguments(TypedDict, total=False):
    """What hindsight_agents takes, by our rules too. None is never sent."""


EXCLUSIVE: tuple[tuple[str, ...], ...] = ()
TIMES: tuple[str, ...] = ()
