"""Which generation of the protocol a server speaks, as seen on the wire."""

import itertools
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest
from conftest import DONE, OpenBank, OpenEndpoint, Serve, ask, calls, fake_server, initialized
from wire_server import (
    EVENTS,
    GENERATIONS,
    JSON,
    PATIENCE,
    Generation,
    Hindsight,
    Move,
    Request,
    encoded,
    error,
    http,
    result,
)

from hindsight_bank import (
    AnswerLostError,
    IncompatibleServer,
    ProtocolError,
    RPCError,
    StatusError,
)

HANDSHAKE = ["initialize", "notifications/initialized"]
MODERN = "2026-07-28"
META = "io.modelcontextprotocol/"


def test_a_modern_server_is_asked_at_once(serve: Serve, open_endpoint: OpenEndpoint) -> None:
    """MCP 2026-07-28, Streamable HTTP, "Request Metadata": one POST says what it is in headers and `_meta`.

    A session id, which this revision has none of, is not taken up.
    """

    def recall(request: Request) -> bytes:
        return http(encoded(result(request, DONE)), headers={"mcp-session-id": "not-ours"})

    endpoint = open_endpoint(server := serve(fake_server("modern", recall=recall)))
    assert ask(endpoint, query="q") == DONE
    assert ask(endpoint) == DONE
    endpoint.close()
    assert server.log == ["recall", "recall"]
    first = server.requests[0]
    assert first.headers["mcp-protocol-version"] == MODERN == endpoint.revision
    assert (first.headers["mcp-method"], first.headers["mcp-name"]) == ("tools/call", "recall")
    assert {request.session for request in server.requests} == {None}
    assert first.message["params"]["_meta"] == {
        META + "protocolVersion": MODERN,
        META + "clientInfo": {"name": "test", "version": "1"},
        META + "clientCapabilities": {},
    }


def test_a_stateful_server_gets_a_session_and_no_orphan(serve: Serve, open_endpoint: OpenEndpoint) -> None:
    """MCP 2025-11-25, Lifecycle, "Initialization". Ours: the refused probe leaves nothing behind."""
    fake = fake_server("stateful")
    endpoint = open_endpoint(server := serve(fake))
    assert ask(endpoint)["ok"]
    assert server.log == ["recall", "DELETE", *HANDSHAKE, "recall"]
    _, orphan, initialize, noted, call = server.requests
    assert orphan.session == "orphan-1"
    assert "mcp-protocol-version" not in initialize.headers
    assert initialize.session is None
    assert initialize.message["params"] == {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    }
    assert "id" not in noted.message
    for request in (noted, call):
        assert (request.session, request.headers["mcp-protocol-version"]) == ("session-2", "2025-11-25")
    assert "_meta" not in call.message["params"]
    assert "mcp-name" not in call.headers
    assert fake.sessions == {"session-2"}
    ids = [request.id for request in server.requests if request.id is not None]
    assert len(set(ids)) == len(ids)


def test_a_stateless_server_gets_no_session_id_ever(serve: Serve, open_endpoint: OpenEndpoint) -> None:
    """Public report: vectorize-io/hindsight #751; and nothing is deleted."""
    endpoint = open_endpoint(server := serve(fake_server("stateless")))
    assert ask(endpoint)["ok"]
    assert ask(endpoint)["ok"]
    endpoint.close()
    assert server.log == ["recall", *HANDSHAKE, "recall", "recall"]
    assert not any(request.session for request in server.requests)


@pytest.mark.parametrize("revision", ["2025-11-25", "2025-06-18", "2025-03-26"])
def test_the_server_picks_the_revision(revision: str, serve: Serve, open_endpoint: OpenEndpoint) -> None:
    """MCP 2025-11-25, Lifecycle, "Version Negotiation"; answered with JSON or with events."""
    fake = fake_server("stateless", initialize=lambda request: initialized(request, None, protocolVersion=revision))
    endpoint = open_endpoint(server := serve(fake))
    assert ask(endpoint)["ok"]
    assert endpoint.revision == revision
    assert [request.headers["mcp-protocol-version"] for request in server.requests[2:]] == [revision] * 2


@pytest.mark.parametrize("kind", [JSON, EVENTS])
@pytest.mark.parametrize("revision", ["2025-03-26", "2025-06-18"])
def test_only_the_revision_that_has_batches_is_read_with_them(
    revision: str, kind: str, serve: Serve, open_endpoint: OpenEndpoint
) -> None:
    """MCP 2025-03-26, Transports: MUST support receiving them; later revisions have none."""

    def recall(request: Request) -> bytes:
        noise = {"jsonrpc": "2.0", "method": "notifications/x"}
        answer = encoded([noise, result(request, {"ok": True}), error(-1, "stray")])
        return http(answer if kind == JSON else b"data: [\ndata: " + answer[1:] + b"\n\n", kind)

    begin = partial(initialized, session=None, protocolVersion=revision)
    endpoint = open_endpoint(serve(fake_server("stateless", initialize=begin, recall=recall)))
    if revision == "2025-03-26":
        assert ask(endpoint) == {"ok": True}
    else:
        with pytest.raises(ProtocolError):
            ask(endpoint)


