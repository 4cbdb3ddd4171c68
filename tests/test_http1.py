"""HTTP/1.1 as it is read and written, with h11 as the oracle: what we take, it takes and understands alike."""

import itertools
import re
from collections.abc import Iterable
from typing import Any, NamedTuple

import h11
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hindsight_bank.deadline import Deadline
from hindsight_bank.http1 import Connection, FramingError, head
from hindsight_bank.network import Exchange, Stream


class Told(NamedTuple):
    """An answer: its status, its headers with lower-case names, its body, and whether another request may follow."""

    status: int
    headers: list[tuple[bytes, bytes]]
    body: bytes
    reusable: bool


class Pieces(Stream):
    """A stream of these pieces, then the end."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self.pieces = [piece for piece in pieces if piece]

    def read(self, exchange: Exchange) -> bytes:  # noqa: ARG002 - as it is asked for
        return self.pieces.pop(0) if self.pieces else b""


def ours(pieces: Iterable[bytes]) -> Told | None:
    """Read an answer ourselves; None if it is refused."""
    exchange = Exchange(Deadline("recall", 60), 10)
    exchange.sent = True
    connection = Connection(Pieces(pieces))
    try:
        found, chunks = connection.answer(exchange)
        body = b"".join(chunks)
    except FramingError:
        return None
    return Told(found.status, plain(found.headers), body, connection.reusable)


@pytest.mark.parametrize(
    ("answer", "coming"),
    [
        ([b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc", b"defg", b"hi"], [6, 2, 0]),
        ([b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nab", b"cde\r\n1\r\nf\r\n0\r\n\r\n"], [3, 0, 0]),
        ([b"HTTP/1.1 200 OK\r\n\r\nab", b"c"], [0, 0]),
    ],
    ids=["length", "chunks", "end"],
)
def test_what_is_known_to_come_is_told_with_each_piece(answer: list[bytes], coming: list[int]) -> None:
    """RFC 9112, 6: of the body, or of its chunk."""
    exchange = Exchange(Deadline("recall", 60), 10)
    _, chunks = Connection(Pieces(answer)).answer(exchange)
    assert [exchange.coming for _ in chunks] == coming


def plain(fields: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """Return headers with lower-case names, but for those that frame, which h11 tidies up."""
    named = [(name.lower(), value) for name, value in fields]
    return [(name, value) for name, value in named if name not in (b"content-length", b"transfer-encoding")]


def h11s(data: bytes) -> Told | None:
    """Let h11 read it."""
    client = h11.Connection(h11.CLIENT, max_incomplete_event_size=102_400)
    client.send(h11.Request(method="POST", target="/", headers=[("Host", "h"), ("Content-Length", "0")]))
    client.send(h11.EndOfMessage())
    found, body = None, b""
    client.receive_data(data)
    try:
        while not isinstance(event := client.next_event(), h11.EndOfMessage):
            if event is h11.NEED_DATA:
                client.receive_data(b"")
            elif isinstance(event, h11.Response):
                found = event
            elif isinstance(event, h11.Data):
                body += event.data
            elif not isinstance(event, h11.InformationalResponse):
                return None
    except h11.RemoteProtocolError:
        return None
    assert found is not None
    return Told(
        found.status_code, plain(found.headers), body, client.their_state is h11.DONE and not client.trailing_data[1]
    )


# What h11 takes and we do not, since two readers may understand it differently, or no server means it.
# For each a pattern that such answers have, and an example.
SIZED = b"Content-Length: 3\r\n\r\nabc"
CHUNKED = b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
STRICTER = {
    "a line that ends in LF alone (RFC 9112, 2.2: MAY be taken)": (rb"(?<!\r)\n", b"HTTP/1.1 200 OK\n" + SIZED),
    "a folded header (RFC 9112, 5.2: MUST NOT be sent)": (rb"\n[\t ]", b"HTTP/1.1 200 OK\r\nX: a\r\n b\r\n" + SIZED),
    "a control character that may end a line elsewhere (RFC 9112, 7.1.1)": (
        rb"[\x00\x0b\x0c]|\r(?!\n)",
        b"HTTP/1.1 200 OK\r\n" + CHUNKED.replace(b"\n3", b"\n3;\0"),
    ),
    "a version of another kind (RFC 9112, 2.3)": (rb"HTTP/(?!1\.[01] )", b"HTTP/1.2 200 OK\r\n" + SIZED),
    "chunks in HTTP/1.0 (RFC 9112, 6.1: faulty)": (
        rb"(?is)HTTP/1\.0 .*transfer-encoding",
        b"HTTP/1.0 200 OK\r\n" + CHUNKED,
    ),
    "chunks with a length (RFC 9112, 6.3: ought to be an error)": (
        rb"(?is)(?=.*content-length).*transfer-encoding",
        b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n" + CHUNKED,
    ),
    "a size of more than 16 digits (ours: no chunk is so large)": (
        rb"[0-9A-Fa-f]{17}",
        b"HTTP/1.1 200 OK\r\n" + CHUNKED.replace(b"\n3", b"\n" + b"0" * 16 + b"3"),
    ),
}

names = st.sampled_from(
    [b"Content-Type", b"X", b"content-length", b"Content-Length", b"Transfer-Encoding", b"Connection"]
)
values = st.one_of(
    st.sampled_from([b"", b"0", b"3", b"5", b"3, 3", b"3,5", b"-3", b"+3", b"3 ", b"\xb2", b"3_0", b"0x3", b"9" * 21]),
    st.sampled_from([b"chunked", b"Chunked", b"gzip", b"chunked, chunked", b"gzip, chunked", b"identity"]),
    st.sampled_from([b"close", b"Keep-Alive", b"x, close", b"application/json", b"a\tb", b"\xe9", b"a\x01b", b"\x7f"]),
)
separators = st.sampled_from([b": ", b": ", b": ", b":", b":\t ", b" : ", b"; ", b":\r\n "])
ends = st.sampled_from([b"\r\n"] * 12 + [b"\n", b"\r", b" \r\n", b"\r\r\n"])
headers = st.builds(lambda *parts: b"".join(parts), names, separators, values, ends)
status_lines = st.builds(
    lambda *parts: b"".join(parts),
    st.sampled_from(
        [b"HTTP/1.1 "] * 8 + [b"HTTP/1.0 ", b"HTTP/1.2 ", b"HTTP/2 ", b"http/1.1 ", b"HTTP/1.1\t", b" HTTP/1.1 "]
    ),
    st.sampled_from(
        [b"200"] * 8 + [b"204", b"304", b"500", b"202", b"100", b"101", b"99", b"2000", b"0200", b"-20", b"\xb200"]
    ),
    st.sampled_from([b" OK", b"", b" ", b" \xe9", b"OK", b" a\x00"]),
    ends,
)
chunks = st.builds(
    lambda *parts: b"".join(parts),
    st.sampled_from([b"3", b"03", b"0x3", b"3;a=b", b"3 ", b"3 ;a", b";a", b"", b"-3", b"2", b"1" * 17, b"3;\x01"]),
    ends,
    st.sampled_from([b"abc", b"ab", b"abcd", b"\r\na"]),
    ends,
)
lasts = st.sampled_from(
    [b"0\r\n\r\n", b"0\r\n", b"0\r\nX: y\r\n\r\n", b"0\r\nX y\r\n\r\n", b"00\r\n\r\n", b"", b"0\n\n"]
)
bodies = st.one_of(
    st.sampled_from([b"", b"abc", b"ab", b"abcde", b"abcHTTP/1.1 200"]),
    st.builds(lambda pieces, last: b"".join(pieces) + last, st.lists(chunks, max_size=3), lasts),
)
framed = st.sampled_from([b"Content-Length: 3\r\n", b"Transfer-Encoding: chunked\r\n", b"", b""])
interim = st.sampled_from(
    [b"", b"", b"", b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 103 Early\r\nLink: </x>\r\n\r\n"]
)
answers = st.builds(
    lambda first, line, fields, framing, blank, body: first + line + b"".join(fields) + framing + blank + body,
    interim,
    status_lines,
    st.lists(headers, max_size=3),
    framed,
    ends,
    bodies,
)


@given(answers)
@example(b"HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\nabc")
@example(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\nabc")
@example(b"HTTP/1.0 200 OK\r\nContent-Length: 3\r\nConnection: keep-alive\r\n\r\nabc")
@example(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")
@example(b"HTTP/1.1 204 No Content\r\nContent-Length: 3\r\n\r\nabc")
@example(b"HTTP/1.1 200 OK\r\nTransfer-Encoding:\r\n\r\nabc")
def test_an_answer_means_to_us_what_it_means_to_h11_or_is_refused(data: bytes) -> None:
    """RFC 9112, 2 to 9; h11 is the oracle, and what we refuse beside it is listed, each with its reason."""
    mine, its = ours([data]), h11s(data)
    if mine is not None:
        assert mine == its
    elif its is not None:
        assert any(re.search(pattern, data) for pattern, _ in STRICTER.values())


@given(answers, st.lists(st.integers(0, 300), max_size=8))
def test_an_answer_means_the_same_however_it_is_split(data: bytes, cuts: list[int]) -> None:
    """RFC 9112, 2.2: a message is a sequence of octets, whatever the packets."""
    marks = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    pieces = [data[start:end] for start, end in itertools.pairwise(marks)]
    assert ours(pieces) == ours([data]) == ours([bytes([byte]) for byte in data])


@pytest.mark.parametrize("reason", STRICTER)
def test_what_only_h11_takes_is_refused(reason: str) -> None:
    """RFC 9112; one example for each way in which we are stricter."""
    pattern, answer = STRICTER[reason]
    assert re.search(pattern, answer)
    assert h11s(answer) is not None
    assert ours([answer]) is None


fields = st.lists(
    st.tuples(
        st.one_of(st.sampled_from([b"X-1", b"X-1", b"", b"a b", b"a:", b"a\r\nb", b"\xe9"]), st.binary(max_size=4)),
        st.one_of(
            st.sampled_from([b"1", b"a b", b"a\r\nX: y", b"\n", b"\0", b"\xe9", b"\r\n\r\nGET"]), st.binary(max_size=6)
        ),
    ),
    max_size=3,
)


@given(fields, st.one_of(st.just(b"/mcp/alice/"), st.binary(max_size=5)))
def test_a_head_that_goes_out_says_what_it_was_told_and_nothing_else(
    fields: list[tuple[bytes, bytes]], target: bytes
) -> None:
    """RFC 9112, 3 and 5: nothing in a value, a name or a target begins another line or another request."""
    try:
        text = head(b"POST", target, [(b"Host", b"h"), *fields])
    except FramingError:
        return
    server = h11.Connection(h11.SERVER)
    server.receive_data(text)
    event: Any = server.next_event()
    assert isinstance(event, h11.Request)
    assert (event.method, event.target) == (b"POST", target)
    said = [(name.lower(), value.strip(b" \t")) for name, value in fields]
    assert list(event.headers)[1:] == said
    assert isinstance(server.next_event(), h11.EndOfMessage)
    assert server.trailing_data == (b"", False)


@pytest.mark.parametrize("line", [b"x: y\r\n", b"x", b"HTTP/1.1 100 Continue\r\nx: y\r\n"])
def test_a_head_without_end_is_refused_early(line: bytes) -> None:
    """Ours: before it fills the memory."""
    pieces = Pieces([b"HTTP/1.1 200 OK\r\n", *[line * 1000] * 10_000])
    with pytest.raises(FramingError):
        Connection(pieces).answer(Exchange(Deadline("recall", 60), 10))
    assert len(pieces.pieces) > 9000


@pytest.mark.parametrize(
    "rest", [b"5" * 1000, b"1;" + b"x" * 1000, b"0\r\n" + b"x" * 1000, b"0\r\n" + b"x: y\r\n" * 100]
)
def test_a_line_or_a_trailer_without_end_is_refused_early(rest: bytes) -> None:
    """Ours: before it fills the memory."""
    beginning = rest[:3] if rest.startswith(b"0\r\n") else b""
    pieces = Pieces(
        [b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + rest, *[rest.removeprefix(beginning)] * 10_000]
    )
    _, chunks = Connection(pieces).answer(Exchange(Deadline("recall", 60), 10))
    with pytest.raises(FramingError):
        b"".join(chunks)
    assert len(pieces.pieces) > 9000


@pytest.mark.parametrize("begun", [b"SSH-2.0-OpenSSH_9.6\r\n", b"\x15\x03\x01", b"220 mail\r\n", b"HTTP/1.1 200 OK\n"])
def test_a_server_of_another_protocol_is_not_waited_for(begun: bytes) -> None:
    """Ours: the first bytes tell, though it waits for us to go on."""
    with pytest.raises(FramingError, match="not HTTP"):
        Connection(Pieces([begun, b"never read"])).answer(Exchange(Deadline("recall", 60), 10))


def test_another_protocol_is_not_switched_to() -> None:
    """RFC 9110, 15.2.2: only what was asked for."""
    with pytest.raises(FramingError, match="not asked for"):
        Connection(Pieces([b"HTTP/1.1 101 Switching\r\nUpgrade: h2c\r\n\r\n"])).answer(
            Exchange(Deadline("recall", 60), 10)
        )
