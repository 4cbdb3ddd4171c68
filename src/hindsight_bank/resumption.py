"""One answer, from as many streams as it takes.

A server of the 2025 revisions may end a stream before the answer and be asked for the rest (Transports, "Resumability
and Redelivery"): by a GET with the id of the last event. No request is sent again, so that this is safe for writes.
"""

import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from types import TracebackType
from typing import Final, Self

from hindsight_bank.deadline import Deadline
from hindsight_bank.errors import AnswerLostError, BankError, DeadlineError, UnreachableError
from hindsight_bank.reply import Reply
from hindsight_bank.transport import Headers, Transport

# Milliseconds to wait where the server names none, and the least and the most whatever it names.
_RETRY: Final = 1000
_LEAST_RETRY: Final = 100
_MOST_RETRY: Final = 10**8
# Streams asked for: in a row that bring nothing new, and in all, since a server may promise and close for ever.
_MOST_FRUITLESS: Final = 2
_MOST_STREAMS: Final = 1000
_LONGEST_ID: Final = 1000


class Answer:
    """The messages that answer one request.

    Attributes:
        reply: The reply being read.
    """

    def __init__(self, transport: Transport, reply: Reply, headers: Headers | None) -> None:
        """Begin with the reply to a POST.

        Args:
            transport: Where to ask for the rest.
            reply: The reply to the request itself.
            headers: Those of the request to resume; None where the revision in use has no resuming.
        """
        self.reply = reply
        self._transport = transport
        self._headers = headers
        self._deadline = reply.exchange.deadline
        self._complete = False
        self._event_id = ""
        self._retry = _RETRY

    def messages(self) -> Iterator[bytes]:
        """Yield the messages, and resume where a stream ended too early; end where that is to no avail."""
        try:
            yield from self.reply.messages()
        except AnswerLostError:
            if self._pause() is None:
                raise
        fruitless = 0
        for _ in range(_MOST_STREAMS):
            if fruitless == _MOST_FRUITLESS or (pause := self._pause()) is None:
                return
            self.reply.close()
            time.sleep(pause)
            try:
                self.reply = self._transport.get(self._resuming(), self._deadline)
                if not self.reply.is_stream():
                    return
                yield from self.reply.messages()
            except DeadlineError as error:
                error.outcome = "unknown"  # whatever became of the GET, the request itself went out
                raise
            except (AnswerLostError, UnreachableError):
                pass
            fruitless = 0 if self.reply.event_id not in ("", self._event_id) else fruitless + 1

    def finish(self, messages: Iterable[bytes], deadline: Deadline) -> None:
        """Read what comes after the answer, so that the connection can be used again; what goes wrong is not ours."""
        self._complete = True
        self.reply.exchange.deadline = deadline
        with suppress(BankError):
            for _ in messages:
                pass

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.reply.close()

    def _pause(self) -> float | None:
        """Return the seconds to wait before resuming, None where there is nothing to resume or no time for it."""
        self._event_id = self.reply.event_id or self._event_id
        self._retry = self._retry if self.reply.retry is None else self.reply.retry
        if self._complete or self._headers is None or not _is_sendable(self._event_id):
            return None
        pause = min(max(self._retry, _LEAST_RETRY), _MOST_RETRY) / 1000
        return pause if pause < self._deadline.remaining() else None

    def _resuming(self) -> Headers:
        kept = [(name, value) for name, value in self._headers or () if name not in ("Accept", "Content-Type")]
        return [*kept, ("Accept", "text/event-stream"), ("Last-Event-ID", self._event_id)]


def _is_sendable(event_id: str) -> bool:
    """Tell whether there is an id and it fits in a header as it is."""
    plain = event_id.isascii() and event_id.isprintable() and event_id == event_id.strip()
    return plain and 0 < len(event_id) <= _LONGEST_ID
