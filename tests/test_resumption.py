"""An answer in several streams: when the rest is asked for, how, and when no more."""

import itertools
import socket
import threading
import time
from types import SimpleNamespace

import pytest
from conftest import DONE, OpenEndpoint, Serve, ask, fake_server
from wire_server import EVENTS, PATIENCE, Answer, Generation, Move, Play, Request, WireServer, http, result, sse

from hindsight_bank import AnswerLostError, BankError, DeadlineError
from hindsight_bank.endpoint import Endpoint

PRIMED = b"id: e1\nretry: 150\ndata:\n\n"
# The answer to the request that the tests ask: a probe, a handshake and a request came before it.
TOLD = sse({"jsonrpc": "2.0", "id": 4, "result": DONE})


def begun(*events: bytes) -> bytes:
    """Return an answer whose end is missing."""
    return http(events, EVENTS, framing="chunked").removesuffix(b"0\r\n\r\n")


CUTS: dict[str, Play] = {
    "ended": http(PRIMED, EVENTS),
    "ended, chunked": http([PRIMED], EVENTS, framing="chunked"),
    "broken": [begun(PRIMED), Move.CLOSE],
    "reset": [begun(PRIMED), 0.5, Move.RESET],
}


def opened(
    serve: Serve, open_endpoint: OpenEndpoint, answers: dict[str, Answer], generation: Generation = "stateful"
) -> tuple[WireServer, Endpoint]:
    """Return a server and an endpoint whose session is open; how it was opened is forgotten."""
    fake = fake_server(generation)
    ask(endpoint := open_endpoint(server := serve(fake), key="k"))
    fake.answers |= answers
    del server.requests[:]
    return server, endpoint


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("generation", ["stateful", "stateless"])
def test_a_stream_that_ends_too_early_is_resumed_without_asking_again(
    generation: Generation, cut: str, serve: Serve, open_endpoint: OpenEndpoint
) -> None:
    """MCP 2025-11-25, Transports, "Resumability and Redelivery"; suite scenario sse-retry: the wait is the server's."""
    answers: dict[str, Answer] = {"recall": lambda _: CUTS[cut], "GET": lambda _: http(TOLD, EVENTS)}
    server, endpoint = opened(serve, open_endpoint, answers, generation)
    began = time.monotonic()
    assert ask(endpoint) == DONE
    assert time.monotonic() - began >= 0.15
    assert server.log == ["recall", "GET"]
    asked, resumed = server.requests
    assert resumed.path == asked.path
    assert resumed.headers["last-event-id"] == "e1"
    assert resumed.headers["accept"] == "text/event-stream"
    assert resumed.headers["authorization"] == "Bearer k"
    assert resumed.headers["mcp-protocol-version"] == "2025-11-25"
    assert resumed.session == asked.session
    assert (resumed.session is None) == (generation == "stateless")
    assert "content-type" not in resumed.headers
    assert resumed.body == b""


