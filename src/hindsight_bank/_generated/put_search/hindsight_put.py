"""The types of the tool `hindsight_put`.

Generated; do not edit. `python -m codegen` makes this file from schemas/:

    put_search/rules/hindsight_put.json  sha256:e50cd01b597a3480914931ab5bb093c498daf00d4140d0ef241fafa7ff009abe
    put_search/tools/hindsight_put.json  sha256:ac8329f53fac25a767a457f3aa6e48eef54775fac273fe3dd2241b860dc421ee
"""

from typing import Annotated, Literal, Required, TypedDict, final

from msgspec import Meta, Raw, Struct

from hindsight_bank.layout import frozen
from hindsight_bank.shown import Shown


@final
@frozen(kw_only=True)
class PutReceipt(Shown):
    """The word of the server that a fact is stored.

    Attributes:
        result: The server's sentence. Any other is no success.
    """

    result: Literal["Fact stored successfully"]
    error: None = None


class _PutReceipt(Struct, frozen=True, kw_only=True):
    """PutReceipt as it comes over the wire."""

    result: Literal["Fact stored successfully"]
    error: None = None
    status: Raw = Raw()

    def build(self) -> PutReceipt:
        return PutReceipt(
            result=self.result,
        )


Answer = _PutReceipt


class Arguments(TypedDict, total=False):
    """What hindsight_put takes, by our rules too. None is never sent."""

    bank_id: Required[str]
    content: Required[Annotated[str, Meta(pattern="\\S")]]
    context: Required[str]
    explanation: str


EXCLUSIVE: tuple[tuple[str, ...], ...] = ()
TIMES: tuple[str, ...] = ()
