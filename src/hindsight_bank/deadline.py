"""One call's time: a monotonic budget that everything the call does draws on."""

import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from hindsight_bank.errors import DeadlineError, Outcome, SettingsError

# The longest single wait handed to the operating system: an endless deadline must not overflow a C timeout.
_LONGEST_WAIT: Final = 86_400.0


class Deadline:
    """The moment by which an operation must have ended.

    Attributes:
        operation: What is being done, for messages.
        seconds: The whole budget; `math.inf` for none.
    """

    def __init__(self, operation: str, seconds: float, now: Callable[[], float] = time.monotonic) -> None:
        self.operation = operation
        self.seconds = seconds
        self._now = now
        self._end = now() + seconds

    def remaining(self) -> float:
        """Return the seconds left, never negative and never more than a day at once."""
        return min(max(self._end - self._now(), 0.0), _LONGEST_WAIT)

    def error(self, outcome: Outcome) -> DeadlineError:
        """Return the error that says this deadline passed."""
        message = f"{self.operation} was not done within {self.seconds:g} s"
        return DeadlineError(message, seconds=self.seconds, operation=self.operation, outcome=outcome)


def seconds(name: str, value: float | None, default: float) -> float:
    """Return the seconds of the setting `name`, `default` for None; refuse what is no positive number."""
    if value is None:
        return default
    with suppress(TypeError, ValueError, ArithmeticError):
        if not isinstance(value, bool) and value > 0:
            return float(value)
    raise SettingsError(f"{name} is a number of seconds greater than 0; math.inf for no limit")
