"""Sockets on a deadline: nothing on the wire makes a call last longer than it may."""

import errno
import itertools
import math
import os
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest
from conftest import OpenTransport, Serve
from wire_server import EVENTS, PATIENCE, Move, Play, Step, WireServer, drip, http, over_and_over

from hindsight_bank import AnswerLostError, BankError, DeadlineError, SettingsError, UnreachableError, fork, network
from hindsight_bank.deadline import Deadline
from hindsight_bank.network import Exchange
from hindsight_bank.transport import Limits, Transport

PEM = Path(__file__).with_name("localhost.pem")  # made for these tests: localhost only, its own authority
SHORT = 0.3
EVENT = b"data: 1\n\n"


def patient() -> Deadline:
    return Deadline("recall", PATIENCE)


def post(transport: Transport, deadline: Deadline, body: bytes = b"{}") -> list[bytes]:
    with transport.post([], body, deadline) as reply:
        return list(reply.messages())


def expire(transport: Transport, body: bytes = b"{}") -> DeadlineError:
    """Post with a short deadline and return its error; the bound says in time, however slow the machine."""
    began = time.monotonic()
    with pytest.raises(DeadlineError) as caught:
        post(transport, Deadline("recall", SHORT), body)
    assert SHORT <= time.monotonic() - began < PATIENCE / 2
    assert (caught.value.seconds, caught.value.operation) == (SHORT, "recall")
    return caught.value


# -- deadlines ---------------------------------------------------------------------------------------------------------

HEAD = http(b"", EVENTS, framing="chunked").removesuffix(b"0\r\n\r\n")


def chunks(piece: bytes) -> Iterator[Step]:
    return over_and_over(b"%x\r\n%s\r\n" % (len(piece), piece), 0.02)


@pytest.mark.parametrize(
    "play",
    [
        lambda: [Move.HANG],
        lambda: [HEAD, Move.HANG],
        lambda: [HEAD[:20], Move.HANG],
        lambda: drip(HEAD * 100),
        lambda: over_and_over(b"HTTP/1.1 100 Continue\r\n\r\n", 0.02),
        lambda: itertools.chain([HEAD], chunks(b": ping\n\n")),
        lambda: itertools.chain([HEAD], chunks(b"x")),
        lambda: itertools.chain([HEAD], chunks(b"event: ping\ndata: 1\n\n")),
        lambda: itertools.chain([http(b"", framing="close")], over_and_over(b" ", 0.02)),
    ],
    ids=[
        *("silence", "headers, then silence", "half a header", "slow headers", "endless interim answers"),
        *("heartbeats", "an endless line, dripped", "foreign events", "a JSON body, dripped"),
    ],
)
def test_no_server_can_stretch_a_call(play: Callable[[], Play], serve: Serve, open_transport: OpenTransport) -> None:
    """Public reports: encode/httpx #1450, vercel/ai #16865: every read is given what is left."""
    assert expire(open_transport(serve(lambda _: play()))).outcome == "unknown"


@pytest.mark.parametrize(
    ("begun", "unfinished"),
    [
        (b"data: 1\n", True),
        (b"data: 1", True),
        (b"data: 1\r\n", True),
        (EVENT, False),
        (b": ping\n\n", False),
        (b"data: 1\n: ping\n", True),
        (EVENT + b": ping\n", False),
        (b": ping\n", False),
        (b"", False),
    ],
)
def test_a_deadline_that_passes_within_an_event_says_so(
    begun: bytes, unfinished: bool, serve: Serve, open_transport: OpenTransport
) -> None:
    """Public report: vercel/ai #16865: a server that forgets the blank line and leaves the connection open."""
    told = [http([begun], EVENTS, framing="chunked").removesuffix(b"0\r\n\r\n"), Move.HANG]
    said = str(expire(open_transport(serve(lambda _: told))))
    assert ("the last event that came had no end" in said) is unfinished
    assert said.endswith("it may have run")


@pytest.mark.parametrize("seconds", [SHORT, PATIENCE])
def test_a_refusal_whose_body_does_not_end_is_not_waited_for(
    seconds: float, serve: Serve, open_transport: OpenTransport
) -> None:
    """Ours: the status line says most."""
    endless = itertools.chain([http(b"No", status=500, framing="close")], over_and_over(b"o", 0.02))
    began = time.monotonic()
    with open_transport(serve(lambda _: endless)).post([], b"{}", Deadline("recall", seconds)) as reply:
        assert reply.refusal().startswith(b"No")
    assert time.monotonic() - began < PATIENCE / 2