@pytest.mark.parametrize("answer", [b"[", b"[]", b"[1]", b"[{]", b"[{}]", b"[[]]", b"[" * 100_000], ids=len)
def test_a_broken_batch_is_no_answer(answer: bytes, serve: Serve, open_endpoint: OpenEndpoint) -> None:
    """JSON-RPC 2.0, 6, "Batch"."""
    begin = partial(initialized, session=None, protocolVersion="2025-03-26")
    fake = fake_server("stateless", initialize=begin, recall=lambda _: http(answer))
    with pytest.raises(AnswerLostError if answer == b"[]" else ProtocolError):
        ask(open_endpoint(serve(fake)))


@pytest.mark.parametrize("revision", ["1999-01-01", "", MODERN, "2024-11-05"])
def test_a_revision_that_we_do_not_speak_ends_the_handshake(
    revision: str, serve: Serve, open_endpoint: OpenEndpoint
) -> None:
    """MCP 2025-11-25, Lifecycle, "Version Negotiation". Ours: the next call starts anew."""
    fake = fake_server("stateful", initialize=lambda request: initialized(request, protocolVersion=revision))
    endpoint = open_endpoint(server := serve(fake))
    for _ in range(2):
        with pytest.raises(IncompatibleServer):
            ask(endpoint)
    assert server.log == ["recall", "DELETE", "initialize"] * 2
    assert "given" not in [request.session for request in server.requests]


@pytest.mark.parametrize(
    "value", [{}, [], None, {"protocolVersion": 5}, {"protocolVersion": None}, {"capabilities": {}}], ids=str
)
def test_a_handshake_without_a_revision_breaks_the_protocol(
    value: Any, serve: Serve, open_endpoint: OpenEndpoint
) -> None:
    """MCP 2025-11-25, Lifecycle, "Initialization": the server says its revision."""
    fake = fake_server("stateless", initialize=lambda request: http(encoded(result(request, value))))
    with pytest.raises(ProtocolError):
        ask(open_endpoint(serve(fake)))


@pytest.mark.parametrize("session", ["a b", "\x7f", "é", "a\tb", "", " "])
def test_a_session_id_that_no_header_may_carry_is_not_echoed(
    session: str, serve: Serve, open_endpoint: OpenEndpoint
) -> None:
    """MCP 2025-11-25, Transports, "Session Management": visible ASCII; an empty one is none."""
    fake = fake_server("stateless", initialize=lambda request: initialized(request, session))
    endpoint = open_endpoint(server := serve(fake))
    if session.strip():
        with pytest.raises(ProtocolError, match="session id"):
            ask(endpoint)
    else:
        assert ask(endpoint)["ok"]
    assert {request.session for request in server.requests} == {None}


@pytest.mark.parametrize("orphan", ["a b", "\x7f", "é", "", "fine"])
def test_an_orphan_is_deleted_if_its_id_can_be_said(orphan: str, serve: Serve, open_endpoint: OpenEndpoint) -> None:
    """Hindsight with mcp 1.24 to 1.29 keeps a session for a refused probe. Ours: best effort."""
    fake = fake_server("stateless")
    refusal = http(encoded(error(-32600, "Missing session ID")), status=400, headers={"mcp-session-id": orphan})
    server = serve(lambda request: refusal if "mcp-method" in request.headers else fake(request))
    assert ask(open_endpoint(server))["ok"]
    assert server.log == ["recall", *(["DELETE"] if orphan == "fine" else []), *HANDSHAKE, "recall"]


@pytest.mark.parametrize("known", [None, *GENERATIONS])
@pytest.mark.parametrize("status", [401, 403, 408, 413, 425, 429, 500, 502, 503, 504, None])
def test_what_says_nothing_of_the_generation_is_no_verdict(
    status: int | None, known: Generation | None, serve: Serve, open_endpoint: OpenEndpoint
) -> None:
    """Public report: modelcontextprotocol/python-sdk #1295; a connection that breaks (None) says nothing either.

    Ours: no initialize; the next call goes out as this one did, in the same session.
    """
    fake = fake_server(known or "modern")
    endpoint = open_endpoint(server := serve(fake))
    if known:
        ask(endpoint)
    del server.requests[:]
    server.script = lambda _: http(status=status) if status else [b"HTTP/1.1 ", Move.CLOSE]
    with pytest.raises(StatusError if status else AnswerLostError):
        ask(endpoint)
    server.script = fake
    assert ask(endpoint)["ok"]
    assert server.log == ["recall", "recall"]
    refused, answered = server.requests
    assert answered.headers == refused.headers


