"""Answers cut and split at every byte, in every framing: the whole answer or an error, nothing else."""

import itertools
from collections.abc import Sequence

import pytest
from conftest import OpenEndpoint, Serve
from wire_server import (
    EVENTS,
    FRAMINGS,
    JSON,
    MEMORY,
    PATIENCE,
    Framing,
    Move,
    Play,
    Request,
    Step,
    encoded,
    http,
    result,
    sse,
    tool_result,
)

from hindsight_bank import AnswerLostError, BankError, ProtocolError, answers
from hindsight_bank.deadline import Deadline
from hindsight_bank.endpoint import Endpoint

# Every way in which a character can be wide, or be taken for the end of a line.
TEXT = "tea ☕ 🍵 a\u2028b\u0085c\u2029d\u000be é"
ANSWER = tool_result({**MEMORY, "text": TEXT}, resultType="complete")
MIXED = ("\r\n", "\n", "\r")
SPLIT = {"LF": ("\n",), "CRLF": ("\r\n",), "CR": ("\r",), "mixed": MIXED}


def ask(endpoint: Endpoint) -> str:
    """Call get_memory and return the memory's text."""
    params = {"name": "get_memory", "arguments": {"memory_id": "m"}}
    decode = answers.decoder("get_memory")
    message = endpoint.request("tools/call", params, Deadline("get_memory", PATIENCE), name="get_memory", decode=decode)
    return str(answers.answer("get_memory", message.result, endpoint.clean).text)


def tried(endpoint: Endpoint) -> str | BankError:
    """Return the memory's text, or the error."""
    try:
        return ask(endpoint)
    except BankError as error:
        return error


# -- cut anywhere ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("move", [Move.CLOSE, Move.RESET])
@pytest.mark.parametrize("framing", FRAMINGS)
@pytest.mark.parametrize("kind", [JSON, EVENTS])
def test_an_answer_cut_at_any_byte_is_whole_or_an_error(
    kind: str, framing: Framing, move: Move, serve: Serve, open_endpoint: OpenEndpoint
) -> None:
    """Public reports: modelcontextprotocol/python-sdk #3441, proliferate-ai/proliferate #1308.

    600 bytes of answer, every offset, three framings, FIN and RST.
    """
    at: int | None = None

    def script(request: Request) -> list[Step]:
        told = result(request, ANSWER)
        body = encoded(told) if kind == JSON else b": ping\r\n\r\n" + sse(told)
        return [http(body, kind, framing=framing)[:at], move]

    endpoint = open_endpoint(serve(script))
    endpoint._peer._ids = itertools.count(1000)  # ids of one length
    (whole, _) = script(Request(b"", encoded({"id": 1000}), 0))
    assert isinstance(whole, bytes)
    head = whole[: whole.index(b"\r\n\r\n") + 4]
    # A JSON text is whole at the end of its body, an event with its blank line, which the CR of a CRLF ends.
    needed = len(whole) if kind == JSON else whole.index(b"}\r\n\r\n") + 4
    for at in range(len(whole) + 1):
        told = tried(endpoint)
        if isinstance(told, BankError):
            assert told.outcome == "unknown"
            assert at < needed or move is Move.RESET
            # The end of the connection ends what has no other end; then the text shows that something is missing.
            ends_well = kind == JSON and framing == "close" and move is Move.CLOSE and at >= len(head)
            assert type(told) is (ProtocolError if ends_well else AnswerLostError)
        else:
            assert told == TEXT
            assert at >= needed


# -- split anywhere, and the dialects of event streams -----------------------------------------------------------------


def ended(lines: Sequence[str], endings: Sequence[str]) -> bytes:
    """Return the lines, ended in turn by `endings`; an empty line must not become the other half of a CRLF."""
    text = ""
    for line, end in zip(lines, itertools.cycle(endings), strict=False):
        text += line + ("\r\n" if not line and text.endswith("\r") and end == "\n" else end)
    return text.encode()


def dressed(message: str) -> list[str]:
    """Return a stream that uses all that the standard allows around one message, itself over three data lines."""
    noise = encoded({"jsonrpc": "2.0", "method": "notifications/message", "params": {"data": TEXT}}).decode()
    version, number, rest = message.split(",", 2)
    before = [": ping ☕", "", "id: 7", "retry: 500", "data:", "", f"data:{noise}", "event: message", "", "data", ""]
    foreign = ["event: endpoint", "data: /elsewhere", "", "id", "retry: soon", ""]
    answer = [f"data: {version},", ": between", f"data:{number},", "unknown: x", f"data: {rest}", "event: message", ""]
    return [*before, *foreign, *answer, ": after", "data: unfinished"]


@pytest.mark.parametrize("name", SPLIT)
def test_an_event_stream_split_at_any_byte_says_the_same(name: str, serve: Serve, open_endpoint: OpenEndpoint) -> None:
    """HTML standard, 9.2.5 and 9.2.6; public report: rexxars/eventsource-parser #17.

    Every boundary, LF, CRLF, CR and mixed, then byte by byte.
    """
    at, size = 0, 0

    def script(request: Request) -> Play:
        nonlocal size
        stream = b"\xef\xbb\xbf" + ended(dressed(encoded(result(request, ANSWER)).decode()), SPLIT[name])
        size = len(stream)
        pieces = [stream[:at], stream[at:]] if at else [bytes([byte]) for byte in stream]
        return http(pieces, EVENTS, framing="chunked")

    endpoint = open_endpoint(server := serve(script))
    endpoint._peer._ids = itertools.count(1000)
    assert ask(endpoint) == TEXT
    for at in range(1, size):  # noqa: B007 - the script reads it
        assert ask(endpoint) == TEXT
    assert server.connections == 1


def test_a_json_answer_split_at_any_byte_says_the_same(serve: Serve, open_endpoint: OpenEndpoint) -> None:
    """Public report: anomalyco/opencode #45040: nothing is parsed before it is all there."""
    at, size = 0, 0

    def script(request: Request) -> Play:
        nonlocal size
        body = encoded(result(request, ANSWER))
        size = len(body)
        return http([body[:at], body[at:]] if at else [bytes([byte]) for byte in body], framing="chunked")

    endpoint = open_endpoint(serve(script))
    assert ask(endpoint) == TEXT
    for at in range(1, size):  # noqa: B007 - the script reads it
        assert ask(endpoint) == TEXT