def test_a_slow_reader_of_the_request_cannot_stretch_a_call(serve: Serve, open_transport: OpenTransport) -> None:
    """Ours: the deadline covers writes; a request that is not whole cannot have run."""
    transport = open_transport(serve(lambda _: b"", greeting=[Move.HANG], buffer=4096))
    assert expire(transport, b"x" * 8 * 2**20).outcome == "not_sent"


def test_a_reader_that_sips_the_request_cannot_stretch_a_call(open_transport: OpenTransport) -> None:
    """Ours: each part of a write has what is left, not a time of its own."""
    enough = threading.Event()

    def sip(listener: socket.socket) -> None:
        sock, _ = listener.accept()
        with sock:
            while sock.recv(2**17) and not enough.wait(0.01):
                pass

    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        thread = threading.Thread(target=sip, args=(listener,))
        thread.start()
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        error = expire(open_transport(SimpleNamespace(url=url)), b"x" * 64 * 2**20)
        enough.set()
        thread.join()
    assert error.outcome == "not_sent"


def test_a_request_that_cannot_go_out_whole_was_not_sent(serve: Serve, open_transport: OpenTransport) -> None:
    """Ours: known from the bytes written."""
    transport = open_transport(serve(lambda _: b"", greeting=[0.05, Move.RESET], buffer=4096))
    with pytest.raises(UnreachableError) as caught:
        post(transport, patient(), b"x" * 8 * 2**20)
    assert caught.value.outcome == "not_sent"


@contextmanager
def answering_early(answer: bytes, tls: ssl.SSLContext | None) -> Iterator[str]:
    """Serve one connection: read the beginning of a request, answer, read no more."""
    enough = threading.Event()

    def serve(listener: socket.socket) -> None:
        sock, _ = listener.accept()
        with sock if tls is None else tls.wrap_socket(sock, server_side=True) as talk:
            talk.recv(100)
            talk.sendall(answer)
            assert enough.wait(PATIENCE)

    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        thread = threading.Thread(target=serve, args=(listener,))
        thread.start()
        try:
            yield f"{'http' if tls is None else 'https'}://localhost:{listener.getsockname()[1]}/mcp/alice/"
        finally:
            enough.set()
            thread.join()


@pytest.mark.parametrize("secure", [False, True])
@pytest.mark.parametrize("status", [400, 401, 413, 503])
def test_a_server_that_answers_before_it_has_read_everything_is_heard(status: int, secure: bool) -> None:
    """RFC 9112, 9.5: a client SHOULD look for an answer while it sends; the server may read no further."""
    context = None
    if secure:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(PEM)
    trusting = ssl.create_default_context(cafile=PEM)
    with (
        answering_early(http(b"No", "text/plain", status=status), context) as url,
        closing(Transport(url, Limits(), ssl_context=trusting)) as transport,
    ):
        began = time.monotonic()
        with transport.post([], b"x" * 16 * 2**20, patient()) as reply:
            assert (reply.status, reply.refusal(), reply.exchange.sent) == (status, b"No", False)
        assert time.monotonic() - began < PATIENCE / 2


def test_a_server_that_leaves_before_it_has_read_everything_ran_nothing(
    serve: Serve, open_transport: OpenTransport
) -> None:
    """Ours: known from the bytes written."""
    transport = open_transport(serve(lambda _: b"", greeting=[0.05, Move.CLOSE], buffer=4096))
    with pytest.raises(UnreachableError) as caught:
        post(transport, patient(), b"x" * 8 * 2**20)
    assert caught.value.outcome == "not_sent"


def test_a_slow_tls_handshake_cannot_stretch_a_call(serve: Serve) -> None:
    """Ours: the deadline covers connecting, TLS included."""
    server = serve(lambda _: b"", greeting=[Move.HANG])
    with closing(Transport(server.url.replace("http:", "https:"), Limits())) as transport:
        assert expire(transport).outcome == "not_sent"


