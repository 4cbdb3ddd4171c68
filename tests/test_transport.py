"""One POST: whatever comes back is read whole and within its bounds, or is an error."""

import itertools
import tracemalloc
from pathlib import Path

import httpx
import pytest
from conftest import OpenTransport, Serve
from wire_server import (
    EVENTS,
    JSON,
    Framing,
    Move,
    Play,
    Request,
    http,
    over_and_over,
)

from hindsight_bank import AnswerLostError, BankError, DeadlineError, ProtocolError, UnreachableError
from hindsight_bank.deadline import Deadline
from hindsight_bank.faults import translated
from hindsight_bank.network import Exchange
from hindsight_bank.reply import Reply
from hindsight_bank.transport import Transport


def deadline() -> Deadline:
    return Deadline("get_memory", 20)


def received(transport: Transport) -> list[bytes]:
    with transport.post([], b"{}", deadline()) as reply:
        return list(reply.messages())


# -- the dialects of event streams ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("stream", "messages"),
    [
        ("data: 1\n\n", ["1"]),
        ("data:1\n\n", ["1"]),
        ("\ufeffdata: 1\n\n", ["1"]),
        ("\ufeff\ufeffdata: 1\n\n", []),
        ("data:  1\n\n", [" 1"]),
        ("data: 1\ndata\ndata: 2\n\n", ["1\n\n2"]),
        ("\n\ndata: 1\n\n\n\ndata: 2\n\n", ["1", "2"]),
        (": ping\n\n: ping - 2026-11-30 12:15:01+00:00\n\ndata: 1\n\n", ["1"]),
        ("event:\ndata: 1\n\n", ["1"]),
        ("event: ping\ndata: 1\n\ndata: 2\n\n", ["2"]),
        ("id: a\0b\ndata: 1\n\n", ["1"]),
        ("id: 1\ndata: 1\n\n: ping\n\n: ping\n\n", ["1"]),
        ("retry: " + "9" * 5000 + "\ndata: 1\n\n", ["1"]),
        ("Data: 1\nDATA: 2\n\n", []),
        ("data: 1\n", []),
        ("data: 1", []),
        (":data: 1\n\n", []),
        ("", []),
    ],
)
def test_an_event_stream_is_read_by_the_standard(
    stream: str, messages: list[str], serve: Serve, open_transport: OpenTransport
) -> None:
    """HTML standard, 9.2.6: an event without its blank line is no event.

    Public reports: modelcontextprotocol/python-sdk #1672, profullstack/sh1pt #705, google-gemini/gemini-cli #29059.
    """
    transport = open_transport(serve(lambda _: http(stream.encode(), EVENTS)))
    assert received(transport) == [message.encode() for message in messages]


@pytest.mark.parametrize("body", [b"\xff", b"\xe2\x98", b"\xed\xa0\x80", '"é"'.encode("utf-16"), "é".encode("latin-1")])
@pytest.mark.parametrize("kind", [JSON, EVENTS])
def test_an_answer_that_is_not_utf_8_is_malformed(
    kind: str, body: bytes, serve: Serve, open_transport: OpenTransport
) -> None:
    """RFC 8259, 8.1; HTML standard, 9.2.5. Ours: nothing is guessed or replaced."""
    told = body if kind == JSON else b"data: " + body + b"\n\n"
    transport = open_transport(serve(lambda _: http(told, kind)))
    with pytest.raises(ProtocolError, match="not UTF-8"):
        received(transport)


# -- what an answer may call itself ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kind",
    [
        *(JSON, "Application/JSON", "application/json; charset=utf-8", "application/json ;x=y", " application/json  "),
        *(EVENTS, "TEXT/Event-Stream", "text/event-stream;charset=UTF-8", "text/event-stream; a, b"),
    ],
)
def test_a_content_type_may_be_spelt_oddly(kind: str, serve: Serve, open_transport: OpenTransport) -> None:
    """RFC 9110, 8.3.1: compared without regard to case; parameters do not matter here."""
    transport = open_transport(serve(lambda _: http(b"1" if "json" in kind.lower() else b"data: 1\n\n", kind)))
    assert received(transport) == [b"1"]


@pytest.mark.parametrize(
    "kind", [None, "", "text/html", "text/plain", "application/json-seq", "text/event-stream2", "é"]
)
def test_an_answer_of_another_type_is_refused(kind: str | None, serve: Serve, open_transport: OpenTransport) -> None:
    """MCP 2025-11-25, Transports, "Sending Messages to the Server": two types, whatever the body looks like."""
    transport = open_transport(serve(lambda _: http(b"1", kind)))
    with pytest.raises(ProtocolError, match="not JSON or an event stream") as caught:
        received(transport)
    assert ("(text/plain)" in str(caught.value)) == (kind == "text/plain")


