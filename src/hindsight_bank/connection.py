"""From settings to answers: open → verified → call → failed → backing off → open again.

* A connection is made by the first call and verified before any other request: all tools are there and the bank
  exists. Connecting never makes a bank.
* A call that fails in a way that casts doubt on the connection retires it: it takes no new calls, what was learned from
  it is forgotten, and it closes when its last call in flight has ended. The next one is made only after a delay.
* A call that is refused since its headers do not fit is made once more on a new link: the server may have changed.
* A forked child starts anew, with locks of its own, and never ends its parent's session.
"""

import math
import threading
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

from hindsight_bank import fork
from hindsight_bank.backoff import Backoff, Manner
from hindsight_bank.binding import Binding, SharedSettings
from hindsight_bank.connecting import Options, before_the_call, connect
from hindsight_bank.deadline import Deadline
from hindsight_bank.errors import (
    AnswerError,
    AnswerLostError,
    BankError,
    ClosedError,
    ProtocolError,
    RPCError,
    StatusError,
    UnreachableError,
)
from hindsight_bank.link import Link
from hindsight_bank.session import HEADER_MISMATCH
from hindsight_bank.toolset import SIX, Toolset

R = TypeVar("R")

_TOO_MANY_REQUESTS: Final = 429


class _Hold:
    """What keeps a link open: a call in flight on it."""

    link: Link | None = None


class Connection:
    """The connection of one bank, shared by all its threads."""

    def __init__(
        self,
        binding: Binding | SharedSettings,
        options: Options,
        toolset: Toolset = SIX,
        *,
        new_backoff: Callable[[Manner], Backoff] = Backoff,
    ) -> None:
        self._binding = binding
        self._options = options
        self._toolset = toolset
        self._new_backoff = new_backoff
        self._closed = False
        self._link: Link | None = None
        self._forget()
        fork.in_child(self, Connection._forget)

    def __repr__(self) -> str:
        return f"Connection({self._binding.endpoint!r})"

    def open(self, deadline: Deadline) -> Link:
        """Return the verified link, making it if there is none."""
        return self._on_link(deadline, lambda link: link)

    def call(self, tool: str, args: Mapping[str, Any], deadline: Deadline) -> Any:
        """Judge the arguments, connect where needed, call the tool, return its typed answer."""
        given = self._toolset.judge(tool, args)

        def work(link: Link) -> Any:
            if tool != self._toolset.writes:
                with before_the_call():
                    link.check_bank(deadline)
            answer = link.call(tool, given, deadline)
            link.bank_seen = True  # also by a retain, which makes the bank where it was missing
            if not link.retired:
                self._backoff.succeeded()
            return answer

        try:
            return self._on_link(deadline, work)
        except RPCError as error:
            if not _is_outdated(error):
                raise
        return self._on_link(deadline, work)  # refused unread, so that a write may go out again

    def close(self) -> None:
        """Take no more calls; end the session when the last call in flight has ended."""
        self._closed = True
        self._backoff.end()
        if (link := self._link) is not None:
            self._retire(link)

    # -- the link ----------------------------------------------------------------------------------------------------

    def _on_link(self, deadline: Deadline, work: Callable[[Link], R]) -> R:
        """Do something with the current link. What is no error of ours is an interrupt: it leaves the link in doubt."""
        hold = _Hold()
        try:
            return work(self._acquire(hold, deadline))
        except BankError as error:
            if hold.link is not None:
                if _casts_doubt(error):
                    self._fail(hold.link, error)
                elif _is_outdated(error):
                    self._retire(hold.link)
            raise
        except BaseException:
            _let_go(self._connecting)
            if hold.link is not None:
                hold.link.failed = True
                self._retire(hold.link)
            raise
        finally:
            self._release(hold, deadline.remaining())

    def _acquire(self, hold: "_Hold", deadline: Deadline) -> Link:
        """Take hold of the current link; one thread connects while the others wait."""
        while True:
            with self._lock:
                if self._closed:
                    raise ClosedError(f"this {self._toolset.client} was closed: open another")
                if (link := self._link) is not None:
                    hold.link = link
                    link.holds.add(hold)
                    return link
            self._backoff.wait(deadline)
            connecting = self._connecting  # a fork meanwhile gives the child another
            try:
                if not connecting.acquire(timeout=deadline.remaining()):
                    raise deadline.error("not_sent")
                if self._link is None and not self._closed and not self._backoff.delay():
                    self._keep(self._connect(deadline))
            finally:
                _let_go(connecting)

    def _keep(self, link: Link) -> None:
        with self._lock:
            if kept := self._link is None and not self._closed:  # else the Bank was closed meanwhile
                self._link = link
        if not kept:
            link.endpoint.close()

    def _release(self, hold: "_Hold", seconds: float) -> None:
        if (link := hold.link) is None:
            return
        with self._lock:
            link.holds.discard(hold)
            idle = link.retired and not link.holds
        if idle:
            link.endpoint.close(0 if link.failed else seconds)

    def _retire(self, link: Link, seconds: float = math.inf) -> None:
        with self._lock:
            if self._link is link:
                self._link = None
            idle = not link.retired and not link.holds
            link.retired = True
        if idle:
            link.endpoint.close(0 if link.failed else seconds)

    def _connect(self, deadline: Deadline) -> Link:
        try:
            return connect(self._binding.endpoint, self._options, self._toolset, deadline)
        except BankError as error:
            if _casts_doubt(error):
                self._fail(None, error)
            raise

    # -- failing -------------------------------------------------------------------------------------------------------

    def _fail(self, link: Link | None, error: BankError) -> None:
        """Retire the link, and let the next one wait."""
        if link is None or not link.retired:
            self._backoff.failed(error.retry_after if isinstance(error, StatusError) else None)
        if link is not None:
            link.failed = True
            self._retire(link)

    # -- fork ----------------------------------------------------------------------------------------------------------

    def _forget(self) -> None:
        """Be as new: in the constructor, and in a forked child, where the parent's locks may be held for ever."""
        self._lock = threading.RLock()  # a signal handler may call while its own thread is in here
        self._connecting = threading.RLock()
        self._link = None
        self._backoff = self._new_backoff(self._options.backoff)


def _let_go(lock: Any) -> None:
    """Release a lock if this thread has it: an interrupt may come between taking it and knowing that it was taken."""
    while lock._is_owned():  # noqa: SLF001 - an RLock's, as threading.Condition asks
        lock.release()


def _casts_doubt(error: BankError) -> bool:
    """Tell whether an error retires the connection; what the server said deliberately does not."""
    if isinstance(error, StatusError):
        return error.status >= 500 or error.status == _TOO_MANY_REQUESTS  # noqa: PLR2004 - HTTP
    return isinstance(error, AnswerLostError | ProtocolError | AnswerError | UnreachableError)


def _is_outdated(error: BankError) -> bool:
    """Tell whether the server wants to be asked anew what it is like (MCP 2026-07-28, Streamable HTTP)."""
    return isinstance(error, RPCError) and error.code == HEADER_MISMATCH and error.outcome == "refused"
