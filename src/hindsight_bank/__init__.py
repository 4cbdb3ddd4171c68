"""The public names of hindsight-bank, a synchronous client of one Hindsight memory bank.

They load at first use, so that importing the package costs next to nothing.
"""

from typing import TYPE_CHECKING, Any

from hindsight_bank.errors import (
    AnswerError,
    AnswerLostError,
    ArgumentsError,
    BackingOffError,
    BankError,
    ClosedError,
    CredentialsError,
    DeadlineError,
    IncompatibleServer,
    NotFoundError,
    ProtocolError,
    ReconnectRequired,
    RPCError,
    SettingsError,
    StatusError,
    ToolError,
    UnauthorizedError,
    UnreachableError,
)
from hindsight_bank.loading import load
from hindsight_bank.version import __version__

if TYPE_CHECKING:
    from hindsight_bank._generated.agents.hindsight_agents import Agent, AgentList
    from hindsight_bank._generated.agents.hindsight_search import AgentFact, AgentSearchResult
    from hindsight_bank._generated.agents.hindsight_store import AgentReceipt
    from hindsight_bank._generated.agents.hindsight_think import AgentGround, AgentThought
    from hindsight_bank._generated.directive import Directive
    from hindsight_bank._generated.fact import Fact, Scores
    from hindsight_bank._generated.get_bank import BankProfile, Disposition
    from hindsight_bank._generated.get_memory import Memory, SourceMemory
    from hindsight_bank._generated.list_memories import MemoryItem, MemoryPage
    from hindsight_bank._generated.put_search.hindsight_put import PutReceipt
    from hindsight_bank._generated.put_search.hindsight_search import PutSearchFact, PutSearchResult
    from hindsight_bank._generated.recall import Chunk, Entity, EntityObservation, RecallResult
    from hindsight_bank._generated.reflect import BasedOn, LLMCall, ReflectResult, ToolCall, Usage
    from hindsight_bank._generated.retain import RetainReceipt
    from hindsight_bank.bank import Bank
    from hindsight_bank.binding import Binding
    from hindsight_bank.credentials import forget_key, store_key, stored_key
    from hindsight_bank.generations.agents import AgentBank
    from hindsight_bank.generations.put_search import PutSearchBank
    from hindsight_bank.link import Health
    from hindsight_bank.plain import to_dict

__all__ = [
    "Agent",
    "AgentBank",
    "AgentFact",
    "AgentGround",
    "AgentList",
    "AgentReceipt",
    "AgentSearchResult",
    "AgentThought",
    "AnswerError",
    "AnswerLostError",
    "ArgumentsError",
    "BackingOffError",
    "Bank",
    "BankError",
    "BankProfile",
    "BasedOn",
    "Binding",
    "Chunk",
    "ClosedError",
    "CredentialsError",
    "DeadlineError",
    "Directive",
    "Disposition",
    "Entity",
    "EntityObservation",
    "Fact",
    "Health",
    "IncompatibleServer",
    "LLMCall",
    "Memory",
    "MemoryItem",
    "MemoryPage",
    "NotFoundError",
    "ProtocolError",
    "PutReceipt",
    "PutSearchBank",
    "PutSearchFact",
    "PutSearchResult",
    "RPCError",
    "RecallResult",
    "ReconnectRequired",
    "ReflectResult",
    "RetainReceipt",
    "Scores",
    "SettingsError",
    "SourceMemory",
    "StatusError",
    "ToolCall",
    "ToolError",
    "UnauthorizedError",
    "UnreachableError",
    "Usage",
    "__version__",
    "forget_key",
    "store_key",
    "stored_key",
    "to_dict",
]

_ROOMS = {
    "AgentBank": "generations.agents",
    "Bank": "bank",
    "Binding": "binding",
    "Health": "link",
    "PutSearchBank": "generations.put_search",
    "forget_key": "credentials",
    "store_key": "credentials",
    "stored_key": "credentials",
    "to_dict": "plain",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    room = _ROOMS.get(name) or f"_generated.{load('hindsight_bank._generated').PUBLIC[name]}"
    value = globals()[name] = getattr(load(f"{__name__}.{room}"), name)
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
