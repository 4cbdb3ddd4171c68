"""Sockets on a deadline: an httpcore network backend that gives every read and write what is left of a call's time.

httpcore hands each stream operation the timeout of its request, whatever object that is. We hand it an `Exchange`, so
that a server which drips bytes or heartbeats cannot stretch a call, and so that the exchange learns whether it opened
a connection and got an answer.
"""

import encodings.idna  # noqa: F401 - looking up a host imports it, and a fork meanwhile would leave its lock held
import os
import selectors
import socket
import ssl
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, Final, cast

import httpcore

from hindsight_bank import fork
from hindsight_bank.deadline import Deadline

# What a socket raises that cannot go on at once.
_BLOCKED: Final = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)
_CHUNK: Final = 65_536


class Exchange:
    """One request and its answer, as the socket sees them.

    Attributes:
        deadline: The deadline of the call.
        connect_limit: The most seconds a connection may take to come up, TLS included.
        server: The server's base URL, for messages.
        connecting: The deadline of what is being done: that of the connection while it comes up, else that of the call.
        fresh: Whether a connection was opened for this exchange.
        sent: Whether the last byte of the request was handed to the operating system.
        received: The bytes of answer read so far, headers included.
    """

    def __init__(self, deadline: Deadline, connect_limit: float, server: str = "the server") -> None:
        self.deadline = deadline
        self.connect_limit = connect_limit
        self.server = server
        self.connecting = deadline
        self.fresh = False
        self.sent = False
        self.received = 0
        self._process = os.getpid()

    def forked(self) -> bool:
        """Tell whether this is a child of the process that began the exchange; it has no part in it."""
        return self._process != os.getpid()

    def connected(self) -> None:
        """Say that the connection is up: from now on there is the deadline of the call alone."""
        self.connecting = self.deadline

    def left(self) -> float:
        """Return the seconds left for what is being done, or raise `TimeoutError`."""
        return _left(self.deadline, self.connecting)

    def is_connecting_late(self) -> bool:
        """Tell whether it is the connection whose time is over, or over first, not that of the call."""
        return self.connecting.remaining() < self.deadline.remaining()


class Stream(httpcore.NetworkStream):
    """A connected socket, plain or TLS."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._early: bytes | None = None
        # A child's copy would keep the parent from ending the connection.
        fork.in_child(self, Stream.close)

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Read what is there, waiting no longer than the deadline."""
        exchange = cast("Exchange", timeout)
        try:
            if (data := self._early) is None:
                self._sock.settimeout(exchange.left())
                data = self._sock.recv(max_bytes)
            self._early = None
        except TimeoutError as error:
            raise httpcore.ReadTimeout from error
        except OSError as error:
            raise httpcore.ReadError(str(error)) from error
        exchange.received += len(data)
        return data

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Write all of `buffer`, waiting no longer than the deadline in all.

        A server may answer before it has read everything, and read no further (RFC 9112, 9.5). That is a write error,
        upon which httpcore reads the answer.
        """
        exchange = cast("Exchange", timeout)
        view = memoryview(buffer)
        try:
            while view:
                left = exchange.left()
                self._sock.settimeout(0)
                try:
                    view = view[self._sock.send(view) :]
                except _BLOCKED as error:
                    self._wait_to_write(left, isinstance(error, ssl.SSLWantReadError))
        except TimeoutError as error:
            raise httpcore.WriteTimeout from error
        except OSError as error:
            raise httpcore.WriteError(str(error)) from error

    def _wait_to_write(self, seconds: float, by_reading: bool) -> None:  # noqa: FBT001 - private
        with selectors.DefaultSelector() as selector:
            events = selectors.EVENT_READ if by_reading else selectors.EVENT_READ | selectors.EVENT_WRITE
            selector.register(self._sock, events)
            ready = selector.select(seconds)
        if ready and ready[0][1] & selectors.EVENT_READ:
            with suppress(*_BLOCKED):  # what is readable of TLS may be no data
                self._early = self._sock.recv(_CHUNK)
                raise httpcore.WriteError("an answer is here before the request was sent")

    def close(self) -> None:
        """Close the socket."""
        self._sock.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        """Speak TLS from here on."""
        exchange = cast("Exchange", timeout)
        try:
            self._sock.settimeout(exchange.left())
            self._sock = ssl_context.wrap_socket(self._sock, server_hostname=server_hostname)
        except TimeoutError as error:
            self.close()
            raise httpcore.ConnectTimeout from error
        except (OSError, ValueError) as error:
            self.close()
            raise httpcore.ConnectError(str(error)) from error
        return self

    def get_extra_info(self, info: str) -> Any:
        """Answer what httpcore asks of a stream."""
        if info == "is_readable":
            return self._early is not None or _is_readable(self._sock)
        if info == "ssl_object":
            return self._sock if isinstance(self._sock, ssl.SSLSocket) else None
        return self._sock if info == "socket" else None


class DeadlineBackend(httpcore.NetworkBackend):
    """Opens TCP connections for httpcore."""

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,  # noqa: ARG002 - httpcore's signature
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,  # noqa: ARG002 - as above
    ) -> httpcore.NetworkStream:
        """Connect to the first address of `host` that answers; name resolution itself has no time limit."""
        exchange = cast("Exchange", timeout)
        exchange.fresh = True
        exchange.connecting = Deadline("connecting", exchange.connect_limit)
        failure: Exception = OSError("no address")
        try:
            for address in dict.fromkeys(
                entry[4][0] for entry in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            ):
                try:
                    sock = socket.create_connection((str(address), port), exchange.left())
                except OSError as error:
                    failure = error
                    continue
                with suppress(OSError):  # a wish
                    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                return Stream(sock)
        except (OSError, UnicodeError) as error:  # a label of more than 63 letters is no OSError
            failure = error
        if isinstance(failure, TimeoutError):
            raise httpcore.ConnectTimeout from failure
        raise httpcore.ConnectError(str(failure)) from failure


def _left(*deadlines: Deadline) -> float:
    left = min(deadline.remaining() for deadline in deadlines)
    if not left:  # a socket would take 0 for "do not wait at all", and fail otherwise than by a timeout
        raise TimeoutError
    return left


def _is_readable(sock: socket.socket) -> bool:
    if sock.fileno() < 0:
        return True
    with selectors.DefaultSelector() as selector:
        selector.register(sock, selectors.EVENT_READ)
        return bool(selector.select(0))
