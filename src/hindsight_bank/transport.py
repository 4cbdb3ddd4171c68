"""One request: bytes out, a reply back, bounded in size and time.

`httpx.HTTPTransport` is driven directly: no redirects, cookies, netrc or proxies happen behind our back; of the
environment only SSL_CERT_FILE and SSL_CERT_DIR count.
"""

import logging
import os
import ssl
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

import httpx
from attrs import frozen

from hindsight_bank import pool
from hindsight_bank.deadline import Deadline
from hindsight_bank.errors import AnswerLostError, SettingsError, UnreachableError
from hindsight_bank.faults import translated
from hindsight_bank.loading import unforked
from hindsight_bank.network import Exchange
from hindsight_bank.reply import Reply

Headers = Sequence[tuple[str, str]]

# The least that current servers keep an idle connection is 30 s.
_IDLE_SECONDS: Final = 20.0
_MOST_REDIRECTS: Final = 3

_PROXY_RULE: Final = "a proxy is the URL of an HTTP proxy: http://host:port"


@frozen(kw_only=True)
class Limits:
    """The bounds of one exchange.

    Attributes:
        connect: The most seconds to make a connection.
        request: The most bytes of a request; current servers refuse more than 4 MiB.
        response: The most bytes of an answer.
    """

    connect: float = 10.0
    request: int = 4 * 2**20
    response: int = 32 * 2**20


def check_proxy(url: str | None) -> str | None:
    """Return a usable proxy URL, None for none, or raise `SettingsError`; it may hold a password and is not quoted."""
    try:
        proxy = None if url is None else httpx.URL(url)
    except (httpx.InvalidURL, TypeError):
        raise SettingsError(_PROXY_RULE) from None
    if proxy is not None and not (proxy.scheme in ("http", "https") and proxy.host):
        raise SettingsError(_PROXY_RULE)
    return url


class Transport:
    """The connections of one process to one URL: in a forked child it sends nothing and closes nothing."""

    def __init__(
        self, url: str, limits: Limits, *, ssl_context: ssl.SSLContext | None = None, proxy: str | None = None
    ) -> None:
        self.url = httpx.URL(url)
        self._limits = limits
        try:
            with unforked():  # OpenSSL makes a context with locks held that a child would wait for
                self._transport = httpx.HTTPTransport(
                    verify=ssl_context or _context(self.url.scheme),
                    limits=httpx.Limits(
                        max_connections=None, max_keepalive_connections=None, keepalive_expiry=_IDLE_SECONDS
                    ),
                    proxy=proxy,
                )
        except OSError as error:
            raise SettingsError(
                f"the certificates could not be loaded ({error.strerror or type(error).__name__}):"
                " look at SSL_CERT_FILE and SSL_CERT_DIR, or pass ssl_context"
            ) from None
        # A test guards the private name, and httpx is pinned below 0.29.
        pool.fortify(self._transport._pool)  # noqa: SLF001 - as said
        self._process = os.getpid()

    def post(self, headers: Headers, body: bytes, deadline: Deadline, *, repeatable: bool = False) -> Reply:
        """Send `body` and return the reply when its headers are here.

        A redirect that keeps method and body (307, 308) is followed within the origin, and only to the same bank: to
        our own path, with or without a slash at its end, or to that path behind a prefix, as a reverse proxy adds one.
        One with a query, and any other, is a reply like any.

        Args:
            headers: What to send beside Host and Content-Length.
            body: The message.
            deadline: Covers all of it.
            repeatable: Whether to send again, once, when an idle connection turned out to be dead. What surely was not
                sent is sent again in any case.
        """
        url = self.url
        for _ in range(_MOST_REDIRECTS):
            reply = self._request("POST", url, headers, body, deadline, repeatable=repeatable)
            target = _redirection(url, reply)
            if target is None:
                return reply
            reply.close()
            url = target
        return self._request("POST", url, headers, body, deadline, repeatable=repeatable)

    def get(self, headers: Headers, deadline: Deadline) -> Reply:
        """Send a GET, which resumes a stream."""
        return self._request("GET", self.url, headers, b"", deadline, repeatable=True)

    def delete(self, headers: Headers, deadline: Deadline) -> Reply:
        """Send a DELETE, which ends a session."""
        return self._request("DELETE", self.url, headers, b"", deadline, repeatable=False)

    def _request(
        self, method: str, url: httpx.URL, headers: Headers, body: bytes, deadline: Deadline, *, repeatable: bool
    ) -> Reply:
        if self._process != os.getpid():
            raise UnreachableError("this connection belongs to the process that this one was forked from")
        exchange = self._exchange(deadline)
        try:
            return self._attempt(method, url, headers, body, exchange)
        except (AnswerLostError, UnreachableError):
            stale = not exchange.fresh and not exchange.received and not exchange.forked()
            if not stale or (exchange.sent and not repeatable):
                raise
        return self._attempt(method, url, headers, body, self._exchange(deadline))

    def _exchange(self, deadline: Deadline) -> Exchange:
        return Exchange(deadline, self._limits.connect, f"{self.url.scheme}://{self.url.netloc.decode()}")

    def _attempt(self, method: str, url: httpx.URL, headers: Headers, body: bytes, exchange: Exchange) -> Reply:
        timeouts = {
            "connect": exchange,
            "read": exchange,
            "write": exchange,
            "pool": exchange.deadline.remaining(),
        }
        with translated(exchange), _unlogged():
            request = httpx.Request(
                method,
                url,
                headers=[("Host", url.netloc.decode()), *headers, ("Content-Length", str(len(body)))],
                stream=_Body(body, exchange),
                extensions={"timeout": timeouts},
            )
            response = self._transport.handle_request(request)
        # It came with the answer to an earlier request: whose it is nobody knows. A replayed answer has no stream.
        if "network_stream" in response.extensions and not exchange.received:
            response.close()
            raise AnswerLostError("an answer was there before the request")
        return Reply(
            response.status_code,
            response.headers,
            _chunks(response, exchange),
            response.close,
            exchange=exchange,
            most_bytes=self._limits.response,
        )

    def close(self) -> None:
        """Close every connection."""
        if self._process == os.getpid():
            self._transport.close()


