"""How some JSON values read in Python.

Generated; do not edit. `python -m codegen` makes this file.
"""

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, TypeVar

from msgspec import Meta

T = TypeVar("T")

Timestamp = Annotated[datetime, Meta(tz=True)]

if TYPE_CHECKING:
    OrEmpty = Annotated[T, "null reads as empty"]
else:
    OrEmpty = T | None


def setter(owner: type, name: str) -> Callable[[object, object], None]:
    """Return what sets a frozen attribute at half the cost of object.__setattr__, since it runs for every fact."""
    slot_setter: Callable[[object, object], None] = owner.__dict__[name].__set__
    return slot_setter
