"""One request and its answer: what is taken for the answer, what is not, and which error says so."""

import inspect
import itertools
import json
import re
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from conftest import DONE, OpenEndpoint, Serve, ask
from wire_server import (
    EVENTS,
    GENERATIONS,
    JSON,
    PATIENCE,
    Generation,
    Hindsight,
    Move,
    Play,
    Request,
    WireServer,
    encoded,
    error,
    http,
    result,
    sse,
    tool_result,
)

from hindsight_bank import (
    AnswerLostError,
    ArgumentsError,
    Bank,
    BankError,
    ProtocolError,
    RPCError,
    StatusError,
    UnauthorizedError,
    jsonrpc,
)
from hindsight_bank.deadline import Deadline
from hindsight_bank.endpoint import Endpoint
from hindsight_bank.refusal import retry_after
from hindsight_bank.transport import Limits


def refuse(endpoint: Endpoint) -> BankError:
    with pytest.raises(BankError) as caught:
        ask(endpoint)
    return caught.value


# -- whose answer it is ------------------------------------------------------------------------------------------------

FOREIGN: list[dict[str, Any]] = [{"id": other} for other in ("1", 1.0, True, "01", 2, 0, -1, None)] + [{}]


@pytest.mark.parametrize("kind", [JSON, EVENTS])
@pytest.mark.parametrize("own", FOREIGN, ids=str)
def test_a_result_with_another_id_is_not_ours(
    own: dict[str, Any], kind: str, serve: Serve, open_endpoint: OpenEndpoint
) -> None:
    """Public report: modelcontextprotocol/python-sdk #1720. Ours: the integer 1, and nothing else."""
    message = {"jsonrpc": "2.0", "result": DONE, **own}
    endpoint = open_endpoint(serve(lambda _: http(encoded(message) if kind == JSON else sse(message), kind)))
    caught = refuse(endpoint)
    assert isinstance(caught, AnswerLostError)
    assert caught.outcome == "unknown"


def test_the_answer_is_found_among_what_is_not_ours(serve: Serve, open_endpoint: OpenEndpoint) -> None:
    """MCP 2026-07-28, Streamable HTTP, "Receiving Messages". Ours: foreign results and stray errors too."""

    def script(request: Request) -> Play:
        foreign = [{"jsonrpc": "2.0", "result": {"ok": False}, **own} for own in FOREIGN]
        stray = [error(-32603, "stray", None), error(-32603, "stray", "server-error"), error(-32603, "foreign", 99)]
        traffic = [{"jsonrpc": "2.0", "method": "ping", "id": own} for own in (request.id, "1", 0, None)]
        noise = [{"jsonrpc": "2.0", "method": "notifications/x", "params": [1]}]
        return http(sse(*foreign, *stray, *traffic, *noise, result(request, DONE)), EVENTS)

    assert ask(open_endpoint(server := serve(script))) == DONE
    assert server.log == ["recall"]


@pytest.mark.parametrize("own", ["1", 1.0, True, None, "server-error", ""], ids=str)
@pytest.mark.parametrize(("status", "kind"), [(200, JSON), (200, EVENTS), (409, JSON), (422, JSON)])
def test_an_error_that_nobody_could_address_is_ours(
    own: Any, status: int, kind: str, serve: Serve, open_endpoint: OpenEndpoint
) -> None:
    """Public report: helidon-io/helidon-mcp #65: null and placeholder ids, as the only answer to us."""
    message = error(-32602, "bad\nparams", own, why=1)
    body = encoded(message) if kind == JSON else sse(message)
    caught = refuse(open_endpoint(serve(lambda _: http(body, kind, status=status))))
    assert isinstance(caught, RPCError)
    assert (caught.code, caught.message, caught.data, caught.outcome) == (-32602, "bad params", {"why": 1}, "refused")


@pytest.mark.parametrize("kind", [JSON, EVENTS])
def test_an_error_of_another_number_is_not_ours(kind: str, serve: Serve, open_endpoint: OpenEndpoint) -> None:
    """JSON-RPC 2.0, 5: an id says whose response it is. Ours: so nobody knows what became of our request."""
    message = error(-32602, "foreign", 99)
    caught = refuse(open_endpoint(serve(lambda _: http(encoded(message) if kind == JSON else sse(message), kind))))
    assert isinstance(caught, AnswerLostError)
    assert caught.outcome == "unknown"


