"""Time and dice for tests of the backing off, and the call that all of them make."""

from collections.abc import Callable
from functools import partial
from typing import Any

from hindsight_bank.backoff import Backoff, Manner
from hindsight_bank.connection import Connection
from hindsight_bank.deadline import Deadline

Work = Callable[[], object]


class Clock:
    """Time that passes only while somebody sleeps, and dice that fall as told."""

    def __init__(self) -> None:
        self.time = 1000.0
        self.slept: list[float] = []
        self.die = 1.0
        self.while_asleep: Work = lambda: None

    def now(self) -> float:
        return self.time

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.while_asleep()
        self.time += seconds

    def throw(self) -> float:
        return self.die

    def backoff(self, jitter: Callable[[], float]) -> Callable[[Manner], Backoff]:
        """Return what makes a backoff that lives by this clock."""
        return partial(Backoff, now=self.now, sleep=self.sleep, jitter=jitter)


def recall(connection: Connection, seconds: float = 1000) -> Any:
    """Call recall with a deadline in real seconds, longer than any delay on the clock."""
    return connection.call("recall", {"query": "x"}, Deadline("recall", seconds))
