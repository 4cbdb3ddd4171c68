"""The way through `httpx.HTTPTransport`, for what hooks its `handle_request`: cassettes, and other such doubles.

Where nothing hooks it, httpx would only bring httpcore, which we do not need, and build each request twice more.
"""

from types import FunctionType
from typing import TYPE_CHECKING, Any, NamedTuple

import httpx

from hindsight_bank.http1 import Head
from hindsight_bank.network import Exchange
from hindsight_bank.pool import Answer, Body, Pool, Request

if TYPE_CHECKING:
    import httpcore


def is_hooked() -> bool:
    """Tell whether something stands in for `httpx.HTTPTransport.handle_request`: it is no function of httpx's own."""
    transport = httpx.HTTPTransport
    found: Any = transport.handle_request
    # A proxy, such as wrapt's, says that it is what it wraps; its type does not.
    return type(found) is not FunctionType or found.__globals__ is not transport.close.__globals__


class Hooked(httpx.HTTPTransport):
    """httpx's transport over our pool.

    Its constructor, which is left out, would load certificates and make a pool of httpcore's.
    """

    def __init__(self, pool: Pool, url: httpx.URL) -> None:
        # A test guards the private name, and httpx is pinned below 0.29.
        self._pool = _Entrance(pool)  # type: ignore[assignment]  # all that is asked of it
        self._url = url

    def send(self, request: Request, exchange: Exchange) -> Answer:
        """Send a request; whoever takes it has it, for all we know, unless it comes to our own connections."""
        exchange.sent = True
        method, _, fields, body = request
        stream, extensions = httpx.ByteStream(body), {"exchange": exchange}
        asked = httpx.Request(method.decode(), self._url, headers=fields, stream=stream, extensions=extensions)
        response = self.handle_request(asked)
        head = Head(b"1", response.status_code, b"", response.headers.raw)
        return Answer(head, response.stream)  # type: ignore[arg-type]  # synchronous by construction


class _Found(NamedTuple):
    """What httpx takes from httpcore."""

    status: int
    headers: list[tuple[bytes, bytes]]
    stream: Body
    extensions: dict[str, Any]


class _Entrance:
    """What `httpx.HTTPTransport` takes for a pool of httpcore's."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    def handle_request(self, request: "httpcore.Request") -> _Found:
        """Send a request, which carries its `Exchange`."""
        exchange: Exchange = request.extensions["exchange"]
        exchange.sent = False
        body = b"".join(request.stream)  # type: ignore[arg-type]  # synchronous by construction
        sent = Request(request.method, request.url.target, request.headers, body)
        (version, status, reason, headers), stream = self._pool.send(sent, exchange)
        return _Found(status, headers, stream, {"http_version": b"HTTP/1." + version, "reason_phrase": reason})