@pytest.mark.parametrize("kind", [JSON, EVENTS])
@pytest.mark.parametrize(
    ("code", "outcome"),
    [
        *((code, "refused") for code in (-32700, -32600, -32601, -32602)),
        *(
            (code, "unknown")
            for code in (-32603, -32020, -32021, -32000, -32001, -32019, -32042, -32002, -32099, -1, 0, 500)
        ),
    ],
)
def test_an_error_with_our_id_is_raised(
    code: int, outcome: str, kind: str, serve: Serve, open_endpoint: OpenEndpoint
) -> None:
    """JSON-RPC 2.0, 5.1: what refuses a request unread; any other may have come after the work was done.

    Public SDKs of MCP say -32000 where a connection closed, and -32001 where their time was up.
    """

    def script(request: Request) -> Play:
        message = error(code, "oh", request.id)
        return http(encoded(message) if kind == JSON else sse(message), kind)

    caught = refuse(open_endpoint(server := serve(script)))
    assert isinstance(caught, RPCError)
    assert (caught.code, caught.message, caught.outcome) == (code, "oh", outcome)
    assert server.log == ["recall"]


def test_an_error_whose_data_is_nested_beyond_all_reason_comes_without(
    serve: Serve, open_endpoint: OpenEndpoint
) -> None:
    """Ours: a nesting bomb must end in an error, never in a crash."""
    deep = json.loads("[" * 800 + "]" * 800)
    caught = refuse(open_endpoint(serve(lambda request: http(encoded(error(-1, "no", request.id, deep=deep))))))
    assert isinstance(caught, RPCError)
    assert caught.data in (None, {"deep": deep})


@pytest.mark.parametrize(
    "body",
    [
        *(b"", b"x", b"{", b"[]", b"1", b"null", b'"x"', b"{}", b'{"jsonrpc":"1.0","id":1,"result":{}}'),
        *(b'{"jsonrpc":"2.0","id":1}', b'{"jsonrpc":"2.0","id":1,"error":"x"}', b'{"jsonrpc":"2.0","id":{}}'),
        *(b'{"jsonrpc":"2.0","id":1,"result":{}}{}', b"[" * 100_000, b"\xef\xbb\xbf{}"),
    ],
    ids=lambda body: body[:40].decode(),
)
def test_an_answer_that_is_not_json_rpc_breaks_the_protocol(
    body: bytes, serve: Serve, open_endpoint: OpenEndpoint
) -> None:
    """JSON-RPC 2.0, 5, "Response object": a whole answer that means nothing."""
    caught = refuse(open_endpoint(serve(lambda _: http(body))))
    assert isinstance(caught, ProtocolError)
    assert caught.outcome == "unknown"
    assert len(str(caught)) < 200


# A whole answer but for the blank line that would make an event of it.
UNFINISHED = b"data: " + encoded({"jsonrpc": "2.0", "id": 1, "result": DONE}) + b"\n"


@pytest.mark.parametrize(
    "stream",
    [
        *(b"", b": ping\n\n", b"id: 1\nretry: 500\ndata:\n\n", sse({"jsonrpc": "2.0", "method": "notifications/x"})),
        *(UNFINISHED, UNFINISHED.strip(), UNFINISHED[:-9]),
    ],
)
def test_a_stream_that_ends_without_an_answer_is_lost_at_once(
    stream: bytes, serve: Serve, open_endpoint: OpenEndpoint
) -> None:
    """Public reports: mcp python-sdk #3441, #3257, gemini-cli #29059: no timeout, no empty result, no resuming."""
    assert isinstance(refuse(open_endpoint(server := serve(lambda _: http(stream, EVENTS)))), AnswerLostError)
    assert server.log == ["recall"]


def test_an_accepted_request_is_not_waited_for(serve: Serve, open_endpoint: OpenEndpoint) -> None:
    """MCP 2026-07-28, Streamable HTTP, "Sending Messages": 202 is for notifications."""
    endless = http(framing="chunked", status=202).removesuffix(b"0\r\n\r\n")
    caught = refuse(open_endpoint(serve(lambda _: [endless, Move.HANG])))
    assert isinstance(caught, ProtocolError)
    assert caught.outcome == "unknown"


