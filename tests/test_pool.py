"""Connections kept, given back, expired and tunnelled; and `httpx.HTTPTransport` before them, where others hook it."""

import base64
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import wraps
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import httpcore
import httpx
import pytest
import wrapt
from conftest import OpenTransport, Serve
from wire_server import JSON, PATIENCE, Move, http

from hindsight_bank import BankError, SettingsError, pool
from hindsight_bank.deadline import Deadline
from hindsight_bank.transport import Limits, Transport, check_proxy

PEM = Path(__file__).with_name("localhost.pem")  # made for these tests: localhost only, its own authority


def deadline() -> Deadline:
    return Deadline("recall", PATIENCE)


def post(transport: Transport, body: bytes = b"{}") -> list[bytes]:
    with transport.post([("X", "1")], body, deadline()) as reply:
        return list(reply.messages())


def kept(transport: Transport) -> int:
    """Tell how many idle connections there are."""
    return len(transport._pool._idle)


def test_httpcore_has_no_part_in_a_call(serve: Serve) -> None:
    """Ours: what httpx would import, build and lock for a request is left out."""
    server = serve(lambda _: http(b"1"))
    script = (
        "import sys\n"
        "from hindsight_bank.deadline import Deadline\n"
        "from hindsight_bank.transport import Limits, Transport\n"
        f"with Transport({server.url!r}, Limits()).post([], b'', Deadline('a test', 10)) as reply:\n"
        "    assert list(reply.messages()) == [b'1']\n"
        "print([name for name in sys.modules if name.split('.')[0] in ('httpcore', 'h11', 'anyio', 'certifi')])\n"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout == "[]\n"


def test_what_hooks_httpx_finds_our_requests(
    serve: Serve, open_transport: OpenTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ours: a double of the network replaces the public method, `httpx.HTTPTransport.handle_request`."""
    transport = open_transport(serve(lambda _: http(b"1")))
    hook = Mock(return_value=httpx.Response(200, json=2))
    monkeypatch.setattr(httpx.HTTPTransport, "handle_request", hook)
    assert post(transport) == [b"2"]
    (request,), _ = hook.call_args
    assert (request.method, request.headers["x"], request.read()) == ("POST", "1", b"{}")


def test_what_wraps_httpx_comes_to_our_connections(
    serve: Serve, open_transport: OpenTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ours: vcrpy calls what it replaced, to record; this guards the private name of httpx's pool."""
    assert isinstance(httpx.HTTPTransport()._pool, httpcore.ConnectionPool)
    monkeypatch.setattr(httpcore.ConnectionPool, "handle_request", Mock(side_effect=AssertionError))
    server = serve(lambda request: http(b"%d" % (request.body == b"{}")))
    transport = open_transport(server)
    genuine = httpx.HTTPTransport.handle_request

    @wraps(genuine)
    def recorded(self: httpx.HTTPTransport, request: httpx.Request) -> httpx.Response:
        return genuine(self, request)

    monkeypatch.setattr(httpx.HTTPTransport, "handle_request", recorded)
    assert post(transport) + post(transport) == [b"1", b"1"]
    assert kept(transport) == 1


def test_what_wraps_httpx_by_a_proxy_sees_our_requests(
    serve: Serve, open_transport: OpenTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    """OpenTelemetry's instrumentation of httpx wraps with wrapt, whose proxies pass for what they wrap."""
    seen = []

    @wrapt.decorator
    def traced(wrapped: Any, _: Any, args: Any, options: Any) -> Any:
        seen.append(args[0].method)
        return wrapped(*args, **options)

    monkeypatch.setattr(httpx.HTTPTransport, "handle_request", traced(httpx.HTTPTransport.handle_request))
    assert post(open_transport(serve(lambda _: http(b"1")))) == [b"1"]
    assert seen == ["POST"]


def test_a_small_request_is_one_packet(
    serve: Serve, open_transport: OpenTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ours: a head that waits for its body costs the server a turn."""
    written: list[bytes] = []
    send = socket.socket.send
    server = serve(lambda _: http(b"1"))
    transport = open_transport(server)
    me = threading.get_ident()

    class Counted(socket.socket):
        def send(self, data: bytes, flags: int = 0) -> int:  # type: ignore[override]
            if threading.get_ident() == me:
                written.append(bytes(data))
            return send(self, data, flags)

    monkeypatch.setattr(socket, "socket", Counted)
    post(transport)
    assert written == [server.requests[0].head + b"{}"]


def test_an_idle_connection_is_used_for_so_long_and_then_closed(
    serve: Serve, open_transport: OpenTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ours: servers close what is idle, from 30 s on; none is left to them."""
    now = [0.0]
    monkeypatch.setattr(pool, "time", Mock(monotonic=lambda: now[0]))
    server = serve(lambda _: http(b"1"))
    transport = open_transport(server)
    both = [transport.post([], b"{}", deadline()) for _ in range(2)]
    for reply in both:
        list(reply.messages())
        reply.close()
    assert (server.connections, kept(transport)) == (2, 2)
    assert pool._IDLE_SECONDS < 30
    now[0] = pool._IDLE_SECONDS - 1
    post(transport)
    assert (server.connections, kept(transport)) == (2, 2)
    now[0] += 2
    post(transport)  # the other one is too old by now, though nobody wanted it
    assert (server.connections, kept(transport)) == (2, 1)
    now[0] += pool._IDLE_SECONDS + 1
    post(transport)
    assert (server.connections, kept(transport)) == (3, 1)


@pytest.mark.parametrize("read", [True, False])
def test_a_connection_comes_back_once_and_only_when_its_answer_was_read(
    read: bool, serve: Serve, open_transport: OpenTransport
) -> None:
    """RFC 9112, 9.3; ours: closing a reply twice must not lend its connection to two."""
    server = serve(lambda _: http(b"1"))
    transport = open_transport(server)
    reply = transport.post([], b"{}", deadline())
    if read:
        list(reply.messages())
    reply.close()
    reply.close()
    assert kept(transport) == read
    assert post(transport) == [b"1"]
    assert server.connections == 2 - read


def test_an_idle_connection_holds_nothing_of_the_answer(serve: Serve, open_transport: OpenTransport) -> None:
    """Ours: the last piece, kept, would keep the allocator from giving back the memory of all the others."""
    transport = open_transport(serve(lambda _: http(b"1" * 2**20, framing="chunked")))
    post(transport)
    (connection,) = transport._pool._idle
    assert len(connection._data) < 100


@pytest.mark.parametrize("answer", [http(b"1", headers={"connection": "close"}), http(b"1").replace(b"/1.1", b"/1.0")])
def test_a_connection_that_is_to_end_is_not_kept(answer: bytes, serve: Serve, open_transport: OpenTransport) -> None:
    """RFC 9112, 9.3 and 9.6."""
    transport = open_transport(serve(lambda _: answer))
    assert post(transport) == [b"1"]
    assert kept(transport) == 0


def test_an_answer_that_outlives_its_transport_leaves_no_connection(
    serve: Serve, open_transport: OpenTransport
) -> None:
    """Ours: closing waits for nobody, and nothing is kept afterwards."""
    server = serve(lambda _: http(b"1"))
    transport = open_transport(server)
    with transport.post([], b"{}", deadline()) as reply:
        transport.close()
        assert list(reply.messages()) == [b"1"]
    assert kept(transport) == 0
    server.wait_until_left()


# -- TLS and proxies ---------------------------------------------------------------------------------------------------


@contextmanager
def tunnelling(answer: bytes, head: list[bytes]) -> Iterator[str]:
    """Be a proxy that makes one tunnel, and the server behind it, which speaks TLS."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(PEM)

    def serve(listener: socket.socket) -> None:
        sock, _ = listener.accept()
        head.append(sock.recv(65_536))
        noise = b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n"  # which a client must ignore
        sock.sendall(b"HTTP/1.1 200 Connection established\r\n%b\r\n" % noise)
        with context.wrap_socket(sock, server_side=True) as talk:
            head.append(talk.recv(65_536))
            talk.sendall(answer)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, args=(listener,))
        thread.start()
        yield f"127.0.0.1:{listener.getsockname()[1]}"
        thread.join()


def test_a_tunnel_leads_to_the_server_and_the_proxy_gets_its_password_alone() -> None:
    """RFC 9110, 9.3.6 and 11.7.2: what is for the proxy does not reach the server, nor the other way round."""
    heads: list[bytes] = []
    trusting = ssl.create_default_context(cafile=PEM)
    with tunnelling(http(b"1"), heads) as place:
        proxy = f"http://al%40ice:p%3Aw@{place}"
        with closing(Transport("https://localhost/mcp/", Limits(), ssl_context=trusting, proxy=proxy)) as transport:
            assert post(transport) == [b"1"]
    pair = base64.b64encode(b"al@ice:p:w")
    connect = b"CONNECT localhost:443 HTTP/1.1\r\nHost: localhost:443\r\nProxy-Authorization: Basic %b\r\n\r\n" % pair
    assert heads == [connect, b"POST /mcp/ HTTP/1.1\r\nHost: localhost\r\nX: 1\r\nContent-Length: 2\r\n\r\n{}"]


def test_a_proxy_of_plain_http_gets_its_password(serve: Serve) -> None:
    """RFC 9110, 11.7.2."""
    proxy = serve(lambda _: http(b"1"))
    url = proxy.url.replace("://", "://alice:pw@")
    with closing(Transport("http://localhost:1/mcp/", Limits(), proxy=url)) as transport:
        assert post(transport) == [b"1"]
    assert proxy.requests[0].headers["proxy-authorization"] == f"Basic {base64.b64encode(b'alice:pw').decode()}"


@pytest.mark.parametrize("url", ["https://proxy:1", "socks5://proxy:1", "proxy:1", "http://", ""])
def test_a_proxy_that_is_spoken_to_otherwise_than_in_plain_http_is_refused(url: str) -> None:
    """Ours: TLS in TLS is not worth its code; said at once."""
    with pytest.raises(SettingsError, match="http://host:port"):
        check_proxy(url)


@pytest.mark.parametrize("option", [0, getattr(ssl, "OP_IGNORE_UNEXPECTED_EOF", 0)], ids=["", "as up to 3.11.3"])
def test_an_answer_that_ends_with_the_connection_ends_with_a_goodbye_in_tls(option: int, serve: Serve) -> None:
    """RFC 8446, 6.1; RFC 9112, 9.8: without close_notify it is cut, whoever cut it.

    Python up to 3.11.3 lets OpenSSL 3 ignore that (CPython #95494).
    """
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(PEM)
    server = serve(lambda _: [http(b"1", JSON, framing="close"), Move.CLOSE], tls=context)
    trusting = ssl.create_default_context(cafile=PEM)
    trusting.options |= option
    with (
        closing(Transport(server.url, Limits(), ssl_context=trusting)) as transport,
        pytest.raises(BankError) as caught,
    ):
        post(transport)
    assert caught.value.outcome == "unknown"
