"""One POST: whatever comes back is read whole and within its bounds, or is an error."""

import itertools
import tracemalloc
from collections.abc import Callable, Iterator, Sequence

import httpx
import pytest
from conftest import OpenEndpoint, OpenTransport, Serve
from wire_server import (
    EVENTS,
    FRAMINGS,
    JSON,
    MEMORY,
    Framing,
    Move,
    Play,
    Request,
    encoded,
    http,
    over_and_over,
    result,
    sse,
    tool_result,
)

from hindsight_bank import AnswerLostError, BankError, DeadlineError, ProtocolError, UnreachableError, answers
from hindsight_bank.deadline import Deadline
from hindsight_bank.endpoint import Endpoint
from hindsight_bank.network import Exchange
from hindsight_bank.transport import Transport, translated

# Every way in which a character can be wide, or be taken for the end of a line.
TEXT = "tea ☕ 🍵 a\u2028b\u0085c\u2029d\u000be é"
ANSWER = tool_result({**MEMORY, "text": TEXT}, resultType="complete")
MIXED = ("\r\n", "\n", "\r")
SPLIT = {"LF": ("\n",), "CRLF": ("\r\n",), "CR": ("\r",), "mixed": MIXED}


def deadline() -> Deadline:
    return Deadline("get_memory", 20)


def ask(endpoint: Endpoint) -> str:
    """Call get_memory and return the memory's text."""
    params = {"name": "get_memory", "arguments": {"memory_id": "m"}}
    decode = answers.decoder("get_memory")
    message = endpoint.request("tools/call", params, deadline(), name="get_memory", decode=decode)
    return str(answers.answer("get_memory", message.result, endpoint.clean).text)


def received(transport: Transport) -> list[bytes]:
    with transport.post([], b"{}", deadline()) as reply:
        return list(reply.messages())


# -- cut anywhere ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("move", [Move.CLOSE, Move.RESET])
@pytest.mark.parametrize("framing", FRAMINGS)
@pytest.mark.parametrize("kind", [JSON, EVENTS])
def test_an_answer_cut_at_any_byte_is_whole_or_an_error(
    kind: str, framing: Framing, move: Move, serve: Serve, open_endpoint: OpenEndpoint
) -> None:
    """Issue 3, item 1; cases 43 and 44: 600 bytes of answer, every offset, three framings, FIN and RST."""
    at = -1

    def script(request: Request) -> Play:
        told = result(request, ANSWER)
        body = encoded(told) if kind == JSON else b": ping\r\n\r\n" + sse(told)
        return [http(body, kind, framing=framing)[:at], move]

    endpoint = open_endpoint(serve(script))
    endpoint._ids = itertools.count(1000)  # ids of one length
    probe = Request(b"", encoded({"id": 1000}), 0)
    whole = script(probe)[0]  # type: ignore[index]  # a list
    assert isinstance(whole, bytes)
    whole_from = len(whole) + 1
    for at in range(len(whole) + 2):  # noqa: B007 - read by the script
        try:
            assert ask(endpoint) == TEXT
        except BankError as error:
            assert error.outcome == "unknown"
            assert at < whole_from or move is Move.RESET
        else:
            whole_from = min(whole_from, at)
    # The blank line that ends the event is enough; a JSON answer is whole at its last byte only.
    assert whole_from > len(whole) - (1 if kind == JSON else 20)


# -- split anywhere, and the dialects of event streams -------------------------------------------------------------------


def ended(lines: Sequence[str], endings: Sequence[str]) -> bytes:
    """Return the lines, ended in turn by `endings`; an empty line must not become the other half of a CRLF."""
    text = ""
    for line, end in zip(lines, itertools.cycle(endings), strict=False):
        text += line + ("\r\n" if not line and text.endswith("\r") and end == "\n" else end)
    return text.encode()


def lines_of(message: str) -> list[str]:
    """Return a stream that uses all that the standard allows around one message, itself over three data lines."""
    noise = encoded({"jsonrpc": "2.0", "method": "notifications/message", "params": {"data": TEXT}}).decode()
    one, two, three = message.partition(',"method":')
    return [": ping ☕", "", "id: 7", "retry: 500", "data:", "", f"data:{noise}", "event: message", "", "data"]
    + [f"data: {one}", ": between", f"data:{two}", "unknown: x", f"data: {three}", "event: message", "", ": after"]


@pytest.mark.parametrize("name", SPLIT)
def test_an_event_stream_split_at_any_byte_says_the_same(name: str, serve: Serve, open_endpoint: OpenEndpoint) -> None:
    """HTML standard, 9.2.5 and 9.2.6; cases 55, 56, 58: every boundary, LF, CRLF, CR and mixed, then byte by byte."""
    pieces: Callable[[bytes], list[bytes]]

    def script(request: Request) -> Play:
        stream = ended(lines_of(encoded(result(request, ANSWER)).decode()), SPLIT[name])
        return http(pieces(b"\xef\xbb\xbf" + stream), EVENTS, framing="chunked")

    endpoint = open_endpoint(server := serve(script))
    endpoint._ids = itertools.count(1000)
    for at in range(1, 1200):
        pieces = lambda stream: [stream[:at], stream[at:]]  # noqa: B023, E731 - used at once
        assert ask(endpoint) == TEXT
    pieces = lambda stream: [bytes([byte]) for byte in stream]  # noqa: E731
    assert ask(endpoint) == TEXT
    assert server.connections == 1
