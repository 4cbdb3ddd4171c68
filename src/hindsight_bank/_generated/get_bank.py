"""The types of the tool `get_bank`.

Generated; do not edit. `python -m codegen` makes this file from schemas/:

    tools/get_bank.json  sha256:a304384833234c885dd99db62ebcbcd7df64718ced512e0a358f8a762af35867
"""

from typing import TypedDict, final

from msgspec import Raw, Struct

from hindsight_bank.layout import frozen
from hindsight_bank.shown import Shown


@final
@frozen(kw_only=True)
class Disposition(Shown):
    """Three traits that colour a bank's reflections, each from 1 to 5.

    Attributes:
        skepticism: From 1, trusting, to 5, doubting.
        literalism: From 1, reading between the lines, to 5, taking words literally.
        empathy: From 1, detached, to 5, minding feelings.
    """

    skepticism: int
    literalism: int
    empathy: int


@final
@frozen(kw_only=True)
class BankProfile(Shown):
    """What the bank is and how it thinks.

    Attributes:
        bank_id: The bank's id, as in its URL.
        name: Its name for people; the bank_id unless somebody named it.
        disposition: How it thinks when it reflects.
        mission: What it is for, or an empty string.
    """

    bank_id: str
    name: str
    disposition: Disposition
    mission: str
    error: None = None


class _BankProfile(Struct, frozen=True, kw_only=True):
    """BankProfile as it comes over the wire."""

    bank_id: str
    name: str
    disposition: Disposition
    mission: str
    error: None = None
    status: Raw = Raw()

    def build(self) -> BankProfile:
        return BankProfile(
            bank_id=self.bank_id,
            name=self.name,
            disposition=self.disposition,
            mission=self.mission,
        )


Answer = _BankProfile


class Arguments(TypedDict, total=False):
    """What get_bank takes, by our rules too. None is never sent."""


EXCLUSIVE: tuple[tuple[str, ...], ...] = ()
TIMES: tuple[str, ...] = ()
