"""How long a failed connection cools down before the next is made: exponential, jittered, capped."""

import random
import threading
import time
from collections.abc import Callable
from typing import Final, Literal

from hindsight_bank.deadline import Deadline
from hindsight_bank.errors import BackingOffError

# Seconds: the first delay is at most this, then doubling. A call of ten seconds can wait for the longest, so that a
# short timeout alone never keeps a client from a server that is back.
_FIRST: Final = 0.5
_LONGEST: Final = 8.0
# A server that names its own delay gets it up to this.
_LONGEST_WISH: Final = 30.0
_MOST_DOUBLINGS: Final = 16

Manner = Literal["wait", "raise"]


class Backoff:
    """The clock of one connection's failures, shared by all its threads."""

    def __init__(
        self,
        manner: Manner = "wait",
        *,
        now: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], object] | None = None,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._manner = manner
        self._now, self._jitter = now, jitter
        self._sleep = sleep or self._wait
        # Held until the end: a wait for a lock is one step, where an interrupted Event can stay locked for ever.
        self._ending = threading.Lock()
        self._ending.acquire()
        self._ended = False
        self._failures = 0
        self._not_before = 0.0

    def failed(self, retry_after: float | None = None) -> None:
        """Set the moment before which no new connection is made; the server's own wish counts, within the cap."""
        delay = min(_FIRST * 2**self._failures, _LONGEST) * (0.5 + self._jitter() / 2)
        if retry_after is not None:
            delay = max(delay, min(retry_after, _LONGEST_WISH))
        self._failures = min(self._failures + 1, _MOST_DOUBLINGS)
        self._not_before = self._now() + delay

    def succeeded(self) -> None:
        """Forget the failures."""
        self._failures = 0

    def delay(self) -> float:
        """Return the seconds that are left to wait."""
        return max(self._not_before - self._now(), 0.0)

    def wait(self, deadline: Deadline) -> None:
        """Wait until a connection may be made, or say that it takes too long."""
        delay = self.delay()
        if not delay:
            return
        if self._manner == "raise" or delay >= deadline.remaining():
            raise BackingOffError(
                f"the last connection failed; the next may be made in {delay:.1f} s", retry_after=delay
            )
        self._sleep(delay)

    def end(self) -> None:
        """Wake those who wait: there will be no next connection."""
        if not self._ended:
            self._ended = True
            self._ending.release()

    def _wait(self, seconds: float) -> None:
        if self._ending.acquire(timeout=seconds):
            self._ending.release()  # for the next who waits
