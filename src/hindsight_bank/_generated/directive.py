"""A type that several tools share.

Generated; do not edit. `python -m codegen` makes this file from schemas/:

    types/directive.json  sha256:e629e9fd2a96e03f11d479653d64c567471a1514d6204722c585be2f69c8c3fb
"""

from typing import final

from hindsight_bank.layout import frozen
from hindsight_bank.shown import Shown


@final
@frozen(kw_only=True)
class Directive(Shown):
    """A standing instruction of the bank that a reflection followed.

    Attributes:
        id: The directive's UUID in lower case.
        name: Its short name.
        content: The instruction itself.
    """

    id: str
    name: str
    content: str