def test_the_last_instant_of_a_deadline_is_a_timeout() -> None:
    """Ours: a socket told to wait 0 seconds does not wait, and fails otherwise than by a timeout."""
    deadline = Deadline("recall", 1.0, now=iter([0.0, 1.0]).__next__)
    with pytest.raises(TimeoutError):
        Exchange(deadline, 10.0).left()


def test_a_deadline_that_has_passed_sends_nothing(serve: Serve, open_transport: OpenTransport) -> None:
    """Ours: an answer would come too late."""
    server = serve(lambda _: http(b"1"))
    with pytest.raises(DeadlineError) as caught:
        post(open_transport(server), Deadline("recall", 0.0))
    assert caught.value.outcome == "not_sent"
    assert not server.connections


def test_an_endless_deadline_is_no_fault(serve: Serve, open_transport: OpenTransport) -> None:
    """Ours: `math.inf` must not overflow a C timeout."""
    assert post(open_transport(serve(lambda _: http(b"1"))), Deadline("recall", float("inf"))) == [b"1"]


# -- connecting --------------------------------------------------------------------------------------------------------


def unreached(url: str, limits: Limits = Limits()) -> UnreachableError:  # noqa: B008 - frozen
    with closing(Transport(url, limits)) as transport, pytest.raises(UnreachableError) as caught:
        post(transport, patient())
    assert caught.value.outcome == "not_sent"
    return caught.value


def closed_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port: int = sock.getsockname()[1]
    return port


def test_a_refused_connection_is_unreachable() -> None:
    """Public report: vectorize-io/hindsight #3114. Ours: nothing was sent, so that repeating is safe."""
    server = f"http://127.0.0.1:{closed_port()}"
    assert f"no connection to {server}: " in str(unreached(f"{server}/"))


def test_a_connection_that_does_not_come_up_ends_at_the_connect_limit() -> None:
    """Linux, listen: a listener whose queue is full leaves connections pending."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        address = listener.getsockname()
        waiting = [socket.socket() for _ in range(4)]
        for sock in waiting:
            sock.setblocking(False)
            sock.connect_ex(address)
        began = time.monotonic()
        error = unreached(f"http://127.0.0.1:{address[1]}/", Limits(connect=SHORT))
        assert "within 0.3 s" in str(error)
        assert time.monotonic() - began < PATIENCE / 2
        for sock in waiting:
            sock.close()


def test_a_connection_that_the_system_gives_up_is_no_deadline_of_ours(
    serve: Serve, open_transport: OpenTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Linux, tcp(7), ETIMEDOUT: after so many tries; Python makes a TimeoutError of it."""
    fault = TimeoutError(errno.ETIMEDOUT, "Connection timed out")
    with monkeypatch.context() as patch:
        patch.setattr(socket, "create_connection", Mock(side_effect=fault))
        assert "Connection timed out" in str(unreached("http://127.0.0.1:1/", Limits(connect=math.inf)))
    monkeypatch.setattr(network.Stream, "read", Mock(side_effect=fault))
    with pytest.raises(AnswerLostError, match="TimeoutError"):
        post(open_transport(serve(lambda _: http(b"1"))), patient())


def test_a_slow_tls_handshake_ends_at_the_connect_limit(serve: Serve) -> None:
    """Ours: `connect_timeout` covers one TCP and TLS connection."""
    server = serve(lambda _: b"", greeting=[Move.HANG])
    began = time.monotonic()
    error = unreached(server.url.replace("http:", "https:"), Limits(connect=SHORT))
    assert "within 0.3 s" in str(error)
    assert time.monotonic() - began < PATIENCE / 2


