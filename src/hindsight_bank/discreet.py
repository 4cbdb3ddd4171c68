"""How an error leaves the package: without the frames whose locals hold keys and memories."""

import sys
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from hindsight_bank.errors import BankError

P = ParamSpec("P")
R = TypeVar("R")


def discreet(function: Callable[P, R]) -> Callable[P, R]:
    """Let a `BankError` leave `function` without the frames below it, whose locals hold keys and memories."""

    @wraps(function)
    def entrance(*args: P.args, **kwargs: P.kwargs) -> R:
        outer = sys.exception()  # what the caller is handling stays as it is
        try:
            return function(*args, **kwargs)
        except BankError as error:
            del args, kwargs
            chain: list[BaseException] = [error]
            for link in chain:
                if link.__suppress_context__:
                    link.__context__ = link.__cause__
                link.__traceback__ = None
                chain += [e for e in (link.__cause__, link.__context__) if e and e is not outer and e not in chain]
            raise

    return entrance
