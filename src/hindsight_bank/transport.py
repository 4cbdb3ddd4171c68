"""One request: bytes out, a reply back, bounded in size and time.

Over connections of our own: no redirects, cookies, netrc or proxies happen behind our back; of the environment only
SSL_CERT_FILE and SSL_CERT_DIR count.
"""

import os
import ssl
from base64 import b64encode
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import httpx
from attrs import frozen

from hindsight_bank.deadline import Deadline
from hindsight_bank.errors import AnswerLostError, SettingsError, UnreachableError
from hindsight_bank.faults import translated
from hindsight_bank.hooked import Hooked, is_hooked
from hindsight_bank.loading import unforked
from hindsight_bank.network import Exchange
from hindsight_bank.pool import Pool, Proxy, Request, Route
from hindsight_bank.reply import Reply

Headers = Sequence[tuple[str, str]]

_MOST_REDIRECTS: Final = 3
_PORTS: Final = {"http": 80, "https": 443}
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
    if proxy is not None and not (proxy.scheme == "http" and proxy.host):
        raise SettingsError(_PROXY_RULE)
    return url


def check_context(context: ssl.SSLContext | None) -> ssl.SSLContext | None:
    """Return the TLS settings of the caller, None for the public certificates, or raise `SettingsError`."""
    if context is not None and not isinstance(context, ssl.SSLContext):
        raise SettingsError("ssl_context is an ssl.SSLContext, for example of ssl.create_default_context(cafile=...)")
    return context


class Transport:
    """The connections of one process to one URL: in a forked child it sends nothing and closes nothing."""

    def __init__(
        self, url: str, limits: Limits, *, ssl_context: ssl.SSLContext | None = None, proxy: str | None = None
    ) -> None:
        self.url = httpx.URL(url)
        self._limits = limits
        self._server = f"{self.url.scheme}://{self.url.netloc.decode()}"
        self._pool = Pool(_route(self.url, ssl_context, proxy))
        self._process = os.getpid()

    def post(self, headers: Headers, body: bytes, deadline: Deadline, *, repeatable: bool = False) -> Reply:
        """Send `body` and return the reply when its headers are here.

        Args:
            headers: What to send beside Host and Content-Length.
            body: The message.
            deadline: Covers all of it.
            repeatable: Whether to send again, once, when an idle connection turned out to be dead. What surely was not
                sent is sent again in any case.
        """
        return self._followed("POST", headers, body, deadline, repeatable=repeatable)

    def get(self, headers: Headers, deadline: Deadline) -> Reply:
        """Send a GET, which resumes a stream."""
        return self._followed("GET", headers, b"", deadline, repeatable=True)

    def delete(self, headers: Headers, deadline: Deadline) -> Reply:
        """Send a DELETE, which ends a session."""
        return self._followed("DELETE", headers, b"", deadline, repeatable=False)

    def _followed(self, method: str, headers: Headers, body: bytes, deadline: Deadline, *, repeatable: bool) -> Reply:
        """Send a request, and again where it is redirected to.

        A redirect that keeps method and body (307, 308) is followed within the origin, and only to the same bank: to
        our own path, with or without a slash at its end, or to that path behind a prefix, as a reverse proxy adds one.
        One with a query, and any other, is a reply like any.
        """
        url = self.url
        for _ in range(_MOST_REDIRECTS):
            reply = self._request(method, url, headers, body, deadline, repeatable=repeatable)
            target = _redirection(url, reply)
            if target is None:
                return reply
            reply.close()
            url = target
        return self._request(method, url, headers, body, deadline, repeatable=repeatable)

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
        return Exchange(deadline, self._limits.connect, self._server)

    def _attempt(self, method: str, url: httpx.URL, headers: Headers, body: bytes, exchange: Exchange) -> Reply:
        fields = (("Host", url.netloc.decode()), *headers, ("Content-Length", str(len(body))))
        with translated(exchange):
            raw = [(name.encode("ascii"), value.encode("ascii")) for name, value in fields]
            request = Request(method.encode(), url.raw_path, raw, body)
            send = Hooked(self._pool, url).send if is_hooked() else self._pool.send
            (_, status, _, found), chunks = send(request, exchange)
        return Reply(
            status,
            httpx.Headers(found),
            _translated(chunks, exchange),
            chunks.close,
            exchange=exchange,
            most_bytes=self._limits.response,
        )

    def close(self) -> None:
        """Close every connection."""
        if self._process == os.getpid():
            self._pool.close()


def _route(url: httpx.URL, ssl_context: ssl.SSLContext | None, proxy: str | None) -> Route:
    host, port = url.raw_host.decode(), url.port or _PORTS[url.scheme]
    place = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    tls = _tls(ssl_context) if url.scheme == "https" else None
    return Route(host, port, place.encode(), tls, None if proxy is None else _proxy(httpx.URL(proxy)))


def _tls(context: ssl.SSLContext | None) -> ssl.SSLContext:
    try:
        with unforked():  # OpenSSL makes a context with locks held that a child would wait for
            context = context or httpx.create_ssl_context()
    except OSError as error:
        raise SettingsError(
            f"the certificates could not be loaded ({error.strerror or type(error).__name__}):"
            " look at SSL_CERT_FILE and SSL_CERT_DIR, or pass ssl_context"
        ) from None
    context.set_alpn_protocols(["http/1.1"])
    # Up to 3.11.3, Python lets OpenSSL take an end without goodbye for one with.
    context.options &= ~getattr(ssl, "OP_IGNORE_UNEXPECTED_EOF", 0)
    return context


def _proxy(url: httpx.URL) -> Proxy:
    pair = b64encode(f"{url.username}:{url.password}".encode())
    headers = [(b"Proxy-Authorization", b"Basic " + pair)] if url.userinfo else []
    return Proxy(url.raw_host.decode(), url.port or _PORTS[url.scheme], headers)


def _translated(chunks: Iterable[bytes], exchange: Exchange) -> Iterator[bytes]:
    """Yield the body as it comes, with our errors."""
    with translated(exchange):
        yield from chunks


def _redirection(url: httpx.URL, reply: Reply) -> httpx.URL | None:
    """Return where a reply redirects to, if that is to be followed: to no other origin, and to no other bank."""
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
