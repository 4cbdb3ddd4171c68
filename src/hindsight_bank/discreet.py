"""How an exception leaves the package: without the locals that hold keys and memories."""

import sys
import traceback
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from hindsight_bank.errors import BankError

P = ParamSpec("P")
R = TypeVar("R")


def discreet(function: Callable[P, R]) -> Callable[P, R]:
    """Let no exception leave `function` with the locals of the frames below it, which hold keys and memories.

    A `BankError` leaves without those frames. Any other exception is a fault to be found, or the caller's own: it keeps
    the lines of its traceback.
    """

    @wraps(function)
    def entrance(*args: P.args, **kwargs: P.kwargs) -> R:
        outer = sys.exception()  # what the caller is handling stays as it is
        try:
            return function(*args, **kwargs)
        except BaseException as error:
            del args, kwargs
            chain: list[BaseException] = [error]
            for link in chain:
                if isinstance(error, BankError):
                    if link.__suppress_context__:
                        link.__context__ = link.__cause__
                    link.__traceback__ = None
                traceback.clear_frames(link.__traceback__)
                chain += [e for e in (link.__cause__, link.__context__) if e and e is not outer and e not in chain]
            raise

    return entrance