@pytest.mark.parametrize(
    ("retry", "seconds"), [("", 1.0), ("retry: soon\n", 1.0), ("retry: 150\n", 0.15), ("retry: 0\n", 0.1)]
)
def test_the_wait_before_resuming_is_the_servers_or_a_second(
    retry: str, seconds: float, serve: Serve, open_endpoint: OpenEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    """HTML, "Server-sent events", retry: milliseconds. Ours: a tenth of a second at the least."""
    waits: list[float] = []
    monkeypatch.setattr("hindsight_bank.resumption.time", SimpleNamespace(sleep=waits.append))
    primed = f"id: e1\n{retry}data:\n\n".encode()
    answers: dict[str, Answer] = {"recall": lambda _: http(primed, EVENTS), "GET": lambda _: http(TOLD, EVENTS)}
    _, endpoint = opened(serve, open_endpoint, answers)
    assert ask(endpoint) == DONE
    assert waits == [seconds]


def test_an_answer_may_take_many_streams_as_long_as_each_brings_something(
    serve: Serve, open_endpoint: OpenEndpoint
) -> None:
    """MCP 2025-11-25, Transports: the server may close the connection at any time, and the client polls."""
    events = (b"id: e%d\nretry: 0\ndata:\n\n" % number for number in range(2, 6))

    def rest(_: Request) -> Play:
        return http(next(events, TOLD), EVENTS)

    server, endpoint = opened(serve, open_endpoint, {"recall": lambda _: http(PRIMED, EVENTS), "GET": rest})
    assert ask(endpoint) == DONE
    assert server.log == ["recall"] + ["GET"] * 5
    assert [request.headers["last-event-id"] for request in server.requests[1:]] == ["e1", "e2", "e3", "e4", "e5"]


@pytest.mark.parametrize(
    "fruitless", [b"", b": ping\n\n", PRIMED, sse({"jsonrpc": "2.0", "method": "notifications/x"})]
)
def test_resuming_without_progress_ends(fruitless: bytes, serve: Serve, open_endpoint: OpenEndpoint) -> None:
    """Public report: modelcontextprotocol/python-sdk #3441. Two attempts in vain, as the official SDK."""
    answers: dict[str, Answer] = {"recall": lambda _: http(PRIMED, EVENTS), "GET": lambda _: http(fruitless, EVENTS)}
    server, endpoint = opened(serve, open_endpoint, answers)
    with pytest.raises(AnswerLostError) as caught:
        ask(endpoint)
    assert caught.value.outcome == "unknown"
    assert server.log == ["recall", "GET", "GET"]


@pytest.mark.parametrize("data", [b"", b'{"jsonrpc":"2.0","method":"notifications/x"}'])
def test_resuming_for_ever_ends(
    data: bytes, serve: Serve, open_endpoint: OpenEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Public reports: modelcontextprotocol/python-sdk #3257, malloydata/malloyyo #134: each stream brings a new id."""
    monkeypatch.setattr("hindsight_bank.resumption._LEAST_RETRY", 1)
    monkeypatch.setattr("hindsight_bank.resumption._MOST_STREAMS", 20)
    ids = itertools.count()
    stream = lambda _: http(b"id: e%d\nretry: 0\ndata: %s\n\n" % (next(ids), data), EVENTS)  # noqa: E731
    server, endpoint = opened(serve, open_endpoint, {"recall": stream, "GET": stream})
    with pytest.raises(AnswerLostError) as caught:
        ask(endpoint)
    assert caught.value.outcome == "unknown"
    assert server.log == ["recall"] + ["GET"] * 20


@pytest.mark.parametrize("move", [Move.CLOSE, Move.RESET])
def test_a_server_that_is_gone_meanwhile_has_not_refused_the_request(
    move: Move, serve: Serve, open_endpoint: OpenEndpoint
) -> None:
    """Ours: what the GET meets says nothing of the request, which went out; it does not go out again."""
    answers: dict[str, Answer] = {"recall": lambda _: CUTS["broken"], "GET": lambda _: [move]}
    server, endpoint = opened(serve, open_endpoint, answers)
    with pytest.raises(AnswerLostError) as caught:
        ask(endpoint)
    assert caught.value.outcome == "unknown"
    assert server.log.count("recall") == 1


def test_a_server_that_takes_no_connection_any_more_has_not_refused_the_request(
    serve: Serve, open_endpoint: OpenEndpoint
) -> None:
    """Ours: "no connection" is true of the GET, and would be a lie about the request."""

    def recall(_: Request) -> Play:
        server._listener.shutdown(socket.SHUT_RDWR)
        return CUTS["broken"]

    server, endpoint = opened(serve, open_endpoint, {"recall": recall})
    with pytest.raises(AnswerLostError) as caught:
        ask(endpoint)
    assert caught.value.outcome == "unknown"
    assert server.log == ["recall"]


@pytest.mark.parametrize(
    "refusal",
    [*(http(status=status) for status in (202, 400, 401, 404, 405, 503)), http(b"{}"), http(b"x", None)],
)
def test_a_refused_resumption_loses_the_answer_at_once(
    refusal: bytes, serve: Serve, open_endpoint: OpenEndpoint
) -> None:
    """MCP 2025-11-25, Transports, "Listening for Messages from the Server": 405 where there is no stream. Ours: {}."""
    answers: dict[str, Answer] = {"recall": lambda _: http(PRIMED, EVENTS), "GET": lambda _: refusal}
    server, endpoint = opened(serve, open_endpoint, answers)
    with pytest.raises(AnswerLostError) as caught:
        ask(endpoint)
    assert caught.value.outcome == "unknown"
    assert server.log == ["recall", "GET"]


@pytest.mark.parametrize(
    "primed",
    [
        *(b"", b"retry: 1\n\n", b"id:\ndata:\n\n", b"id: e1\ndata:\n", "id: é\ndata:\n\n".encode()),
        *(
            b"id: a\x7f\ndata:\n\n",
            b"id: a\x00\ndata:\n\n",
            b"id:   x\ndata:\n\n",
            b"id: " + b"e" * 1001 + b"\ndata:\n\n",
        ),
    ],
    ids=lambda primed: repr(primed[:20]),
)
def test_without_an_id_that_can_be_sent_back_nothing_is_resumed(
    primed: bytes, serve: Serve, open_endpoint: OpenEndpoint
) -> None:
    """HTML, "Server-sent events": an event counts from its blank line on; RFC 9110, 5.5: what a header holds."""
    server, endpoint = opened(serve, open_endpoint, {"recall": lambda _: http(primed, EVENTS)})
    with pytest.raises(AnswerLostError):
        ask(endpoint)
    assert server.log == ["recall"]


def test_what_is_complete_is_not_resumed(serve: Serve, open_endpoint: OpenEndpoint) -> None:
    """Ours: the rest of a stream is read for the connection's sake; its end is no loss, and one connection serves."""

    def recall(request: Request) -> Play:
        return http([PRIMED, sse(result(request, DONE)), b"id: e2\ndata:\n\n"], EVENTS, framing="chunked")

    server, endpoint = opened(serve, open_endpoint, {"recall": recall})
    assert ask(endpoint) == ask(endpoint) == DONE
    assert server.log == ["recall", "recall"]
    assert server.connections == 1


@pytest.mark.parametrize("retry", [b"60000", b"9" * 400, b"100000000000000000000"])
def test_a_wait_that_the_deadline_has_no_room_for_is_not_begun(
    retry: bytes, serve: Serve, open_endpoint: OpenEndpoint
) -> None:
    """HTML, "Server-sent events", retry: any number of digits. Ours: what is lost is said at once."""
    primed = b"id: e1\nretry: " + retry + b"\ndata:\n\n"
    server, endpoint = opened(serve, open_endpoint, {"recall": lambda _: http(primed, EVENTS)})
    began = time.monotonic()
    with pytest.raises(AnswerLostError):
        ask(endpoint)
    assert time.monotonic() - began < PATIENCE / 2
    assert server.log == ["recall"]


def test_the_deadline_covers_every_stream(serve: Serve, open_endpoint: OpenEndpoint) -> None:
    """MCP 2025-11-25, Cancellation: the server is told, by the id of the request itself."""
    told_off = threading.Event()

    def cancelled(_: Request) -> Play:
        told_off.set()
        return http(status=202)

    answers: dict[str, Answer] = {
        "recall": lambda _: http(PRIMED, EVENTS),
        "GET": lambda _: [begun(PRIMED), told_off],
        "notifications/cancelled": cancelled,
    }
    server, endpoint = opened(serve, open_endpoint, answers)
    with pytest.raises(DeadlineError) as caught:
        ask(endpoint, 1.0)
    assert caught.value.outcome == "unknown"
    assert server.log == ["recall", "GET", "notifications/cancelled"]
    assert server.requests[-1].message["params"]["requestId"] == server.requests[0].id


def test_a_request_on_a_resumed_stream_is_answered(serve: Serve, open_endpoint: OpenEndpoint) -> None:
    """MCP 2025-11-25, Ping: the receiver must respond promptly, on whichever stream it was asked."""

    def rest(_: Request) -> Play:
        return http(sse({"jsonrpc": "2.0", "id": 0, "method": "ping"}) + TOLD, EVENTS)

    answers: dict[str, Answer] = {
        "recall": lambda _: http(PRIMED, EVENTS),
        "GET": rest,
        "response": lambda _: http(status=202),
    }
    server, endpoint = opened(serve, open_endpoint, answers)
    assert ask(endpoint) == DONE
    assert server.log == ["recall", "GET", "response"]


def test_what_breaks_the_protocol_on_a_resumed_stream_is_said(serve: Serve, open_endpoint: OpenEndpoint) -> None:
    """Ours: nonsense is not resumed but raised, and the request may have run."""
    answers: dict[str, Answer] = {
        "recall": lambda _: http(PRIMED, EVENTS),
        "GET": lambda _: http(b"data: x\n\n", EVENTS),
    }
    server, endpoint = opened(serve, open_endpoint, answers)
    with pytest.raises(BankError, match="malformed") as caught:
        ask(endpoint)
    assert caught.value.outcome == "unknown"
    assert server.log == ["recall", "GET"]
