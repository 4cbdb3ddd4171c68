"""How some JSON values read in Python.

Generated; do not edit. `python -m codegen` makes this file.
"""

from datetime import datetime
from typing import TYPE_CHECKING, Annotated, TypeVar

from msgspec import Meta

T = TypeVar("T")

Timestamp = Annotated[datetime, Meta(tz=True)]

if TYPE_CHECKING:
    OrEmpty = Annotated[T, "null reads as empty"]
else:
    OrEmpty = T | None