@pytest.mark.parametrize("generation", GENERATIONS)
def test_meta_is_in_every_request_of_2026_and_in_no_other(
    generation: Generation, serve: Serve, open_bank: OpenBank
) -> None:
    """MCP 2026-07-28, Overview, "`_meta`": tools/list too. MCP 2025-11-25, Overview: defines no such keys."""
    bank = open_bank(server := serve(Hindsight(generation)))
    for call in calls(bank).values():
        call()
    for request in server.requests:
        modern = request.headers.get("mcp-protocol-version") == MODERN
        assert ("_meta" in request.message.get("params", {})) == modern, request.label


@pytest.mark.parametrize(("status", "code"), [(400, -32020), (400, -32021), (404, -32601), (400, -32022)])
def test_a_modern_error_is_raised_and_no_handshake_follows(
    status: int, code: int, serve: Serve, open_endpoint: OpenEndpoint
) -> None:
    """MCP 2026-07-28, Versioning, "Backward Compatibility": a recognised modern error, a modern server."""
    server = serve(lambda request: http(encoded(error(code, "no", request.id)), status=status))
    with pytest.raises(IncompatibleServer if code == -32022 else RPCError):
        ask(open_endpoint(server))
    assert server.log == ["recall"]


@pytest.mark.parametrize(
    ("supported", "log"),
    [
        (["2025-11-25"], ["recall", *HANDSHAKE, "recall"]),
        (["2099-01-01", "2025-06-18"], ["recall", *HANDSHAKE, "recall"]),
        ([MODERN], ["recall", "recall"]),
        ([MODERN, "2025-11-25"], ["recall", "recall"]),
        (["2099-01-01"], ["recall"]),
        ([], ["recall"]),
        ("2025-11-25", ["recall"]),
        ([None, 1, {}], ["recall"]),
    ],
    ids=str,
)
def test_a_list_of_supported_revisions_decides(
    supported: Any, log: list[str], serve: Serve, open_endpoint: OpenEndpoint
) -> None:
    """MCP 2026-07-28, Versioning, "Protocol Version Negotiation".

    A mutual revision once more, a handshake revision by handshake, else the end.
    """
    fake = fake_server("modern" if MODERN in supported else "stateless")
    refusal = http(encoded(error(-32022, "Unsupported protocol version", 1, supported=supported)), status=400)
    plays = itertools.chain([refusal], itertools.repeat(None))
    server = serve(lambda request: next(plays) or fake(request))
    endpoint = open_endpoint(server)
    if len(log) > 1:
        assert ask(endpoint)["ok"]
    else:
        with pytest.raises(IncompatibleServer, match="no protocol revision of ours"):
            ask(endpoint)
    assert server.log == log


def test_a_server_that_refuses_what_it_says_it_supports_is_asked_once_more_only(
    serve: Serve, open_endpoint: OpenEndpoint
) -> None:
    """MCP 2026-07-28, Versioning, "Protocol Version Negotiation". Ours: no loop, whatever the server says."""
    refusal = http(encoded(error(-32022, "Unsupported protocol version", supported=[MODERN])), status=400)
    with pytest.raises(IncompatibleServer):
        ask(open_endpoint(server := serve(lambda _: refusal)))
    assert server.log == ["recall", "recall"]


@pytest.mark.parametrize(
    ("body", "kind"), [(b'{"detail":"Not Found"}', JSON), (b"Not Found", "text/plain"), (b"<html>", "text/html")]
)
def test_a_wrong_url_is_named_and_not_taken_for_a_lost_session(
    body: bytes, kind: str, serve: Serve, open_endpoint: OpenEndpoint
) -> None:
    """Public report: vectorize-io/hindsight #78: 404 to initialize, and no loop."""
    server = serve(lambda _: http(body, kind, status=404))
    with pytest.raises(StatusError, match=f"no MCP endpoint at {server.url}/mcp/alice/") as caught:
        ask(open_endpoint(server))
    assert (caught.value.status, caught.value.outcome) == (404, "refused")
    assert server.log == ["recall", "initialize"]


# -- a server that changes behind its URL ------------------------------------------------------------------------------

CHANGES = [(before, after) for before in GENERATIONS for after in GENERATIONS if before != after]


