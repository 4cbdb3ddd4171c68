"""The types of the tool `retain`.

Generated; do not edit. `python -m codegen` makes this file from schemas/:

    rules/retain.json  sha256:0636a1a199b8022e8cec822ad1e56d4d7699c70a01bd25283a093dfcab11ec4f
    tools/retain.json  sha256:a8e330d410a6faebcb2a3858d43dd742e8eb76c9a683b704918c3e10e73b9b56
"""

from typing import Annotated, Literal, Required, TypedDict, final

from msgspec import Meta

from hindsight_bank.layout import frozen
from hindsight_bank.shown import Shown


@final
@frozen(kw_only=True)
class RetainReceipt(Shown):
    """The server's word that it has queued a text: accepted, not yet stored.

    Attributes:
        status: Always accepted.
        message: A sentence of the server for people.
        operation_id: UUID of the background operation. None from servers before 0.4.15. Since 0.4.15.
    """

    status: Literal["accepted"]
    message: str
    operation_id: str | None = None
    error: None = None


Answer = RetainReceipt


class Arguments(TypedDict, total=False):
    """What retain takes, by our rules too. None is never sent."""

    content: Required[Annotated[str, Meta(pattern="\\S")]]
    context: str
    timestamp: str
    tags: list[str]
    metadata: dict[str, str]
    document_id: str
    strategy: str
    update_mode: Literal["replace", "append"]


EXCLUSIVE: tuple[tuple[str, ...], ...] = ()
TIMES: tuple[str, ...] = ("timestamp",)
