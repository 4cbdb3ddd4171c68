"""Sockets on a deadline: every read and write is given what is left of a call's time.

A server that drips bytes or heartbeats cannot stretch a call, and the exchange learns whether it opened a connection,
whether its request went out, and how much of an answer came.
"""

import encodings.idna  # noqa: F401 - looking up a host imports it, and a fork meanwhile would leave its lock held
import os
import selectors
import socket
import ssl
import threading
from contextlib import suppress
from typing import Any, Final

from hindsight_bank import fork
from hindsight_bank.deadline import Deadline

# What a socket raises that cannot go on at once.
_BLOCKED: Final = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)
# Larger reads cost more than they save: memory comes and goes.
_CHUNK: Final = 65_536


class Exchange:
    """One request and its answer, as the socket sees them.

    Attributes:
        deadline: The deadline of the call.
        connect_limit: The most seconds a connection may take to come up, TLS included.
        server: The server's base URL, for messages.
        connecting: The deadline of the connection while it comes up.
        fresh: Whether a connection was opened for this exchange.
        sent: Whether the last byte of the request was handed to the operating system.
        received: The bytes of answer read so far, headers included.
        coming: The bytes that are known to come after what was read of the body, or of its chunk; 0 if nobody knows.
    """

    def __init__(self, deadline: Deadline, connect_limit: float, server: str = "the server") -> None:
        self.deadline = deadline
        self.connect_limit = connect_limit
        self.server = server
        self.connecting: Deadline | None = None
        self.fresh = False
        self.sent = False
        self.received = 0
        self.coming = 0
        self._process = os.getpid()

    def forked(self) -> bool:
        """Tell whether this is a child of the process that began the exchange; it has no part in it."""
        return self._process != os.getpid()

    def left(self) -> float:
        """Return the seconds left for what is being done, or raise `TimeoutError`."""
        left = self.deadline.remaining()
        if self.connecting is not None:
            left = min(left, self.connecting.remaining())
        if not left:  # a socket would take 0 for "do not wait at all", and fail otherwise than by a timeout
            raise TimeoutError
        return left

    def is_connecting_late(self) -> bool:
        """Tell whether it is the connection whose time is over, or over first, not that of the call."""
        return self.connecting is not None and self.connecting.remaining() < self.deadline.remaining()


class Stream:
    """A connected socket, plain or TLS."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._early = b""
        # A child's copy would keep the parent from ending the connection.
        fork.in_child(self, Stream.close)

    def read(self, exchange: Exchange) -> bytes:
        """Read what is there, waiting no longer than the deadline; nothing is the end."""
        data, self._early = self._early, b""
        if not data:
            self._sock.settimeout(exchange.left())
            data = self._sock.recv(_CHUNK)
        exchange.received += len(data)
        return data

    def write(self, exchange: Exchange, data: bytes) -> bool:
        """Write all of `data`, waiting no longer than the deadline in all, and tell whether it went out.

        A server may answer before it has read everything, and read no further (RFC 9112, 9.5): then it did not, and
        there may be an answer to read.
        """
        if exchange.forked():  # while the connection came up, in a signal handler
            raise ConnectionError("the connection is the parent's")
        view = memoryview(data)
        while view:
            left = exchange.left()
            try:
                self._sock.settimeout(0)
                view = view[self._sock.send(view) :]
            except _BLOCKED as error:
                if not self._can_write(left, by_reading=isinstance(error, ssl.SSLWantReadError)):
                    return False
            except OSError:
                return False
        return True

    def _can_write(self, seconds: float, *, by_reading: bool) -> bool:
        """Wait, and tell whether to try again; else something was read."""
        if self._sock.fileno() < 0:
            return False
        with selectors.DefaultSelector() as selector:
            events = selectors.EVENT_READ if by_reading else selectors.EVENT_READ | selectors.EVENT_WRITE
            selector.register(self._sock, events)
            ready = selector.select(seconds)
        if not ready or not ready[0][1] & selectors.EVENT_READ:
            return True
        try:
            self._early = self._sock.recv(_CHUNK)
        except _BLOCKED:  # what is readable of TLS may be no data
            return True
        except OSError:
            pass
        return False

    def secure(self, context: ssl.SSLContext, host: str, exchange: Exchange) -> None:
        """Speak TLS from here on; an end without goodbye is an error then (RFC 8446, 6.1)."""
        self._sock.settimeout(exchange.left())
        try:
            self._sock = context.wrap_socket(self._sock, server_hostname=host, suppress_ragged_eofs=False)
        except ValueError as error:  # a host that no certificate can name
            raise OSError(str(error)) from None

    def is_quiet(self) -> bool:
        """Tell whether the other side has sent nothing, not even the end."""
        try:
            self._sock.settimeout(0)
            socket.socket.recv(self._sock, 1, socket.MSG_PEEK)
        except BlockingIOError:
            return not (isinstance(self._sock, ssl.SSLSocket) and self._sock.pending())
        except OSError:
            pass
        return False

    def close(self) -> None:
        """Close the socket."""
        self._sock.close()


def connect(host: str, port: int, exchange: Exchange) -> Stream:
    """Connect to the first address of `host` that answers; none may take the time of those after it."""
    exchange.fresh = True
    exchange.connecting = Deadline("connecting", exchange.connect_limit)
    failure = OSError("no address")
    addresses = [host] if _is_address(host) else _looked_up(host, exchange)
    while addresses:
        share = exchange.left() / len(addresses)
        try:
            sock = socket.create_connection((addresses.pop(0), port), share)
        except OSError as error:
            failure = error
            continue
        with suppress(OSError):  # a wish
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return Stream(sock)
    raise failure


def _is_address(host: str) -> bool:
    for family in (socket.AF_INET, socket.AF_INET6):
        with suppress(OSError, ValueError):
            socket.inet_pton(family, host)
            return True
    return False


def _looked_up(name: str, exchange: Exchange) -> list[str]:
    """Return the addresses of a name, or raise `OSError`; a late look-up is left behind, since nothing can end one."""
    ended: list[list[str] | Exception] = []

    def look_up() -> None:
        try:
            found = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
        except UnicodeError as error:  # a label of more than 63 letters
            ended.append(OSError(str(error)))
        except Exception as error:  # noqa: BLE001 - raised by the thread that asked: a double of the network's, say
            ended.append(error)
        else:
            ended.append(list(dict.fromkeys(_written(entry[4]) for entry in found)))

    try:
        thread = threading.Thread(target=look_up, daemon=True)
        thread.start()
    except RuntimeError:  # there are no more threads, for one at the end of the interpreter
        look_up()
    else:
        thread.join(exchange.left())
    result = ended[0] if ended else TimeoutError("the name was not found in time")
    if isinstance(result, Exception):
        raise result
    return result


def _written(address: tuple[Any, ...]) -> str:
    """Return an address as text, with the scope without which a link-local one leads nowhere (RFC 4007, 11)."""
    host, _, *rest = address
    return f"{host}%{rest[1]}" if len(rest) > 1 and rest[1] else str(host)