@pytest.mark.parametrize(("more", "last"), [(b"\xff", Move.CLOSE), (b": ping\n", Move.RESET), (b": ping\n", Move.HANG)])
def test_what_comes_after_the_answer_does_no_harm(
    more: bytes, last: Move, serve: Serve, open_endpoint: OpenEndpoint
) -> None:
    """Ours: the rest of the stream is read for the connection's sake only, and briefly."""

    def script(request: Request) -> Play:
        whole = http([sse(result(request, DONE)), more], EVENTS, framing="chunked")
        return [whole.removesuffix(b"0\r\n\r\n"), last]

    began = time.monotonic()
    assert ask(open_endpoint(serve(script))) == DONE
    assert time.monotonic() - began < PATIENCE / 2


# -- requests of the server's ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("own", [0, 1, "x", "1"])
@pytest.mark.parametrize(
    ("method", "reply"),
    [("ping", {"result": {}})]
    + [
        (method, {"error": {"code": -32601, "message": "Method not found"}})
        for method in ("elicitation/create", "sampling/createMessage", "roots/list", "no/such")
    ],
)
@pytest.mark.parametrize("generation", ["stateful", "stateless"])
def test_requests_of_a_handshake_server_are_answered_on_the_side(
    generation: Any, method: str, reply: dict[str, Any], own: Any, serve: Serve, open_endpoint: OpenEndpoint
) -> None:
    """MCP 2025-11-25, Transports, "Sending Messages to the Server"; FastMCP: its ids collide with ours."""
    replied = threading.Event()
    fake = Hindsight(generation)

    def recall(request: Request) -> Play:
        asked = sse({"jsonrpc": "2.0", "id": own, "method": method, "params": {}})
        told = sse(result(request, DONE))
        head = http(asked, EVENTS, framing="chunked").removesuffix(b"0\r\n\r\n")
        return [head, replied, b"%x\r\n%s\r\n0\r\n\r\n" % (len(told), told)]

    def response(_: Request) -> Play:
        replied.set()
        return http(status=202)

    fake.answers = {"recall": recall, "response": response}
    server = serve(fake)
    assert ask(open_endpoint(server, key="k")) == DONE
    sent = next(request for request in server.requests if request.label == "response")
    assert sent.message == {"jsonrpc": "2.0", "id": own, **reply}
    assert sent.headers["authorization"] == "Bearer k"
    assert sent.headers["mcp-protocol-version"] == "2025-11-25"
    assert (sent.session in fake.sessions) == (generation == "stateful")


def test_a_ping_before_a_revision_was_agreed_upon_is_answered_without_one(
    serve: Serve, open_endpoint: OpenEndpoint
) -> None:
    """MCP 2025-11-25, Lifecycle, "Initialization": a server may ping at any time; the header names what was agreed."""

    def initialize(request: Request) -> Play:
        ping = {"jsonrpc": "2.0", "id": 0, "method": "ping"}
        value = {"protocolVersion": "2025-06-18", "capabilities": {}}
        return http(sse(ping, result(request, value)), EVENTS)

    accepted = http(status=202)
    fake = Hindsight("stateless", {"initialize": initialize, "recall": {}, "response": lambda _: accepted})
    ask(open_endpoint(server := serve(fake)))
    assert server.log == ["recall", "initialize", "response", "notifications/initialized", "recall"]
    versions = [request.headers.get("mcp-protocol-version") for request in server.requests]
    assert versions == ["2026-07-28", None, None, "2025-06-18", "2025-06-18"]


@pytest.mark.parametrize("move", [Move.HANG, Move.RESET, Move.CLOSE])
def test_a_server_that_does_not_take_our_reply_cannot_hold_up_the_call(
    move: Move, serve: Serve, open_endpoint: OpenEndpoint
) -> None:
    """Ours: the reply is a courtesy, and the answer may be there already."""

    def recall(request: Request) -> Play:
        return http(sse({"jsonrpc": "2.0", "id": 0, "method": "ping"}, result(request, DONE)), EVENTS)

    fake = Hindsight("stateful", {"recall": recall, "response": lambda _: [move]})
    began = time.monotonic()
    assert ask(open_endpoint(serve(fake))) == DONE
    assert time.monotonic() - began < PATIENCE / 2