def _context(scheme: str) -> ssl.SSLContext | bool:
    """Return one for plain http, which is never used, far cheaper than loading the certificate store."""
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if scheme == "http" else True


class _Body(httpx.SyncByteStream):
    """A request body that tells when its last byte was written."""

    def __init__(self, body: bytes, exchange: Exchange) -> None:
        self._body = body
        self._exchange = exchange

    def __iter__(self) -> Iterator[bytes]:
        self._exchange.connected()  # and so is a tunnel, whose own request has no body
        yield self._body
        self._exchange.sent = True


def _chunks(response: httpx.Response, exchange: Exchange) -> Iterator[bytes]:
    """Yield the body as it comes, with our errors."""
    stream = iter(response.stream)  # type: ignore[arg-type]  # synchronous by construction
    while True:
        with translated(exchange), _unlogged():
            chunk = next(stream, None)
        if chunk is None:
            return
        yield chunk


def _redirection(url: httpx.URL, reply: Reply) -> httpx.URL | None:
    """Return where a reply redirects a POST to, if it is to be followed: to no other origin, and to no other bank."""
    location = reply.headers.get("location")
    if reply.status not in (307, 308) or location is None:
        return None
    try:
        target = url.join(location)
    except (httpx.InvalidURL, ValueError):
        return None
    # raw_host: httpx decodes an international host, and stumbles over what only looks like one.
    same = (target.scheme, target.raw_host, target.port) == (url.scheme, url.raw_host, url.port)
    # Bytes as they are on the wire: what is spelt otherwise is not known to be the same bank.
    plain = not target.userinfo and not target.query
    ours = target.raw_path.rstrip(b"/").endswith(url.raw_path.rstrip(b"/"))
    return target if same and plain and ours and target != url else None


_quiet: Final = threading.local()
# httpcore's DEBUG records quote the headers of answers, session ids included, and the bytes that it could not read.
logging.getLogger("httpcore.http11").addFilter(lambda _: not getattr(_quiet, "now", False))


@contextmanager
def _unlogged() -> Iterator[None]:
    """Keep httpcore from logging what this thread does meanwhile."""
    _quiet.now = True
    try:
        yield
    finally:
        _quiet.now = False