@pytest.mark.parametrize("header", ["content-type", "content-encoding"])
def test_a_header_that_holds_who_knows_what_is_not_quoted(
    header: str, serve: Serve, open_transport: OpenTransport
) -> None:
    """Ours: some proxies repeat what they were sent, a key among it."""
    transport = open_transport(serve(lambda _: http(b"1", headers={header: "text/s3cret"})))
    with pytest.raises(ProtocolError) as caught:
        received(transport)
    assert "s3cret" not in repr(caught.value)


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "zstd", "x-unheard-of", "identity, gzip"])
def test_a_compressed_answer_is_refused_unread(encoding: str, serve: Serve, open_transport: OpenTransport) -> None:
    """Hindsight 1.1.0 never compresses on /mcp. Ours: a bomb is never unpacked."""
    headers = {"content-encoding": encoding}
    transport = open_transport(serve(lambda _: http(b"1", headers=headers)))
    with pytest.raises(ProtocolError, match="compressed"):
        received(transport)


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"\r\n",
        b"SSH-2.0-OpenSSH_9.6\r\n\r\n",
        b'{"jsonrpc":"2.0"}\r\n\r\n',
        b"HTTP/1.1 2000 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length : 1\r\n\r\n1",
        b"HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n1",
        b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n11",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\nxyz\r\n1\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nupgrade: h2c\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * 30_000 + b"\r\n",
    ],
    ids=range(12),
)
def test_an_answer_that_is_not_http_is_lost(raw: bytes, serve: Serve, open_transport: OpenTransport) -> None:
    """RFC 9112, 2 to 7; ours: the request was sent, and nobody knows what became of it."""
    transport = open_transport(serve(lambda _: [raw, Move.CLOSE]))
    with pytest.raises(AnswerLostError) as caught:
        received(transport)
    assert caught.value.outcome == "unknown"


def test_interim_answers_are_passed_over(serve: Serve, open_transport: OpenTransport) -> None:
    """RFC 9110, 15.2."""
    interim = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n"
    assert received(open_transport(serve(lambda _: interim + http(b"1")))) == [b"1"]


# -- bounds ------------------------------------------------------------------------------------------------------------

BOUND = 2**18


@pytest.mark.parametrize("framing", ["chunked", "close"])
@pytest.mark.parametrize(
    ("kind", "first", "rest"),
    [
        (JSON, b'"', b"x" * 1000),
        (EVENTS, b"data: ", b"x" * 1000),
        (EVENTS, b"data: \xf0\x9f\x8d\xb5", b"x" * 1000),
        (EVENTS, b"", b"data: x\n" * 100),
        (EVENTS, b"", b": ping\n\n" * 100),
        (EVENTS, b"", b"data: {}\n\n" * 100),
        (EVENTS, b"", b"\r" * 1000),
    ],
    ids=["JSON", "line", "wide line", "event", "comments", "events", "line ends"],
)
def test_an_endless_answer_ends_at_the_bound(
    kind: str, first: bytes, rest: bytes, framing: Framing, serve: Serve, open_transport: OpenTransport
) -> None:
    """Public report: modelcontextprotocol/python-sdk #3332.

    Whatever is endless, the error names the limit, and memory stays near it.
    """

    def script(_: Request) -> Play:
        if framing == "close":
            return itertools.chain([http(first, kind, framing="close")], over_and_over(rest))
        chunk = b"%x\r\n%s\r\n" % (len(rest), rest)
        whole = http(first, kind, framing="chunked")
        return itertools.chain([whole.removesuffix(b"0\r\n\r\n")], over_and_over(chunk))

    transport = open_transport(serve(script), response=BOUND)
    tracemalloc.start()
    with pytest.raises(ProtocolError, match=f"larger than {BOUND} bytes;.* max_response_bytes"):
        received(transport)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 16 * BOUND


@pytest.mark.parametrize("framing", ["content-length: %d\r\n\r\n", "transfer-encoding: chunked\r\n\r\n%x\r\n"])
@pytest.mark.parametrize("kind", [JSON, EVENTS])
def test_a_length_that_is_no_truth_takes_no_memory(
    kind: str, framing: str, serve: Serve, open_transport: OpenTransport
) -> None:
    """Ours: room is made for what is said to come, and never for much more than came."""
    head = f"HTTP/1.1 200 Told\r\ncontent-type: {kind}\r\n" + framing % 10**15
    transport = open_transport(serve(lambda _: iter([head.encode() + b"data: x", Move.CLOSE])), response=BOUND)
    tracemalloc.start()
    with pytest.raises(AnswerLostError):
        received(transport)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 16 * BOUND