# -- refusals ----------------------------------------------------------------------------------------------------------

STATUSES = [400, 401, 402, 403, 404, 405, 406, 407, 408, 409, 410, 413, 414, 415, 418, 421, 422, 425, 426, 428, 429]
STATUSES += [431, 451, 500, 501, 502, 503, 504, 505, 507, 511, 524, 599]
BODIES: dict[str, tuple[bytes, str | None]] = {
    "empty": (b"", None),
    "text": (b"No \x1b[31mway\r\n\xff" + b"!" * 9999, "text/plain"),
    "HTML": (b"<html>" + b"<p>x</p>" * 9999, "text/html; charset=utf-8"),
    "a page with a title": (b"<html><head><TITLE lang=en>No &amp;\n way</title><p>" + b"x" * 9999, "text/html"),
    "JSON": (b'{"detail":"No way"}', JSON),
    "a problem": (b'{"title":"No way"}', "application/problem+json"),
    "JSON-RPC": (encoded(error(-32000, "No way")), JSON),
    "events": (sse({"error": "No way"}), EVENTS),
}


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("status", STATUSES)
def test_a_refusal_is_an_error_at_once_and_keeps_its_status(
    status: int, body: str, serve: Serve, open_endpoint: OpenEndpoint
) -> None:
    """Public reports: modelcontextprotocol/python-sdk #2110, httpx-sse #12, vectorize-io/hindsight #1007.

    Whatever the body; a JSON-RPC error in a 4xx is preferred, but for 401, 403 and 429.
    """
    text, kind = BODIES[body]
    caught = refuse(open_endpoint(serve(lambda _: http(text, kind, status=status))))
    assert caught.outcome == ("unknown" if status >= 500 else "refused")
    assert len(str(caught)) < 500
    assert str(caught).isprintable()
    assert "<" not in str(caught)
    if body == "JSON-RPC" and status < 500 and status not in (401, 403, 429):
        assert isinstance(caught, RPCError)
        assert (caught.code, caught.message) == (-32000, "No way")
        return
    assert type(caught) is (UnauthorizedError if status in (401, 403) else StatusError)
    assert isinstance(caught, StatusError)
    assert caught.status == status
    assert f"HTTP {status}" in str(caught)
    if body not in ("empty", "HTML", "events"):
        assert re.search(r"No\W.*way", str(caught))


@pytest.mark.parametrize("body", sorted(BODIES.keys() - {"JSON-RPC"}))
def test_a_request_that_is_too_large_for_a_server_or_proxy_is_told_so(
    body: str, serve: Serve, open_endpoint: OpenEndpoint
) -> None:
    """RFC 9110, 15.5.14; proxies have lower limits than Hindsight 1.1.0, and answer with a web page."""
    text, kind = BODIES[body]
    caught = refuse(open_endpoint(serve(lambda _: http(text, kind, status=413))))
    assert str(caught).endswith("; the request is larger than what answered takes: send less in one call")


@pytest.mark.parametrize("move", [Move.RESET, Move.CLOSE])
def test_a_refusal_whose_body_is_cut_is_still_that_refusal(
    move: Move, serve: Serve, open_endpoint: OpenEndpoint
) -> None:
    """Ours: the status line says enough."""
    cut = http(b"x" * 99, "text/plain", status=503)[:-9]
    caught = refuse(open_endpoint(serve(lambda _: [cut, move])))
    assert isinstance(caught, StatusError)
    assert caught.status == 503


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        *((None, None), ("7", 7.0), ("0", 0.0), ("-7", 0.0), ("9" * 400, None), ("9" * 5000, None), ("soon", None)),
        *(("", None), ("1.5", None), ("inf", None), ("nan", None), ("1e3", None), ("é", None), ("\u0967", 1.0)),
        *(("Wed, 21 Oct 2015 07:28:00 GMT", 0.0), ("Mon, 01 Jan 0001 00:00:00 -0000", 0.0), ("Fri, 99 Foo", None)),
    ],
)
def test_retry_after_is_a_number_a_date_or_nothing(value: str | None, expected: float | None) -> None:
    """RFC 9110, 10.2.3; nonsense and huge values included."""
    assert retry_after(value) == expected


