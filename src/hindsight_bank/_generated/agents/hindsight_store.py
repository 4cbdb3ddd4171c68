"""The types of the tool `hindsight_store`.

Generated; do not edit. `python -m codegen` makes this file from schemas/:

    agents/rules/hindsight_store.json  sha256:4a6ffe5c652d8ed6bad3b29c8165c7f09ad28439d3f4bcc88f3362938a8432c0
    agents/tools/hindsight_store.json  sha256:8c7edb0cf773ab95b29f513d7066d0275f7144052770f38c10265164a3f79bf5
"""

from typing import Annotated, Required, TypedDict, final

from msgspec import Meta, Raw, Struct

from hindsight_bank.layout import frozen
from hindsight_bank.shown import Shown


@final
@frozen(kw_only=True)
class AgentReceipt(Shown):
    """The word of the server that a memory is stored.

    Attributes:
        success: True: a false one is raised as ToolError.
        message: The server's sentence.
    """

    success: bool
    message: str
    error: None = None


class _AgentReceipt(Struct, frozen=True, kw_only=True):
    """AgentReceipt as it comes over the wire."""

    success: bool
    message: str
    error: None = None
    status: Raw = Raw()

    def build(self) -> AgentReceipt:
        return AgentReceipt(
            success=self.success,
            message=self.message,
        )


Answer = _AgentReceipt


class Arguments(TypedDict, total=False):
    """What hindsight_store takes, by our rules too. None is never sent."""

    content: Required[Annotated[str, Meta(pattern="\\S")]]
    agent_id: str
    context: str


EXCLUSIVE: tuple[tuple[str, ...], ...] = ()
TIMES: tuple[str, ...] = ()
