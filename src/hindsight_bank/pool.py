"""The connections to one server: a request takes an idle one or opens another; an answer that was read gives it back.

The idle ones are a list, of which one step takes and one step adds. So there is no lock, nothing that an interrupt (a
signal handler that raises, at any bytecode) could leave held, and what was interrupted is never used again.
"""

import time
from collections.abc import Iterator
from contextlib import suppress
from ssl import SSLContext
from typing import Final, NamedTuple

from hindsight_bank import http1, network
from hindsight_bank.http1 import Connection, Head
from hindsight_bank.network import Exchange

# The least that current servers keep an idle connection is 30 s.
_IDLE_SECONDS: Final = 20.0


class Proxy(NamedTuple):
    """An HTTP proxy, and what to send to it alone."""

    host: str
    port: int
    headers: http1.Fields = ()


class Route(NamedTuple):
    """The way to a server, through TLS if there is a context.

    Attributes:
        host: Its name or address.
        port: Its port.
        place: Both, as a proxy is told of them.
        tls: What to speak TLS with.
        proxy: Who stands between.
    """

    host: str
    port: int
    place: bytes
    tls: SSLContext | None = None
    proxy: Proxy | None = None


class Request(NamedTuple):
    """A request as it goes out."""

    method: bytes
    target: bytes
    fields: http1.Fields
    body: bytes


class Answer(NamedTuple):
    """An answer whose head is here."""

    head: Head
    body: "Body"


class Pool:
    """Connections of one route."""

    def __init__(self, route: Route) -> None:
        self._route = route
        self._idle: list[Connection] = []
        self._closed = False

    def send(self, request: Request, exchange: Exchange) -> Answer:
        """Send a request and return the answer when its head is here."""
        text = self._head(request) + request.body
        connection = self._take() or self._connect(exchange)
        exchange.connecting = None
        try:
            exchange.sent = connection.stream.write(exchange, text)
            head, chunks = connection.answer(exchange)
        except BaseException:
            connection.close()
            raise
        return Answer(head, Body(self, connection, chunks))

    def give_back(self, connection: Connection) -> None:
        """Keep a connection whose answer was read to its end, and no other, for the next request."""
        if not connection.reusable:
            connection.close()
            return
        connection.since = now = time.monotonic()
        self._idle.append(connection)
        # Another thread may take what is looked at: then one more than the oldest is closed, which does no harm.
        with suppress(IndexError):
            while self._closed or now - self._idle[0].since > _IDLE_SECONDS:
                self._idle.pop(0).close()

    def close(self) -> None:
        """Close every idle connection, and the others when their answers were read."""
        self._closed = True
        while self._idle:
            with suppress(IndexError):
                self._idle.pop().close()

    def _head(self, request: Request) -> bytes:
        route, (method, target, fields, _) = self._route, request
        if route.proxy is None or route.tls is not None:
            return http1.head(method, target, fields)
        return http1.head(method, b"http://%b%b" % (route.place, target), [*fields, *route.proxy.headers])

    def _take(self) -> Connection | None:
        with suppress(IndexError):
            while True:
                connection = self._idle.pop()
                if time.monotonic() - connection.since < _IDLE_SECONDS and connection.is_usable():
                    return connection
                connection.close()
        return None

    def _connect(self, exchange: Exchange) -> Connection:
        route, proxy = self._route, self._route.proxy
        host, port = (route.host, route.port) if proxy is None else (proxy.host, proxy.port)
        if proxy is not None:
            exchange.server += f" through the proxy {f'[{host}]' if ':' in host else host}:{port}"
        connection = Connection(network.connect(host, port, exchange))
        try:
            if route.tls is not None:
                if proxy is not None:
                    self._tunnel(connection, proxy, exchange)
                connection.stream.secure(route.tls, route.host, exchange)
        except BaseException:
            connection.close()
            raise
        return connection

    def _tunnel(self, connection: Connection, proxy: Proxy, exchange: Exchange) -> None:
        """Ask a proxy for a tunnel (RFC 9110, 9.3.6)."""
        place = self._route.place
        connection.stream.write(exchange, http1.head(b"CONNECT", place, [(b"Host", place), *proxy.headers]))
        head, _ = connection.answer(exchange, tunnel=True)
        if not 200 <= head.status < 300:  # noqa: PLR2004 - HTTP: success
            raise ConnectionError(f"the proxy answered {head.status}")
        if not connection.is_usable():
            raise ConnectionError("the proxy said more than that there is a tunnel")


class Body:
    """An answer's body, read once; closing it gives the connection back, or ends it where something is left."""

    def __init__(self, pool: Pool, connection: Connection, chunks: Iterator[bytes]) -> None:
        self._pool = pool
        self._connection: Connection | None = connection
        self._chunks = chunks

    def __iter__(self) -> Iterator[bytes]:
        return self._chunks

    def close(self) -> None:
        """Give the connection back."""
        connection, self._connection = self._connection, None
        if connection is not None:
            self._pool.give_back(connection)