def test_retry_after_may_be_a_date_to_come() -> None:
    """RFC 9110, 10.2.3."""
    seconds = retry_after("Fri, 31 Dec 2399 23:59:59 GMT")
    assert seconds is not None
    assert seconds > 1e9


# -- redirects ---------------------------------------------------------------------------------------------------------


# Two that are no URLs, two whose hosts are none, and one that would need a name server.
ODD = ["http://h:x/", "//[::1", "http://[/", "http://xn--/", "http://elsewhere.invalid/"]


def redirecting(status: int, location: Callable[[Request], str]) -> Callable[[Request], Play]:
    """Return a script that redirects what comes to the bank's endpoint and answers what comes elsewhere."""

    def script(request: Request) -> Play:
        if request.path == "/mcp/alice/":
            return http(status=status, headers={"location": location(request)})
        return http(encoded(result(request, DONE)))

    return script


@pytest.mark.parametrize("status", [307, 308])
@pytest.mark.parametrize(
    "location",
    [
        *("/mcp/alice", "../alice", "/v1/mcp/alice/", "/a/b/mcp/alice", "http://{host}/v1/mcp/alice/"),
        *("//{host}/mcp/alice", "http://{host}/mcp/alice", "/mcp/../mcp/./alice"),
    ],
)
def test_a_redirect_within_the_origin_that_keeps_the_method_is_followed(
    location: str, status: int, serve: Serve, open_endpoint: OpenEndpoint
) -> None:
    """Public report: opensearch-project/opensearch-mcp-server-py #271. Ours: by hand, and not remembered."""
    server = serve(redirecting(status, lambda request: location.format(host=request.headers["host"])))
    assert ask(open_endpoint(server, key="k")) == DONE
    first, second = server.requests
    assert (second.verb, second.body) == ("POST", first.body)
    assert second.headers == first.headers


def test_a_session_behind_a_redirect_is_resumed_and_ended(serve: Serve, open_endpoint: OpenEndpoint) -> None:
    """RFC 9110, 15.4.8: 307 keeps the method, whichever it is."""
    rest: list[bytes] = []

    def recall(request: Request) -> Play:
        rest.append(sse(result(request, DONE)))
        return http(b"id: e1\nretry: 0\ndata:\n\n", EVENTS)

    fake = Hindsight("stateful", {"recall": recall, "GET": lambda _: http(rest.pop(), EVENTS)})
    moved = http(status=307, headers={"location": "/mcp/alice"})
    server = serve(lambda request: moved if request.path.endswith("/") else fake(request))
    endpoint = open_endpoint(server)
    assert ask(endpoint) == DONE
    assert fake.sessions
    endpoint.close()
    assert not fake.sessions


@pytest.mark.parametrize("status", [307, 308])
@pytest.mark.parametrize(
    "location",
    [
        *("/mcp/bob/", "../bob", "/mcp/alice2/", "/mcp/malice/", "/mcp/", "/", "/mcp/alice/x", "/mcp/alice/../bob/"),
        *(
            "/mcp/Alice/",
            "/mcp/bob/?x=/mcp/alice",
            "/mcp/bob/#/mcp/alice",
            "/mcp/al%69ce",
            "/mcp%2Falice",
            "?bank=bob",
            "/mcp/alice/?x=1",
        ),
        *("/mcp/alice%2F..%2Fbob", "http://u@{host}/mcp/alice", "https://{host}/mcp/alice", "/health"),
    ],
)
def test_a_redirect_to_another_bank_is_not_followed(
    location: str, status: int, serve: Serve, open_endpoint: OpenEndpoint
) -> None:
    """Ours: one bank at one origin is what a `Bank` is for, whatever a server says; the target is named."""
    fake = Hindsight()
    server = serve(
        lambda request: (
            fake(request)
            if request.path != "/mcp/alice/"
            else http(status=status, headers={"location": location.format(host=request.headers["host"])})
        )
    )
    caught = refuse(open_endpoint(server, key="secret"))
    assert isinstance(caught, StatusError)
    assert (caught.status, caught.outcome) == (status, "unknown" if status == 303 else "refused")  # RFC 9110, 15.4.4
    assert "redirects to" in str(caught)
    assert server.log == ["recall"]


