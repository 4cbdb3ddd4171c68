"""The life of a session on the wire: lost, replaced, cancelled in, ended."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from typing import Any, Literal

import pytest
from conftest import OpenBank, OpenEndpoint, Serve, ask, done, fake_server, initialized
from wire_server import (
    EVENTS,
    NO_FACTS,
    PATIENCE,
    Hindsight,
    Move,
    Play,
    Request,
    http,
    result,
    sse,
    tool_result,
)

from hindsight_bank import (
    AnswerLostError,
    BankError,
    DeadlineError,
    ProtocolError,
    RPCError,
    StatusError,
)

HANDSHAKE = ["initialize", "notifications/initialized"]


# -- lost sessions -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", [404, 400])
def test_a_lost_session_is_replaced_and_the_call_repeated_once(
    loss: Literal[404, 400], serve: Serve, open_endpoint: OpenEndpoint
) -> None:
    """Public report: modelcontextprotocol/python-sdk #1676; both real shapes.

    The new initialize carries nothing of the old session.
    """
    fake = fake_server("stateful")
    endpoint = open_endpoint(server := serve(fake))
    ask(endpoint, content="first")
    fake.loss = loss
    fake.sessions.clear()
    del server.requests[:]
    assert ask(endpoint, content="second")["ok"]
    assert server.log == ["recall", *HANDSHAKE, "recall"]
    refused, initialize, noted, replayed = server.requests
    assert refused.session == "session-2"
    assert initialize.session is None
    assert "mcp-protocol-version" not in initialize.headers
    assert noted.session == replayed.session == "session-3"
    assert {request.headers["mcp-protocol-version"] for request in (noted, replayed)} == {"2025-11-25"}
    assert replayed.arguments == refused.arguments == {"content": "second"}
    assert replayed.id != refused.id


@pytest.mark.parametrize("loss", [404, 400])
def test_threads_that_lose_a_session_together_open_one(
    loss: Literal[404, 400], serve: Serve, open_endpoint: OpenEndpoint
) -> None:
    """Ours: one thread opens it while seven wait, each repeats once, each has its own answer."""
    together = threading.Barrier(8)
    fake = fake_server("stateful")
    fake.answers["recall"] = lambda request: fake.told(request, {"mine": request.arguments["query"]})

    def script(request: Request) -> Play:
        if request.label == "recall" and request.session == "session-2" and not fake.sessions:
            together.wait(PATIENCE)
        return fake(request)

    endpoint = open_endpoint(server := serve(script))
    ask(endpoint, query="first")
    fake.loss = loss
    fake.sessions.clear()
    del server.requests[:]
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda number: ask(endpoint, query=number), range(8)))
    assert answers == [{"mine": number} for number in range(8)]
    assert sorted(server.log) == sorted(["recall"] * 16 + HANDSHAKE)
    assert fake.sessions == {"session-3"}


def test_two_banks_of_one_server_share_no_session(serve: Serve, open_bank: OpenBank) -> None:
    """Hindsight 0.7.2 and 0.9.2: a session reads the bank that it was opened for, whatever the URL says."""
    server = serve(Hindsight("stateful"))
    banks = [open_bank(server, bank_id=bank_id) for bank_id in ("alice", "bob")]
    for bank in banks * 2:
        bank.recall("x")
    sessions = [
        {request.session for request in server.requests if request.path == f"/mcp/{own}/"} for own in ("alice", "bob")
    ]
    assert sessions == [{None, "orphan-1", "session-2"}, {None, "orphan-3", "session-4"}]


@pytest.mark.parametrize("losses", [["recall"], ["recall", *HANDSHAKE]], ids=len)
def test_a_second_loss_is_an_error_and_ends(losses: list[str], serve: Serve, open_endpoint: OpenEndpoint) -> None:
    """Public report: modelcontextprotocol/rust-sdk #743. Ours: what was never run is refused."""
    fake = fake_server("stateful")
    endpoint = open_endpoint(server := serve(fake))
    ask(endpoint)
    del server.requests[:]

    def forgetful(request: Request) -> Play:
        if request.label in losses:
            fake.sessions.clear()
        return fake(request)

    server.script = forgetful
    with pytest.raises(RPCError, match="Session not found") as caught:
        ask(endpoint)
    assert caught.value.outcome == "refused"
    assert server.log.count("initialize") <= 2
    assert server.log.count("recall") <= 2
    server.script = fake
    assert ask(endpoint)["ok"]


