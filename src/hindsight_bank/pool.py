"""httpcore's connection pool, with our sockets, and safe from interrupts and forks."""

import threading
from collections.abc import Iterator
from typing import Any

import httpcore

from hindsight_bank import fork
from hindsight_bank.network import DeadlineBackend


class Exclusive(httpcore.ConnectionInterface):
    """A connection that one request uses at a time, and none after one that did not end well.

    httpcore takes the lock of a connection in Python code, where an interrupt (a signal handler that raises, at any
    bytecode) can leave it held for ever, or the connection half used. Here a request takes a token, in one step that
    nothing interrupts, and only a clean end gives it back: what was interrupted is never touched again.
    """

    def __init__(self, connection: httpcore.ConnectionInterface) -> None:
        self._connection = connection
        self._token = [True]
        self._spoilt = False

    def handle_request(self, request: httpcore.Request) -> httpcore.Response:
        """Send a request, if no other is on its way."""
        try:
            self._token.pop()
        except IndexError:
            raise httpcore.ConnectionNotAvailable from None
        try:
            response = self._connection.handle_request(request)
        except BaseException:
            self.spoil()
            raise
        return httpcore.Response(
            response.status,
            headers=response.headers,
            content=_Watched(response.stream, self),
            extensions=response.extensions,
        )

    def free(self) -> None:
        """Let the next request come."""
        self._token.append(True)

    def spoil(self) -> None:
        """Let no request come any more."""
        self._spoilt = True
        self._connection.close()

    def can_handle_request(self, origin: httpcore.Origin) -> bool:
        """Tell whether this connection leads there."""
        return self._connection.can_handle_request(origin)

    def is_available(self) -> bool:
        """Tell whether a request may come now."""
        return bool(self._token) and self._connection.is_available()

    def has_expired(self) -> bool:
        """Tell whether it has been idle for too long, or the server has left."""
        return self._connection.has_expired()

    def is_idle(self) -> bool:
        """Tell whether no request is on its way."""
        return self._connection.is_idle()

    def is_closed(self) -> bool:
        """Tell whether no request can come any more."""
        return self._spoilt or self._connection.is_closed()

    def info(self) -> str:
        """Describe the connection."""
        return self._connection.info()

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


class _Watched:
    """The body of an answer on an `Exclusive` connection."""

    def __init__(self, stream: Any, connection: Exclusive) -> None:
        self._stream = stream
        self._exclusive = connection

    def __iter__(self) -> Iterator[bytes]:
        try:
            yield from self._stream
        except BaseException:
            self._exclusive.spoil()
            raise

    def close(self) -> None:
        try:
            self._stream.close()
        except BaseException:
            self._exclusive.spoil()
            raise
        self._exclusive.free()


def fortify(pool: httpcore.ConnectionPool) -> None:
    """Give a pool our sockets, and make it safe from interrupts and forks.

    httpcore has a parameter for the first, but `httpx.HTTPTransport` does not pass it on.
    """
    create = pool.create_connection
    pool._network_backend = DeadlineBackend()  # noqa: SLF001 - as said; a test guards the private names
    pool.create_connection = lambda origin: Exclusive(create(origin))  # type: ignore[method-assign]  # of this pool
    _unlock(pool)
    fork.in_child(pool, _unlock)


def _unlock(pool: httpcore.ConnectionPool) -> None:
    """Give a pool a new lock: one of C, which no interrupt leaves held, and which no lost thread holds after a fork."""
    pool._optional_thread_lock = threading.RLock()  # type: ignore[assignment]  # noqa: SLF001 - only used in `with`