@pytest.mark.parametrize("status", [300, 301, 302, 303, 304, 305, 307, 308])
@pytest.mark.parametrize(
    "location",
    [
        *(
            "http://{other}/mcp/alice/",
            "//{other}/mcp/alice",
            "http://{other}/v1/mcp/alice/",
            "https://{own}/mcp/alice/",
            "http://{near}/mcp/alice/",
        ),
        *("http://{other}/x?token=canary", "//u:canary@{other}/x#canary", *ODD),
    ],
)
@pytest.mark.parametrize("generation", ["modern", "stateful"])
def test_no_byte_reaches_another_origin(
    generation: Generation, location: str, status: int, serve: Serve, open_endpoint: OpenEndpoint
) -> None:
    """Public report: strands-agents/harness-sdk #4109. Ours: the target is named without query and userinfo."""
    other = serve(Hindsight())
    fake = Hindsight(generation)
    server = serve(fake)
    own, near, there = f"127.0.0.1:{server.port}", f"localhost:{server.port}", f"127.0.0.1:{other.port}"
    target = location.format(own=own, near=near, other=there)
    fake.answers["recall"] = lambda _: http(status=status, headers={"location": target})
    caught = refuse(open_endpoint(server, key="secret"))
    assert isinstance(caught, StatusError)
    assert (caught.status, caught.outcome) == (status, "unknown" if status == 303 else "refused")
    assert "canary" not in str(caught)
    assert target in ODD or any(f"{place}/" in str(caught) for place in (own, near, there) if place in target)
    assert not other.connections
    handshake = ["recall", "DELETE", "initialize", "notifications/initialized"] if generation == "stateful" else []
    assert server.log == [*handshake, "recall"]


@pytest.mark.parametrize("location", ["/other", "/mcp/alice", "/v1/mcp/alice/"])
@pytest.mark.parametrize("status", [301, 302, 303])
def test_a_redirect_that_would_turn_the_post_into_a_get_is_an_error(
    status: int, location: str, serve: Serve, open_endpoint: OpenEndpoint
) -> None:
    """Public report: ProfessionalWiki/MediaWiki-MCP-Server #551; on the same origin and to the same bank, too."""
    caught = refuse(open_endpoint(server := serve(redirecting(status, lambda _: location))))
    assert isinstance(caught, StatusError)
    assert f"redirects to {location}," in str(caught)
    assert server.log == ["recall"]


@pytest.mark.parametrize("location", [None, "", "/mcp/alice/", "{n}"])
def test_redirects_in_a_circle_end(location: str | None, serve: Serve, open_endpoint: OpenEndpoint) -> None:
    """Ours: bounded, whatever the server says."""
    numbers = itertools.count()

    def script(_: Request) -> Play:
        told = {} if location is None else {"location": location.format(n=next(numbers))}
        return http(status=307, headers=told)

    caught = refuse(open_endpoint(server := serve(script)))
    assert isinstance(caught, StatusError)
    assert caught.status == 307
    assert len(server.requests) <= 4


# -- the request -------------------------------------------------------------------------------------------------------


def test_a_request_larger_than_the_limit_is_not_sent(serve: Serve, open_endpoint: OpenEndpoint) -> None:
    """Hindsight 1.1.0 (mcp 2.3): 4 MiB, counted in encoded bytes; the limit is the largest that goes out."""
    assert inspect.signature(Bank).parameters["max_request_bytes"].default == Limits().request == 4 * 2**20
    server = serve(lambda request: http(encoded(result(request, DONE))))
    endpoint = open_endpoint(server, request=2000)
    endpoint._peer._ids = itertools.repeat(1)  # type: ignore[assignment]  # ids of one length
    ask(endpoint, query="é" * 400)
    room = 2000 - len(server.requests[0].body)
    ask(endpoint, query="é" * 400 + "x" * room)
    assert len(server.requests[1].body) == 2000
    with pytest.raises(ArgumentsError, match="2001 bytes, more than the 2000 that are allowed: split") as caught:
        ask(endpoint, query="é" * 400 + "x" * (room + 1))
    assert caught.value.outcome == "not_sent"
    assert len(server.requests) == 2