@pytest.mark.parametrize(
    ("play", "kind"),
    [
        (http(status=503), StatusError),
        (http(status=404), StatusError),
        (http(status=202), ProtocolError),
        (http(b"x"), ProtocolError),
        (http(b"", EVENTS), AnswerLostError),
        ([Move.CLOSE], AnswerLostError),
        (http(status=503, headers={"mcp-session-id": "not-yours"}), StatusError),
    ],
)
def test_a_handshake_that_fails_leaves_the_next_call_clean(
    play: Play, kind: type[BankError], serve: Serve, open_endpoint: OpenEndpoint
) -> None:
    """Public report: modelcontextprotocol/typescript-sdk #1708; nor is an id from a failed initialize sent."""
    fake = fake_server("stateful")
    endpoint = open_endpoint(server := serve(fake))
    ask(endpoint)
    fake.sessions.clear()
    fake.answers["initialize"] = lambda _: play
    with pytest.raises(kind):
        ask(endpoint)
    del fake.answers["initialize"], server.requests[:]
    assert ask(endpoint)["ok"]
    assert {request.session for request in server.requests if request.label != "DELETE"} <= {None, *fake.sessions}
    assert "initialize" in server.log


@pytest.mark.parametrize("status", [400, 404, 405, 500])
def test_a_handshake_whose_note_is_refused_has_failed(status: int, serve: Serve, open_endpoint: OpenEndpoint) -> None:
    """MCP 2025-11-25, Lifecycle, "Initialization". Ours: the refused call was never run; no session is kept."""
    fake = fake_server("stateful", **{"notifications/initialized": lambda _: http(status=status)})
    endpoint = open_endpoint(server := serve(fake))
    with pytest.raises(StatusError) as caught:
        ask(endpoint)
    assert caught.value.status == status
    assert server.log == ["recall", "DELETE", *HANDSHAKE, "DELETE"]


def test_ids_on_other_answers_are_ignored(serve: Serve, open_endpoint: OpenEndpoint) -> None:
    """MCP 2025-11-25, Transports, "Session Management": an id comes with the InitializeResult only."""
    fake = fake_server("stateful")
    lie = {"mcp-session-id": "lie"}
    fake.answers |= {
        "recall": lambda request: http(sse(result(request, {"ok": True})), EVENTS, headers=lie),
        "notifications/initialized": lambda _: http(status=202, headers=lie),
    }
    endpoint = open_endpoint(server := serve(fake))
    ask(endpoint)
    ask(endpoint)
    endpoint.close()
    assert [request.session for request in server.requests[3:]] == ["session-2"] * 4


def test_waiting_for_another_threads_handshake_has_its_deadline(serve: Serve, open_endpoint: OpenEndpoint) -> None:
    """Ours: one deadline covers the new session, whoever opens it."""
    fake = fake_server("stateful")
    endpoint = open_endpoint(server := serve(fake))
    ask(endpoint)
    fake.sessions.clear()
    opening, release = threading.Event(), threading.Event()

    def slow(request: Request) -> Play:
        opening.set()
        return [release, initialized(request, fake._open("session"))]

    fake.answers["initialize"] = slow
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(ask, endpoint)
        assert opening.wait(PATIENCE)
        began = time.monotonic()
        with pytest.raises(DeadlineError) as caught:
            ask(endpoint, 0.3)
        assert time.monotonic() - began < PATIENCE / 2
        assert caught.value.outcome == "refused"
        release.set()
        assert first.result()["ok"]
    assert server.log.count("initialize") == 2


# -- ending ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "play",
    [http(), http(status=204), http(status=404), http(status=405), http(status=500), b"x", [Move.RESET], [Move.HANG]],
    ids=["200", "204", "404", "405", "500", "garbage", "reset", "stall"],
)
def test_closing_ends_the_session_quietly(play: Play, serve: Serve, open_endpoint: OpenEndpoint) -> None:
    """Public report: vectorize-io/hindsight #751. Ours: one DELETE, and whatever becomes of it is not told."""
    fake = fake_server("stateful")
    endpoint = open_endpoint(server := serve(fake))
    ask(endpoint)
    del server.requests[:]
    fake.answers["DELETE"] = lambda _: play
    began = time.monotonic()
    endpoint.close()
    assert time.monotonic() - began < PATIENCE / 2
    (request,) = server.requests
    assert (request.verb, request.session, request.body) == ("DELETE", "session-2", b"")
    assert request.headers["mcp-protocol-version"] == "2025-11-25"


