"""What a forked child renews first: locks that a lost thread may hold, connections that are its parent's."""

import os
import weakref
from collections.abc import Callable
from typing import Any, Final, TypeVar

T = TypeVar("T")

_renewals: Final["weakref.WeakKeyDictionary[Any, Callable[[Any], None]]"] = weakref.WeakKeyDictionary()


def in_child(thing: T, renew: Callable[[T], None]) -> None:
    """Have a forked child call `renew` with `thing`, if that still lives."""
    _renewals[thing] = renew


def _renew() -> None:
    for thing, renew in list(_renewals.items()):
        renew(thing)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)
