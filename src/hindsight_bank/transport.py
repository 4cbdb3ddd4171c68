"""One POST: bytes out, messages back, bounded in size and time.

`httpx.HTTPTransport` is driven directly: no redirects, cookies, netrc or environment happen behind our back. Whatever
goes wrong below leaves here as one of our errors, and says whether the request had gone out.
"""

import codecs
import logging
import ssl
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Final, Self

import httpx
import httpx_sse
from attrs import frozen

from hindsight_bank.deadline import Deadline
from hindsight_bank.errors import AnswerLostError, BankError, ProtocolError, SettingsError, UnreachableError
from hindsight_bank.network import DeadlineBackend, Exchange

Headers = Sequence[tuple[str, str]]

JSON: Final = "application/json"
EVENTS: Final = "text/event-stream"

# The least that current servers keep an idle connection is 30 s.
_IDLE_SECONDS: Final = 20.0
# What is read of a refusal's body, enough for any sentence, and the seconds that it may take: the status says most.
_REFUSAL_BYTES: Final = 16_384
_REFUSAL_SECONDS: Final = 2.0

_MOST_REDIRECTS: Final = 3

_PROXY_RULE: Final = "a proxy is the URL of an HTTP proxy: http://host:port"

_UNREACHED: Final = (
    httpx.ConnectError,
    httpx.ConnectTimeout,
    httpx.PoolTimeout,
    httpx.ProxyError,
    httpx.UnsupportedProtocol,
)


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