@pytest.mark.parametrize("play", [http(status=202), [Move.HANG], [Move.RESET]], ids=["taken", "stall", "reset"])
@pytest.mark.parametrize("begun", [b"", http([b": ping\n\n"], EVENTS, framing="chunked")[:-5]], ids=["silent", "begun"])
def test_a_deadline_in_a_session_cancels_the_request(
    begun: bytes, play: Play, serve: Serve, open_endpoint: OpenEndpoint
) -> None:
    """Public report: modelcontextprotocol/python-sdk #2507.

    Told in a note, whose failure hides nothing; the half-read connection is not used again.
    """
    fake = fake_server("stateful")
    endpoint = open_endpoint(server := serve(fake))
    ask(endpoint)
    fake.answers |= {"recall": lambda _: [begun, Move.HANG], "notifications/cancelled": lambda _: play}
    del server.requests[:]
    start = time.monotonic()
    with pytest.raises(DeadlineError, match="recall was not done") as caught:
        ask(endpoint, 0.3)
    assert time.monotonic() - start < PATIENCE / 2
    assert caught.value.outcome == "unknown"
    call, note = server.requests
    assert note.message["method"] == "notifications/cancelled"
    assert note.message["params"]["requestId"] == call.id
    assert note.session == "session-2"
    assert note.connection != call.connection
    fake.answers["recall"] = done(fake)
    assert ask(endpoint)["ok"]
    assert server.requests[-1].connection != call.connection


@pytest.mark.parametrize("ended", [True, False])
def test_a_call_at_its_deadline_waits_for_no_courtesy_to_end(
    ended: bool, serve: Serve, open_bank: OpenBank, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ours: the last call of a closed bank ends the session, and overruns its own time by little."""
    monkeypatch.setattr("hindsight_bank.peer._COURTESY", 0.1)
    monkeypatch.setattr("hindsight_bank.peer._PATIENCE", 100 * PATIENCE)
    fake = Hindsight("stateful")
    bank = open_bank(serve(fake)).connect()

    def recall(request: Request) -> Play:
        bank.close()
        whole = http([sse(result(request, tool_result(NO_FACTS)))], EVENTS, framing="chunked")
        return [whole.removesuffix(b"0\r\n\r\n") if ended else b"", Move.HANG]

    fake.answers |= {
        "recall": recall,
        "DELETE": lambda _: [Move.HANG],
        "notifications/cancelled": lambda _: [Move.HANG],
    }
    began = time.monotonic()
    with nullcontext() if ended else pytest.raises(DeadlineError):
        bank.recall("x", timeout=0.5)
    assert time.monotonic() - began < PATIENCE / 2


def test_the_rest_of_an_answer_is_read_within_the_deadline(
    serve: Serve, open_endpoint: OpenEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ours: what comes after the answer is read for the connection's sake only."""
    monkeypatch.setattr("hindsight_bank.peer._COURTESY", 100 * PATIENCE)

    def recall(request: Request) -> Play:
        return [http([sse(result(request, {"ok": True}))], EVENTS, framing="chunked")[:-5], Move.HANG]

    began = time.monotonic()
    assert ask(open_endpoint(serve(fake_server("modern", recall=recall))), 0.5)["ok"]
    assert time.monotonic() - began < PATIENCE / 2


def test_a_handshake_is_not_cancelled(serve: Serve, open_endpoint: OpenEndpoint) -> None:
    """MCP 2025-11-25, Cancellation: MUST NOT for initialize; and nothing of the caller's ran."""
    fake = fake_server("stateless", initialize=lambda _: [Move.HANG])
    with pytest.raises(DeadlineError):
        ask(open_endpoint(server := serve(fake)), 0.3)
    assert server.log == ["recall", "initialize"]


def test_a_deadline_on_a_modern_server_closes_the_connection_and_says_nothing(
    serve: Serve, open_endpoint: OpenEndpoint
) -> None:
    """MCP 2026-07-28, Streamable HTTP, "Cancellation"."""
    endpoint = open_endpoint(server := serve(fake_server("modern", recall=lambda _: b"HTTP/1.1 200")))
    with pytest.raises(DeadlineError):
        ask(endpoint, 0.3)
    server.wait_until_left()
    assert server.log == ["recall"]


@pytest.mark.parametrize("play", [http(status=503), Move.RESET], ids=["503", "reset"])
def test_a_write_refused_with_its_session_stays_refused_when_no_new_one_comes(
    play: Any, serve: Serve, open_bank: OpenBank
) -> None:
    """MCP 2025-11-25, Transports, "Session management": a lost session ran nothing, whatever comes after."""
    fake = Hindsight("stateful")
    bank = open_bank(serve(fake)).connect()
    fake.sessions.clear()
    fake.answers["initialize"] = lambda _: [play] if isinstance(play, Move) else play
    with pytest.raises(BankError) as caught:
        bank.retain("x")
    assert caught.value.outcome == "refused"


def test_a_forked_child_does_not_end_the_session_of_its_parent(serve: Serve, open_endpoint: OpenEndpoint) -> None:
    """Ours: not even when a call was in flight in the thread that forked, and fails in the child."""
    endpoint = open_endpoint(server := serve(fake_server("stateful")))
    ask(endpoint)
    before = list(server.log)
    parent, endpoint._peer._transport._process = endpoint._peer._transport._process, -1
    endpoint.close()
    assert server.log == before
    endpoint._peer._transport._process = parent
