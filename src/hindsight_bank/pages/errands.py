"""Calls of the bank in threads of their own: of each kind one at a time, and of all that wait only the last.

A thread of textual's would keep the terminal until a hanging call ends; these are daemons, and quitting leaves them.
"""

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, Generic, TypeVar

from attrs import frozen
from textual.app import App

from hindsight_bank import (
    AnswerError,
    ArgumentsError,
    BankError,
    IncompatibleServer,
    NotFoundError,
    ProtocolError,
    UnauthorizedError,
    UnreachableError,
)
from hindsight_bank.inert import one_line

T = TypeVar("T")

# The first class that fits counts.
_ADVICE: Final[tuple[tuple[type[Exception], str], ...]] = (
    (UnauthorizedError, "quit, and come back with another key"),
    (ArgumentsError, "change the filter"),
    (NotFoundError, "it may be gone: r loads again"),
    (UnreachableError, "see that the server runs; r tries again"),
    (IncompatibleServer, "this server cannot be browsed"),
    (ProtocolError, "please report it; r tries again"),
    (AnswerError, "please report it; r tries again"),
    (BankError, "r tries again"),
    (Exception, "a fault of hindsight-bank: please report it"),
)


@frozen(eq=False)
class Errand(Generic[T]):
    """A call, and what is done with its answer."""

    call: Callable[[], T]
    answered: Callable[[T], None]


class Errands:
    """All calls under way. Everything but the calls themselves happens in the thread of the app.

    Args:
        app: Whose thread hears the answers.
        failed: Told which kind of call failed, and in a sentence what went wrong.
    """

    def __init__(self, app: App[None], failed: Callable[[str, str], None]) -> None:
        self._app = app
        self._failed = failed
        self._latest: dict[str, Errand[Any]] = {}
        self._running: set[str] = set()

    def busy(self, kind: str) -> bool:
        """Tell whether a call of this kind is under way."""
        return kind in self._running

    def ask(self, kind: str, call: Callable[[], T], answered: Callable[[T], None]) -> None:
        """Run `call` as soon as none of its kind runs, unless a later one comes first; stale answers are dropped."""
        self._latest[kind] = errand = Errand(call, answered)
        if kind not in self._running:
            self._start(kind, errand)

    def forget(self, kind: str) -> None:
        """Drop what is under way or waits."""
        self._latest.pop(kind, None)

    def _start(self, kind: str, errand: Errand[Any]) -> None:
        self._running.add(kind)
        threading.Thread(target=self._run, args=(kind, errand), daemon=True).start()

    def _run(self, kind: str, errand: Errand[Any]) -> None:
        try:
            answer, error = errand.call(), None
        except Exception as caught:  # noqa: BLE001 - whatever happens, the pages go on
            answer, error = None, caught
        with suppress(RuntimeError):  # the app has ended
            self._app.call_later(self._ended, kind, errand, answer, error)

    def _ended(self, kind: str, errand: Errand[Any], answer: Any, error: Exception | None) -> None:
        self._running.discard(kind)
        latest = self._latest.get(kind)
        if latest is not errand:
            if latest is not None:
                self._start(kind, latest)
        elif error is not None:
            self._failed(kind, sentence(error))
        else:
            errand.answered(answer)


def sentence(error: Exception) -> str:
    """Say in one line what went wrong and what to do."""
    advice = next(advice for kind, advice in _ADVICE if isinstance(error, kind))
    return one_line(f"{str(error) or type(error).__name__}; {advice}")