@pytest.mark.parametrize(
    "fault", [socket.gaierror(-2, "Name or service not known"), UnicodeError("label empty or too long"), OSError("x")]
)
def test_a_name_that_does_not_resolve_is_unreachable(fault: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    """CPython: `getaddrinfo` raises UnicodeError for a label of more than 63 letters."""

    def resolve(*_: Any, **__: Any) -> Any:
        raise fault

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    unreached("http://nowhere.example/")


def test_a_name_without_addresses_is_unreachable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: nothing was sent."""
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: [])
    unreached("http://nowhere.example/")


def named(monkeypatch: pytest.MonkeyPatch, *addresses: str) -> None:
    """Give bank.example these addresses."""
    genuine = socket.getaddrinfo

    def resolve(host: str, *args: Any, **options: Any) -> Any:
        asked = addresses if host == "bank.example" else [host]
        return [entry for address in asked for entry in genuine(address, *args, **options)]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)


def at(server: WireServer, host: str) -> WireServer:
    """Have the server known under another name."""
    server.url = f"http://{host}:{server.port}"
    return server


def test_each_address_of_a_name_is_tried(
    serve: Serve, open_transport: OpenTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ours: `localhost` may mean ::1 first, where nobody listens."""
    server = serve(lambda _: http(b"1"))
    named(monkeypatch, "127.0.0.2", "127.0.0.1")
    assert post(open_transport(at(server, "bank.example")), patient()) == [b"1"]


def test_an_address_that_never_answers_leaves_time_for_the_next(
    serve: Serve, open_transport: OpenTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ours: a broken IPv6 route is silent, and must not use up what the IPv4 address needs."""
    server = serve(lambda _: http(b"1"))
    genuine, shares = socket.create_connection, []

    def silent_first(address: tuple[str, int], timeout: float) -> socket.socket:
        shares.append(timeout)
        if len(shares) == 1:
            raise TimeoutError
        return genuine(address, timeout)

    named(monkeypatch, "127.0.0.2", "127.0.0.1")
    monkeypatch.setattr(socket, "create_connection", silent_first)
    assert post(open_transport(at(server, "bank.example"), connect=PATIENCE), patient()) == [b"1"]
    assert shares[0] <= PATIENCE / 2


@pytest.mark.parametrize(
    ("limit", "seconds", "kind"), [(SHORT, PATIENCE, UnreachableError), (PATIENCE, SHORT, DeadlineError)]
)
def test_a_look_up_without_end_ends_with_the_time_to_connect(
    limit: float, seconds: float, kind: type[BankError], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ours: a resolver that does not answer takes half a minute by default (resolv.conf(5)), and a deadline is one."""
    over = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: over.wait(PATIENCE) and [])
    transport = Transport("http://bank.example/", Limits(connect=limit))
    try:
        with pytest.raises(kind) as caught:
            post(transport, Deadline("recall", seconds))
    finally:
        over.set()
    assert caught.value.outcome == "not_sent"


def test_what_stops_a_look_up_reaches_the_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: a double that forbids the network raises what it likes, and it is not lost in a thread."""
    forbidden = LookupError("no network in tests")
    monkeypatch.setattr(socket, "getaddrinfo", Mock(side_effect=forbidden))
    with pytest.raises(LookupError) as caught:
        post(Transport("http://bank.example/", Limits()), patient())
    assert caught.value is forbidden


def test_a_link_local_address_keeps_its_scope(monkeypatch: pytest.MonkeyPatch) -> None:
    """RFC 4007, 11: without its zone it leads nowhere."""
    entry = (socket.AF_INET6, socket.SOCK_STREAM, 6, "", ("fe80::1", 0, 0, 2))
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: [entry])
    connect = Mock(side_effect=OSError)
    monkeypatch.setattr(socket, "create_connection", connect)
    unreached("http://bank.example:81/")
    assert connect.call_args.args[0] == ("fe80::1%2", 81)


@pytest.mark.parametrize("where", ["side_effect", "return_value.start.side_effect"])
def test_a_name_is_found_where_no_thread_can_start(
    where: str, serve: Serve, open_transport: OpenTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CPython: at the end of the interpreter, or of memory, `Thread.start` raises RuntimeError."""
    server = serve(lambda _: http(b"1"))
    named(monkeypatch, "127.0.0.1")
    transport = open_transport(at(server, "bank.example"))
    failing = {where: RuntimeError("can't start new thread")}
    monkeypatch.setattr(network, "threading", Mock(Thread=Mock(**failing)))
    assert post(transport, patient()) == [b"1"]


def test_an_ipv6_address_keeps_its_brackets(
    serve: Serve, open_transport: OpenTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    """RFC 9110, 7.2; public report: runvendo/vendo #938: on the wire, whatever the machine has."""
    server = serve(lambda _: http(b"1"))
    found = socket.getaddrinfo("127.0.0.1", server.port, type=socket.SOCK_STREAM)
    asked = []

    def resolve(host: str, *_: Any, **__: Any) -> Any:
        asked.append(host)
        return found

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    assert post(open_transport(at(server, "[::1]")), patient()) == [b"1"]
    assert asked[0] == "::1"
    assert server.requests[0].headers["host"] == f"[::1]:{server.port}"


# -- proxies -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", ["{url}", "nonsense://[", "socks5://127.0.0.1:1"])
def test_proxies_of_the_environment_are_not_used(
    value: str, serve: Serve, open_transport: OpenTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ours: a proxy sees the traffic, so it is a choice; broken variables do no harm either."""
    proxy = serve(lambda _: http(b"2"))
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, value.format(url=proxy.url))
        monkeypatch.setenv(name.lower(), value.format(url=proxy.url))
    assert post(open_transport(serve(lambda _: http(b"1"))), patient()) == [b"1"]
    assert not proxy.connections


def test_a_proxy_that_was_asked_for_is_used(serve: Serve) -> None:
    """RFC 9112, 3.2.2: it sees the whole URL."""
    proxy = serve(lambda _: http(b"1"))
    with closing(Transport("http://localhost:1/mcp/alice/", Limits(), proxy=proxy.url)) as transport:
        assert post(transport, patient()) == [b"1"]
    assert proxy.requests[0].path == "http://localhost:1/mcp/alice/"
    assert proxy.requests[0].headers["host"] == "localhost:1"


def test_a_proxy_that_is_silent_ends_at_the_connect_limit(serve: Serve) -> None:
    """Ours: `connect_timeout` covers the way to the server, the tunnel included."""
    proxy = serve(lambda _: [Move.HANG])
    began = time.monotonic()
    url = "https://localhost:1/mcp/alice/"
    with (
        closing(Transport(url, Limits(connect=SHORT), proxy=proxy.url)) as transport,
        pytest.raises(UnreachableError, match=r"within 0\.3 s") as caught,
    ):
        post(transport, patient())
    assert caught.value.outcome == "not_sent"
    assert time.monotonic() - began < PATIENCE / 2


def test_the_connect_limit_ends_with_connecting(serve: Serve, open_transport: OpenTransport) -> None:
    """Ours: an answer may take as long as the call has."""
    transport = open_transport(serve(lambda _: [2 * SHORT, http(b"1")]), connect=SHORT)
    assert post(transport, patient()) == [b"1"]


@pytest.mark.parametrize("play", [http(status=407), http(status=502), [Move.CLOSE], [Move.RESET], b"x\r\n\r\n"])
def test_a_proxy_that_makes_no_tunnel_leaves_the_server_unreachable(play: Play, serve: Serve) -> None:
    """RFC 9110, 9.3.6: nothing was sent to the server, and no key to the proxy."""
    proxy = serve(lambda _: play)
    url = "https://localhost:1/mcp/alice/"
    with closing(Transport(url, Limits(), proxy=proxy.url)) as transport, pytest.raises(UnreachableError) as caught:
        transport.post([("Authorization", "Bearer k")], b"{}", patient())
    assert caught.value.outcome == "not_sent"
    assert [request.verb for request in proxy.requests] == ["CONNECT"]
    assert "authorization" not in proxy.requests[0].headers
    assert f"https://localhost:1 through the proxy {proxy.url.removeprefix('http://')}: " in str(caught.value)


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_proxy_that_is_not_there_is_named_without_its_password(scheme: str) -> None:
    """Ours: what to mend is the proxy; what it is told stays with it."""
    url = f"{scheme}://localhost:2/mcp/alice/"
    with (
        closing(Transport(url, Limits(), proxy="http://alice:s3cret@127.0.0.1:1")) as transport,
        pytest.raises(UnreachableError, match=f"{scheme}://localhost:2 through the proxy 127.0.0.1:1: ") as caught,
    ):
        transport.post([], b"{}", patient())
    assert "s3cret" not in str(caught.value)


# -- TLS ---------------------------------------------------------------------------------------------------------------


@pytest.fixture
def tls(serve: Serve) -> Callable[[Play], WireServer]:
    """Start a server that speaks TLS as localhost."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(PEM)
    return lambda play: serve(lambda _: play, tls=context)


@pytest.mark.parametrize("cut", [False, True])
def test_tls_is_spoken_and_its_cuts_are_seen(cut: bool, tls: Callable[[Play], WireServer]) -> None:
    """RFC 8446, 6.1: an end without close_notify is an end too soon."""
    answer = http(b"12345")
    server = tls([answer[:-1], Move.CLOSE] if cut else answer)
    trusting = ssl.create_default_context(cafile=PEM)
    with closing(Transport(server.url, Limits(), ssl_context=trusting)) as transport:
        if cut:
            with pytest.raises(BankError):
                post(transport, patient())
        else:
            assert [post(transport, patient()) for _ in range(3)] == [[b"12345"]] * 3
            assert server.connections == 1


def test_a_megabyte_goes_out_over_tls(tls: Callable[[Play], WireServer]) -> None:
    """Ours: writes come in parts."""
    server = tls(http(b"1"))
    with closing(Transport(server.url, Limits(), ssl_context=ssl.create_default_context(cafile=PEM))) as transport:
        assert post(transport, patient(), b"x" * 2**20) == [b"1"]
    assert len(server.requests[0].body) == 2**20


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1"])
def test_a_certificate_must_be_trusted_and_name_the_host(host: str, tls: Callable[[Play], WireServer]) -> None:
    """RFC 9110, 4.3.4: no request, hence no key, goes to whom it should not."""
    server = tls(http(b"1"))
    context = None if host == "localhost" else ssl.create_default_context(cafile=PEM)
    url = f"https://{host}:{server.port}/"
    with closing(Transport(url, Limits(), ssl_context=context)) as transport, pytest.raises(UnreachableError):
        post(transport, patient())
    assert not server.requests


# -- what the exchange knows -------------------------------------------------------------------------------------------


def test_an_exchange_knows_what_went_over_its_socket(serve: Serve, open_transport: OpenTransport) -> None:
    """Ours: outcomes are known from bytes counted, not guessed."""
    answer = http(b"1")
    transport = open_transport(serve(lambda _: answer))
    facts = []
    for _ in range(2):
        with transport.post([], b"{}", patient()) as reply:
            list(reply.messages())
            facts.append((reply.exchange.fresh, reply.exchange.sent, reply.exchange.received))
    assert facts == [(True, True, len(answer)), (False, True, len(answer))]


def test_abandoned_sockets_are_closed_here_and_nowhere_else(serve: Serve, open_transport: OpenTransport) -> None:
    """Public report: globus/globus-sdk-python #292: a forked child lets go of its copies; the connection goes on."""
    server = serve(lambda _: http(b"1"))
    transport = open_transport(server)
    post(transport, patient())
    (connection,) = transport._pool._idle
    stream = connection.stream
    kept = socket.socket(fileno=os.dup(stream._sock.fileno()))
    fork._renew()
    assert stream._sock.fileno() == -1
    kept.settimeout(PATIENCE)
    with kept:
        kept.sendall(b"POST / HTTP/1.1\r\ncontent-length: 0\r\n\r\n")
        assert kept.recv(8) == b"HTTP/1.1"
    # What was abandoned is not used again.
    assert post(transport, patient()) == [b"1"]
    assert server.connections == 2


def test_a_child_that_is_born_while_a_connection_comes_up_does_not_write_to_it(
    serve: Serve, open_transport: OpenTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    """POSIX, fork; CPython, PEP 475: `connect` goes on in parent and child after a signal handler that forks."""
    server = serve(lambda _: http(b"1"))
    connect = socket.create_connection

    def forked(*args: Any) -> socket.socket:
        sock = connect(*args)
        monkeypatch.setattr(Exchange, "forked", lambda _: True)
        return sock

    monkeypatch.setattr(socket, "create_connection", forked)
    with pytest.raises(AnswerLostError, match="forked"):
        post(open_transport(server), patient())
    server.wait_until_left()
    assert not server.requests


def test_certificates_that_cannot_be_loaded_are_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: SSL_CERT_FILE may name what is not there."""
    monkeypatch.setenv("SSL_CERT_FILE", "nowhere.pem")
    with pytest.raises(SettingsError, match="SSL_CERT_FILE"):
        Transport("https://localhost/", Limits())