@pytest.mark.parametrize("tool", ["recall", "retain"])
@pytest.mark.parametrize(("before", "after"), CHANGES)
def test_a_server_that_comes_back_in_another_generation_is_found_out_by_the_next_call(
    before: Generation, after: Generation, tool: str, serve: Serve, open_endpoint: OpenEndpoint
) -> None:
    """MCP 2026-07-28, Versioning: "re-probing if the assumption later fails". Ours: a write runs once."""
    fake = fake_server(before)
    ran = []

    def answer(request: Request) -> Any:
        ran.append(request.id)
        return fake.told(request, {"ok": True})

    fake.answers = {"recall": answer, "retain": answer}
    endpoint = open_endpoint(server := serve(fake))
    ask(endpoint)
    fake.generation = after
    fake.sessions.clear()
    del server.requests[:], ran[:]
    assert ask(endpoint, name=tool)["ok"]
    assert len(ran) == 1
    assert server.log.count("initialize") <= 2
    assert server.log.count(tool) <= 3
    del server.requests[:]
    assert ask(endpoint, name=tool)["ok"]
    assert server.log == [tool]
    endpoint.close()
    assert not fake.sessions


@pytest.mark.parametrize(("before", "after"), CHANGES)
def test_threads_that_meet_the_other_generation_together_all_arrive(
    before: Generation, after: Generation, serve: Serve, open_endpoint: OpenEndpoint
) -> None:
    """Ours: one thread opens the session while the others wait; no session is left behind."""
    fake = fake_server(before)
    endpoint = open_endpoint(server := serve(fake))
    ask(endpoint)
    fake.generation = after
    fake.sessions.clear()
    together = threading.Barrier(8)

    def work(_: int) -> Any:
        together.wait(PATIENCE)
        return ask(endpoint)["ok"]

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(work, range(8))) == [True] * 8
    del server.requests[:]
    ask(endpoint)
    assert server.log == ["recall"]
    endpoint.close()
    assert not fake.sessions


@pytest.mark.parametrize("generation", GENERATIONS)
@pytest.mark.parametrize("status", [400, 404, 405, 406])
def test_a_url_that_refuses_every_form_is_given_up_at_once(
    status: int, generation: Generation, serve: Serve, open_endpoint: OpenEndpoint
) -> None:
    """Ours: each form is tried once more, no loop; and the server is found again when it is back."""
    fake = fake_server(generation)
    endpoint = open_endpoint(server := serve(fake))
    ask(endpoint)
    del server.requests[:]
    server.script = lambda _: http(b"No", "text/plain", status=status)
    with pytest.raises(StatusError) as caught:
        ask(endpoint)
    assert (caught.value.status, caught.value.outcome) == (status, "refused")
    assert server.log.count("recall") <= 2
    assert server.log.count("initialize") <= 2
    server.script = fake
    assert ask(endpoint)["ok"]


def test_a_session_that_the_server_still_knows_is_ended_when_its_generation_is_doubted(
    serve: Serve, open_endpoint: OpenEndpoint
) -> None:
    """MCP 2025-11-25, Transports, "Session Management": a client that leaves a session SHOULD end it."""
    fake = fake_server("stateful")
    endpoint = open_endpoint(server := serve(fake))
    ask(endpoint)
    refusal = http(encoded(error(-32022, "Unsupported protocol version", supported=[MODERN])), status=400)
    plays = itertools.chain([refusal], itertools.repeat(None))
    server.script = lambda request: next(plays) or fake(request)
    assert ask(endpoint)["ok"]
    endpoint.close()
    assert not fake.sessions


@pytest.mark.parametrize("code", [-32602, -32700])
def test_invalid_params_on_a_modern_server_are_no_reason_to_ask_for_its_generation(
    code: int, serve: Serve, open_endpoint: OpenEndpoint
) -> None:
    """MCP 2026-07-28, Streamable HTTP, "Sending Messages": such an error comes with HTTP 400."""
    fake = fake_server("modern")
    endpoint = open_endpoint(server := serve(fake))
    ask(endpoint)
    fake.answers["recall"] = lambda request: http(encoded(error(code, "no", request.id)), status=400)
    with pytest.raises(RPCError):
        ask(endpoint)
    assert server.log == ["recall", "recall"]


def test_an_answer_without_a_result_type_is_read_but_proves_no_generation(
    serve: Serve, open_endpoint: OpenEndpoint
) -> None:
    """MCP 2026-07-28, Results: absent means complete, and a server of that revision always sends it."""
    endpoint = open_endpoint(server := serve(lambda request: http(encoded(result(request, {"ok": True})))))
    assert ask(endpoint) == {"ok": True}
    assert endpoint.revision is None
    server.script = fake_server("modern")
    assert ask(endpoint) == DONE
    assert endpoint.revision == MODERN