class Reply:
    """An answer whose headers are here and whose body is still to be read."""

    def __init__(self, response: httpx.Response, exchange: Exchange, limits: Limits) -> None:
        self.status = response.status_code
        self.headers: Mapping[str, str] = response.headers
        self.media_type = self.headers.get("content-type", "").partition(";")[0].strip().lower()
        self._response = response
        self._exchange = exchange
        self._limits = limits

    @property
    def exchange(self) -> Exchange:
        """What the socket knows of this exchange."""
        return self._exchange

    def messages(self) -> Iterator[bytes]:
        """Yield the JSON text of each message of a successful answer; drain the answer to its end."""
        encoding = self.headers.get("content-encoding", "identity")
        if encoding.strip().lower() != "identity":
            raise ProtocolError(f"the answer is compressed ({encoding[:40]!r}), which was not asked for")
        with translated(self._exchange):
            if self.media_type == JSON:
                yield _utf8(b"".join(self._chunks()))
            elif self.media_type == EVENTS:
                for event in httpx_sse.EventSource(_Text(self._chunks())).iter_sse():  # type: ignore[arg-type]  # all it uses
                    # An event without data primes a resumable stream; other event types are not ours.
                    if event.data and event.event in ("", "message"):
                        yield event.data.encode()
            else:
                raise ProtocolError(
                    f"the answer is {self.media_type[:60]!r}, not JSON or an event stream: is this an MCP endpoint?",
                )

    def refusal(self) -> bytes:
        """Read the beginning of the body of an unsuccessful answer; what cannot be read is not worth an error."""
        body = b""
        left = self._exchange.deadline.remaining()
        self._exchange.deadline = Deadline("reading a refusal", min(_REFUSAL_SECONDS, left))
        with suppress(BankError), translated(self._exchange):
            for chunk in self._read():
                body += chunk
                if len(body) > _REFUSAL_BYTES:
                    break
        return body[:_REFUSAL_BYTES]

    def close(self) -> None:
        """Give the connection back, or close it where the answer was not read to its end."""
        self._response.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _read(self) -> Iterator[bytes]:
        """Yield the body as it comes."""
        stream = iter(self._response.stream)  # type: ignore[arg-type]  # synchronous by construction
        while True:
            with _unlogged():
                chunk = next(stream, None)
            if chunk is None:
                return
            yield chunk

    def _chunks(self) -> Iterator[bytes]:
        """Yield the body, counted."""
        total = 0
        for chunk in self._read():
            total += len(chunk)
            if total > self._limits.response:
                raise ProtocolError(
                    f"the answer is larger than {self._limits.response} bytes;"
                    " ask for less, or raise max_response_bytes"
                )
            yield chunk


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
    """The connections of one process to one URL."""

    def __init__(
        self, url: str, limits: Limits, *, ssl_context: ssl.SSLContext | None = None, proxy: str | None = None
    ) -> None:
        self.url = httpx.URL(url)
        self._limits = limits
        if ssl_context is None and self.url.scheme == "http":
            # Never used, and far cheaper than loading the certificate store.
            ssl_context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self._transport = httpx.HTTPTransport(
            verify=True if ssl_context is None else ssl_context,
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=None, keepalive_expiry=_IDLE_SECONDS),
            proxy=proxy,
        )
        # httpx has no parameter for it; a test guards this, and httpx is pinned below 0.29.
        self._transport._pool._network_backend = DeadlineBackend()  # noqa: SLF001

    def post(self, headers: Headers, body: bytes, deadline: Deadline, *, repeatable: bool = False) -> Reply:
        """Send `body` and return the reply when its headers are here.

        A redirect that keeps method and body (307, 308) is followed within the origin; others are replies like any.

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
                break
            reply.close()
            url = target
        return reply

    def delete(self, headers: Headers, deadline: Deadline) -> Reply:
        """Send a DELETE, which ends a session."""
        return self._request("DELETE", self.url, headers, b"", deadline, repeatable=False)

    def _request(
        self, method: str, url: httpx.URL, headers: Headers, body: bytes, deadline: Deadline, *, repeatable: bool
    ) -> Reply:
        exchange = Exchange(deadline, self._limits.connect)
        try:
            return self._attempt(method, url, headers, body, exchange)
        except (AnswerLostError, UnreachableError):
            stale = not exchange.fresh and not exchange.received
            if not stale or (exchange.sent and not repeatable):
                raise
        return self._attempt(method, url, headers, body, Exchange(deadline, self._limits.connect))

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
        return Reply(response, exchange, self._limits)

    def close(self) -> None:
        """Close every connection."""
        self._transport.close()


class _Body(httpx.SyncByteStream):
    """A request body that tells when its last byte was written."""

    def __init__(self, body: bytes, exchange: Exchange) -> None:
        self._body = body
        self._exchange = exchange

    def __iter__(self) -> Iterator[bytes]:
        yield self._body
        self._exchange.sent = True


class _Text:
    """Strictly decoded text of an event stream, in the two attributes that `EventSource` asks of a response."""

    headers: Final = {"content-type": EVENTS}

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks

    def iter_text(self) -> Iterator[str]:
        # utf-8-sig: the standard drops one leading byte order mark.
        decoder = codecs.getincrementaldecoder("utf-8-sig")()
        try:
            for chunk in self._chunks:
                if text := decoder.decode(chunk):
                    yield text
        except UnicodeDecodeError:
            raise ProtocolError("the event stream is not UTF-8") from None


def _utf8(body: bytes) -> bytes:
    """Return `body` if it is UTF-8: the JSON decoder does not look into what it skips."""
    if not body.isascii():
        try:
            body.decode()
        except UnicodeDecodeError:
            raise ProtocolError("the answer is not UTF-8") from None
    return body


def _redirection(url: httpx.URL, reply: Reply) -> httpx.URL | None:
    """Return where a reply redirects a POST to, if it is to be followed: the body goes to no other origin."""
    location = reply.headers.get("location")
    if reply.status not in (307, 308) or location is None:
        return None
    try:
        target = url.join(location)
    except (httpx.InvalidURL, ValueError):
        return None
    # raw_host: httpx decodes an international host, and stumbles over what only looks like one.
    same = (target.scheme, target.raw_host, target.port) == (url.scheme, url.raw_host, url.port)
    return target if same and not target.userinfo and target != url else None


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


@contextmanager
def translated(exchange: Exchange) -> Iterator[None]:
    """Turn httpx's exceptions into ours, with what is known of the exchange."""
    try:
        yield
    except (httpx.HTTPError, httpx.InvalidURL, httpx.CookieConflict, httpx.StreamError, httpx_sse.SSEError) as error:
        if isinstance(error, httpx.ProtocolError):
            error.args = ()  # it quotes the bytes that could not be read
        error.__cause__ = error.__context__ = None
        raise _translate(error, exchange) from error.with_traceback(None)


def _translate(error: Exception, exchange: Exchange) -> BankError:
    ours = isinstance(error, httpx.ReadTimeout | httpx.WriteTimeout)  # from our streams, when no time is left
    if ours or (isinstance(error, httpx.TimeoutException) and exchange.deadline.passed()):
        return exchange.deadline.error("unknown" if exchange.sent else "not_sent")
    if isinstance(error, httpx.ConnectTimeout):
        return UnreachableError(f"no connection to the server within {exchange.connect_limit:g} s")
    if isinstance(error, _UNREACHED):
        return UnreachableError(f"no connection to the server: {error}")
    if not exchange.sent:
        return UnreachableError(f"the connection broke while the request was being sent ({type(error).__name__})")
    return AnswerLostError(f"the connection broke before the whole answer was here ({type(error).__name__})")
