"""The generations of Hindsight's tools, as values: what each is made of, and which class here speaks to it."""

from collections.abc import Callable, Collection, Mapping
from typing import Any, Final

from attrs import frozen
from msgspec import Raw

from hindsight_bank import answers, arguments, jsonrpc, wrapped
from hindsight_bank.failures import Clean
from hindsight_bank.validation import types_of

# How servers of the older generations spell the argument that names the bank.
_SPELLINGS: Final = ("bank_id", "agent_id")


@frozen(kw_only=True)
class Toolset:
    """The tools of one generation, all of which its client needs.

    Attributes:
        client: The class that speaks to it.
        generation: What it is, for messages.
        tools: Their names.
        writes: The tool that stores: sent once only, and before the bank exists.
        home: Where its types are, with the final dot; empty for the six tools, whose endpoint is one bank's.
    """

    client: str
    generation: str
    tools: tuple[str, ...]
    writes: str
    home: str = ""

    def within(self, tools: Collection[str]) -> bool:
        """Tell whether all of them are among `tools`."""
        return all(name in tools for name in self.tools)

    def judge(self, tool: str, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments as they go out, or refuse them by our own rules."""
        return arguments.judge(tool, given, self.home)

    def schema(self, tool: str, text: Raw) -> arguments.ServerSchema:
        """Return the server's own word on a tool's arguments."""
        return arguments.ServerSchema(tool, text, self.home)

    def decoder(self, tool: str) -> Callable[[bytes], jsonrpc.Message[Any]]:
        """Return the decoder of messages that answer a call of `tool`."""
        return jsonrpc.decode if self.home else answers.decoder(tool)

    def answer(self, tool: str, result: Any, clean: Clean) -> Any:
        """Return the tool's typed answer, or raise what the result says."""
        if self.home:
            return wrapped.answer(tool, types_of(self.home + tool).Answer, result, clean)
        return answers.answer(tool, result, clean)

    def spelled(self, given: Mapping[str, Any], known: frozenset[str]) -> Mapping[str, Any]:
        """Return the arguments with the bank's id under the name that the server knows it by."""
        theirs = [name for name in _SPELLINGS if name in known]
        if not self.home or len(theirs) != 1:
            return given
        return {theirs[0] if name in _SPELLINGS else name: value for name, value in given.items()}


SIX: Final = Toolset(
    client="Bank",
    generation="the six tools of Hindsight 0.4.14 and later",
    tools=("retain", "recall", "reflect", "list_memories", "get_memory", "get_bank"),
    writes="retain",
)
PUT_SEARCH: Final = Toolset(
    client="PutSearchBank",
    generation="the generation of hindsight_put, Hindsight 0.0.8 to 0.0.16",
    tools=("hindsight_put", "hindsight_search"),
    writes="hindsight_put",
    home="put_search.",
)
AGENTS: Final = Toolset(
    client="AgentBank",
    generation="the generation of hindsight_think, which Hindsight 0.0.8 to 0.0.16 documents",
    tools=("hindsight_search", "hindsight_think", "hindsight_store", "hindsight_agents"),
    writes="hindsight_store",
    home="agents.",
)
ALL: Final = (SIX, PUT_SEARCH, AGENTS)
KNOWN: Final = frozenset(name for toolset in ALL for name in toolset.tools)