def test_a_key_travels_with_every_request(serve: Serve, open_endpoint: OpenEndpoint) -> None:
    """MCP 2025-11-25, Authorization, "Access Token Usage": POST and DELETE, in one header only."""
    fake = Hindsight("stateful", {"recall": lambda request: fake.told(request, tool_result({}))})
    server: WireServer = serve(fake)
    endpoint = open_endpoint(server, key="the-key")
    ask(endpoint)
    endpoint.close()
    assert server.log == ["recall", "DELETE", "initialize", "notifications/initialized", "recall", "DELETE"]
    for request in server.requests:
        assert request.headers["authorization"] == "Bearer the-key"
        assert request.head.lower().count(b"the-key") == 1
        assert request.path == "/mcp/alice/"


OLD, NEW = "MCP-Protocol-Version: 2025-11-25", "MCP-Protocol-Version: 2026-07-28"
FIRST = [NEW, "Mcp-Method: tools/list"]
# Of tools/list and recall, and what their generation needs before, between and after.
OWN: dict[Generation, list[list[str]]] = {
    "modern": [FIRST, [NEW, "Mcp-Method: tools/call", "Mcp-Name: recall"]],
    "stateless": [FIRST, [], *[[OLD]] * 3],
    "stateful": [FIRST, [OLD, "Mcp-Session-Id: orphan-1"], [], *[[OLD, "Mcp-Session-Id: session-2"]] * 4],
}


@pytest.mark.parametrize("generation", GENERATIONS)
def test_every_request_says_in_its_headers_what_it_is_and_no_more(
    generation: Generation, serve: Serve, open_endpoint: OpenEndpoint
) -> None:
    """MCP 2025-11-25, Transports, and MCP 2026-07-28, Streamable HTTP, "Request Metadata": each header once.

    Ours: no Origin, which is a browser's; nothing is compressed or asks to be.
    """
    fake = Hindsight(generation, {"recall": lambda request: fake.told(request, DONE)})
    endpoint = open_endpoint(server := serve(fake))
    endpoint.request("tools/list", {}, Deadline("listing", PATIENCE), decode=jsonrpc.decode)
    ask(endpoint)
    endpoint.close()
    assert [request.head.decode().split("\r\n")[1:-2] for request in server.requests] == [
        [
            f"Host: 127.0.0.1:{server.port}",
            "Content-Type: application/json",
            "Accept: application/json, text/event-stream",
            "Accept-Encoding: identity",
            "User-Agent: test/1",
            *lines,
            f"Content-Length: {len(request.body)}",
        ]
        for request, lines in zip(server.requests, OWN[generation], strict=True)
    ]


@pytest.mark.parametrize("generation", ["modern", "stateful"])
def test_headers_of_one_request_travel_with_it_alone(
    generation: Generation, serve: Serve, open_endpoint: OpenEndpoint
) -> None:
    """MCP 2026-07-28, Transports, "Custom Headers from Tool Parameters"; they do not outlive their request."""
    fake = Hindsight(generation, {"recall": lambda request: fake.told(request, DONE)})
    endpoint = open_endpoint(server := serve(fake))
    deadline = Deadline("recall", PATIENCE)
    mirrored = (("Mcp-Param-Region", "eu"),)
    params = {"name": "recall", "arguments": {}}
    endpoint.request("tools/call", params, deadline, decode=jsonrpc.decode, name="recall", mirrored=mirrored)
    ask(endpoint)
    calls = [request.headers.get("mcp-param-region") for request in server.requests if request.label == "recall"]
    assert calls == (["eu", None] if generation == "modern" else ["eu", None, None])


@pytest.mark.parametrize("status", [201, 202, 204, 206, 299])
def test_a_success_that_is_no_answer_leaves_the_outcome_open(
    status: int, serve: Serve, open_endpoint: OpenEndpoint
) -> None:
    """MCP 2025-11-25, Transports, "Sending messages to the server": a request is answered with 200."""
    endpoint = open_endpoint(serve(lambda request: http(encoded(result(request, DONE)), status=status)))
    with pytest.raises(ProtocolError) as caught:
        ask(endpoint)
    assert caught.value.outcome == "unknown"