def test_room_is_made_within_the_bound() -> None:
    """Ours: however much is said to come, no more than the bound can."""
    exchange = Exchange(deadline(), 10)
    exchange.coming = 10**15
    chunks = itertools.repeat(b"1" * 4096, 2**8)
    reply = Reply(200, {"content-type": JSON}, chunks, lambda: None, exchange=exchange, most_bytes=2**20)
    tracemalloc.start()
    assert sum(map(len, reply.messages())) == 2**20
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2 * 2**20


def test_lines_of_one_large_chunk_take_no_more_room_than_others() -> None:
    """Ours: each read begins a line, and the rest of the chunk, which is known to come, is for other lines."""
    exchange = Exchange(deadline(), 10)
    exchange.coming = 2**25
    chunks = itertools.repeat((b"data: {}\n\n" * 6554)[:65_536], 16)
    reply = Reply(200, {"content-type": EVENTS}, chunks, lambda: None, exchange=exchange, most_bytes=2**25)
    tracemalloc.start()
    assert sum(1 for _ in reply.messages()) > 16 * 6500
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**20


@pytest.mark.parametrize("line", [b"data:\n", b"data: xy\n", b"data:" + b"x" * 60 + b"\r\n", b"data\r"])
def test_an_event_of_very_many_lines_costs_what_its_bytes_do(line: bytes) -> None:
    """Ours: a line is no object of its own while the event is put together."""
    piece = line * (65_536 // len(line))
    chunks = itertools.chain(itertools.repeat(piece, 16), [b"\n\n"])
    exchange = Exchange(deadline(), 10)
    reply = Reply(200, {"content-type": EVENTS}, chunks, lambda: None, exchange=exchange, most_bytes=2**22)
    tracemalloc.start()
    (message,) = reply.messages()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert message.count(b"\n") == 16 * len(piece) // len(line) - 1
    assert peak < 56 * len(piece)


@pytest.mark.parametrize("kind", [JSON, EVENTS])
def test_an_answer_as_large_as_the_bound_is_whole(kind: str, serve: Serve, open_transport: OpenTransport) -> None:
    """Public report: vectorize-io/hindsight #1586. Ours: the bound is the largest answer that is read."""
    body = b"1" * BOUND if kind == JSON else b"data: " + b"1" * (BOUND - 8) + b"\n\n"
    assert len(body) == BOUND
    assert sum(map(len, received(open_transport(serve(lambda _: http(body, kind)), response=BOUND)))) >= BOUND - 8


def test_of_an_endless_refusal_only_the_beginning_is_read(serve: Serve, open_transport: OpenTransport) -> None:
    """Ours: an excerpt is all that an error shows."""
    script = itertools.chain([http(b"", status=500, framing="close")], over_and_over(b"no " * 1000))
    with open_transport(serve(lambda _: script)).post([], b"{}", deadline()) as reply:
        assert 0 < len(reply.refusal()) <= 16_384


# -- the request, and the connections ----------------------------------------------------------------------------------


def test_a_request_is_what_it_was_told_to_be(
    serve: Serve, open_transport: OpenTransport, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Public report: encode/httpx #568: nothing is added, doubled or taken from the environment."""
    (tmp_path / "netrc").write_text("default login alice password s3cret")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    server = serve(lambda _: http(b"1", headers={"set-cookie": "a=b"}))
    transport = open_transport(server)
    for _ in range(2):
        with transport.post([("X-One", "1"), ("X-Two", "2")], b"{}", deadline()) as reply:
            assert list(reply.messages()) == [b"1"]
    head = f"POST /mcp/alice/ HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nX-One: 1\r\nX-Two: 2\r\nContent-Length: 2"
    assert [(request.head.decode(), request.body) for request in server.requests] == [(head + "\r\n\r\n", b"{}")] * 2


@pytest.mark.parametrize("kind", [JSON, EVENTS])
def test_answers_read_to_their_end_share_one_connection(kind: str, serve: Serve, open_transport: OpenTransport) -> None:
    """RFC 9112, 9.3: a connection is used again once the answer was read to its end."""
    server = serve(lambda _: http(b"1" if kind == JSON else b"data: 1\n\n: bye\n\n", kind, framing="chunked"))
    transport = open_transport(server)
    assert [received(transport) for _ in range(8)] == [[b"1"]] * 8
    assert server.connections == 1


@pytest.mark.parametrize("repeatable", [True, False])
def test_a_connection_that_the_server_closed_meanwhile_is_not_used(
    repeatable: bool,
    serve: Serve,
    open_transport: OpenTransport,
) -> None:
    """Public report: dashscope/dashscope-sdk-python #175.

    An idle connection is looked at before it is used, so that even a retain is safe.
    """
    server = serve(lambda _: [http(b"1"), Move.CLOSE])
    transport = open_transport(server)
    for _ in range(3):
        with transport.post([], b"{}", deadline(), repeatable=repeatable) as reply:
            assert list(reply.messages()) == [b"1"]
        server.wait_until_left()
    assert server.connections == len(server.requests) == 3


@pytest.mark.parametrize("move", [Move.CLOSE, Move.RESET])
def test_a_connection_that_dies_on_its_first_request_is_not_tried_again(
    move: Move, serve: Serve, open_transport: OpenTransport
) -> None:
    """RFC 9110, 9.2.2. Ours: no idle time explains it, so the server itself gave up, and may on every attempt."""
    transport = open_transport(server := serve(lambda _: [move]))
    with pytest.raises(AnswerLostError):
        transport.post([], b"{}", deadline(), repeatable=True)
    assert len(server.requests) == 1


@pytest.mark.parametrize("move", [Move.CLOSE, Move.RESET])
@pytest.mark.parametrize("part", [b"H", http(b"2")[:-1]])
def test_a_connection_that_dies_within_an_answer_is_not_tried_again(
    part: bytes, move: Move, serve: Serve, open_transport: OpenTransport
) -> None:
    """Public report: daytonaio/daytona #4214: something ran, whatever may run twice."""
    plays = iter([[http(b"1")], [part, move]])
    server = serve(lambda _: next(plays))
    transport = open_transport(server)
    assert received(transport) == [b"1"]
    with pytest.raises(AnswerLostError), transport.post([], b"{}", deadline(), repeatable=True) as reply:
        list(reply.messages())
    assert len(server.requests) == 2


@pytest.mark.parametrize("move", [Move.CLOSE, Move.RESET])
@pytest.mark.parametrize("repeatable", [True, False])
def test_a_connection_that_dies_in_use_is_tried_once_more_only_for_what_may_run_twice(
    repeatable: bool,
    move: Move,
    serve: Serve,
    open_transport: OpenTransport,
) -> None:
    """Public report: dashscope/dashscope-sdk-python #175.

    Not one byte of answer came, and the connection was an old one.
    """
    plays = iter([[http(b"1")], [move], [http(b"2")]])
    server = serve(lambda _: next(plays))
    transport = open_transport(server)
    assert received(transport) == [b"1"]
    if repeatable:
        with transport.post([], b"{}", deadline(), repeatable=True) as reply:
            assert list(reply.messages()) == [b"2"]
    else:
        with pytest.raises(AnswerLostError):
            transport.post([], b"{}", deadline())
    assert len(server.requests) == 2 + repeatable


@pytest.mark.parametrize("repeatable", [True, False])
@pytest.mark.parametrize("stray", [http(status=408), b"H", b"\r\n"])
def test_an_answer_that_was_there_before_its_request_is_not_taken(
    stray: bytes, repeatable: bool, serve: Serve, open_transport: OpenTransport
) -> None:
    """RFC 9112, 9.2; ours: such as a 408 for an idle connection, which would call a write refused that then runs.

    The request goes out on another connection, and on no other.
    """
    plays = iter([http(b"1") + stray, http(b"2")])
    server = serve(lambda _: next(plays))
    transport = open_transport(server)
    assert received(transport) == [b"1"]
    with transport.post([], b"{}", deadline(), repeatable=repeatable) as reply:
        assert list(reply.messages()) == [b"2"]
    assert [request.connection for request in server.requests] == [1, 2]


@pytest.mark.parametrize("sent", [False, True])
@pytest.mark.parametrize(
    "kind", [kind for kind in vars(httpx).values() if isinstance(kind, type) and issubclass(kind, Exception)]
)
def test_every_exception_of_httpx_becomes_one_of_ours(kind: type[Exception], sent: bool) -> None:
    """Ours: httpx's whole tree, by reflection; what went out is never called unsent."""
    exchange = Exchange(Deadline("recall", 1, iter([0.0, *[2.0] * 9]).__next__), 10)
    exchange.sent = sent
    error = kind.__new__(kind)
    error.args = ("text",)
    with pytest.raises(BankError) as caught, translated(exchange):
        raise error
    if issubclass(kind, httpx.TimeoutException):
        assert isinstance(caught.value, DeadlineError)
    connecting = issubclass(kind, httpx.ConnectError | httpx.ProxyError | httpx.UnsupportedProtocol)
    assert isinstance(caught.value, UnreachableError) == (connecting or (not sent and "Timeout" not in kind.__name__))
    assert caught.value.outcome == ("unknown" if sent and not connecting else "not_sent")
