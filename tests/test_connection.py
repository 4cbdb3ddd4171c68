"""From settings to answers: what connecting sends, who waits for whom, and what a call's end says of a write."""

import itertools
import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from conftest import OPENING, OpenBank, Serve, calls, initialized
from wire_server import (
    ANSWERS,
    EVENTS,
    GENERATIONS,
    JSON,
    PATIENCE,
    TOOLS,
    Generation,
    Hindsight,
    Move,
    Play,
    Request,
    encoded,
    error,
    http,
    over_and_over,
    sse,
    tool_result,
)

from hindsight_bank import (
    AnswerLostError,
    Bank,
    BankError,
    DeadlineError,
    IncompatibleServer,
    NotFoundError,
    ProtocolError,
    RPCError,
    StatusError,
    ToolError,
    UnreachableError,
)

MISSING_BANK = {"error": "Bank 'alice' not found"}


def old_server(generation: Generation = "stateful", **answers: Any) -> Hindsight:
    """Return a Hindsight of before 0.8.5, known by a list_memories that takes no tags."""
    fake = Hindsight(generation, answers)
    fake.tools = [
        {"name": tool["name"], "inputSchema": {"type": "object", "properties": {"limit": {}, "content": {}}}}
        for tool in fake.tools
    ]
    return fake


# -- connecting --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("generation", GENERATIONS)
def test_connecting_asks_for_the_tools_and_the_bank_and_nothing_else(
    generation: Generation, serve: Serve, open_bank: OpenBank
) -> None:
    """Ours: connected means verified, and a bank is never made by connecting."""
    bank = open_bank(server := serve(Hindsight(generation)))
    assert server.log == []
    bank.connect()
    bank.connect()
    assert server.log == [*OPENING[generation], "tools/list", "get_bank"]
    del server.requests[:]
    for call in calls(bank).values():
        call()
    assert server.log == list(TOOLS)
    assert {request.path for request in server.requests} == {"/mcp/alice/"}
    assert server.connections == 1


def test_connecting_to_an_old_server_never_asks_for_the_bank(serve: Serve, open_bank: OpenBank) -> None:
    """Hindsight 0.4.14 to 0.7.2: get_bank makes the bank that it is asked for."""
    bank = open_bank(server := serve(old_server()))
    bank.connect()
    assert server.log == [*OPENING["stateful"], "tools/list", "list_memories"]
    assert server.requests[-1].arguments == {"limit": 1}


@pytest.mark.parametrize(
    ("fake", "label"),
    [
        (Hindsight("modern", {"get_bank": MISSING_BANK}), "get_bank"),
        (old_server("modern", list_memories={**ANSWERS["list_memories"], "total": 0}), "list_memories"),
    ],
    ids=["new", "old"],
)
def test_a_missing_bank_is_an_error_unless_it_may_be_new(
    fake: Hindsight, label: str, serve: Serve, open_bank: OpenBank
) -> None:
    """Public report: vectorize-io/hindsight #4456. Ours: only the retain that makes the bank goes through."""
    server = serve(fake)
    with pytest.raises(NotFoundError) as caught:
        open_bank(server).retain("x")
    assert (caught.value.what, caught.value.outcome) == ("bank", "not_sent")
    assert server.log == ["tools/list", label]
    del server.requests[:]
    bank = open_bank(server, allow_new_bank=True)
    with pytest.raises(NotFoundError, match=r"; the first retain makes it$"):
        bank.list_memories(limit=5)
    bank.retain("x")
    bank.list_memories(limit=5)
    assert server.log == ["tools/list", label, label, "retain", "list_memories"]


@pytest.mark.parametrize("missing", [["reflect"], ["get_bank", "retain"], list(TOOLS)], ids=len)
@pytest.mark.parametrize("generation", GENERATIONS)
def test_missing_tools_are_named(generation: Generation, missing: list[str], serve: Serve, open_bank: OpenBank) -> None:
    """Ours: IncompatibleServer, with the server's own name where it tells it."""
    fake = Hindsight(generation)
    fake.tools = [tool for tool in fake.tools if tool["name"] not in missing]
    with pytest.raises(IncompatibleServer) as caught:
        open_bank(serve(fake)).connect()
    assert set(caught.value.missing) == set(missing)
    assert all(tool in str(caught.value) for tool in missing)
    assert caught.value.server == ("" if generation == "modern" else "hindsight-mcp-server 1.1.0")
    assert caught.value.outcome == "not_sent"


def paged(fake: Hindsight, next_cursor: Callable[[str | None], Any]) -> Callable[[Request], Play]:
    """Return a tools/list that serves one tool a page, by the numbers in its cursors."""
    numbers: dict[Any, int] = {None: 0}

    def listed(request: Request) -> Play:
        cursor = request.message["params"].get("cursor")
        number = numbers[cursor]
        following = next_cursor(cursor)
        numbers.setdefault(following, number + 1)
        return fake.told(request, {"tools": fake.tools[number : number + 1], "nextCursor": following})

    return listed


@pytest.mark.parametrize(
    ("cursors", "pages"),
    [({None: "", "": "c", "c": "d", "d": "e", "e": "f", "f": None}, 6), ({None: "a", "a": "a"}, 2)],
)
def test_pages_of_tools_are_read_to_their_end(
    cursors: dict[str | None, str | None], pages: int, serve: Serve, open_bank: OpenBank
) -> None:
    """MCP 2025-11-25, Pagination: cursors are opaque, "" too. Ours: a repeated one is the end."""
    fake = Hindsight()
    fake.answers["tools/list"] = paged(fake, cursors.__getitem__)
    bank = open_bank(server := serve(fake))
    if pages == len(TOOLS):
        bank.connect()
    else:
        with pytest.raises(IncompatibleServer):
            bank.connect()
    assert server.log.count("tools/list") == pages


def test_a_server_that_pages_for_ever_is_left(serve: Serve, open_bank: OpenBank) -> None:
    """Ours: bounded, whatever the server says."""
    fake = Hindsight()
    fake.answers["tools/list"] = paged(fake, lambda cursor: str(int(cursor or 0) + 1))
    bank = open_bank(server := serve(fake))
    bank.connect()
    assert server.log.count("tools/list") == 50


@pytest.mark.parametrize("listed", [{}, {"tools": None}, {"tools": {}}, {"tools": [{}]}, {"tools": [1]}], ids=str)
def test_a_list_that_is_none_breaks_the_protocol(listed: Any, serve: Serve, open_bank: OpenBank) -> None:
    """MCP 2025-11-25, Tools, "Listing Tools"."""
    fake = Hindsight()
    fake.answers["tools/list"] = lambda request: fake.told(request, listed)
    with pytest.raises(ProtocolError):
        open_bank(serve(fake)).connect()


@pytest.mark.parametrize(
    ("beside", "server"),
    [
        ({}, ""),
        ({"ttlMs": 0, "cacheScope": "private", "serverInfo": {"name": "x", "version": "1"}}, ""),
        ({"ttlMs": -1, "cacheScope": 5}, ""),
        ({"ttlMs": "soon", "_meta": None}, ""),
        ({"_meta": {"io.modelcontextprotocol/serverInfo": {"name": "x", "version": "1"}}}, "x 1"),
        ({"_meta": {"io.modelcontextprotocol/serverInfo": {"name": 5, "version": "1"}}}, "1"),
        ({"_meta": {"io.modelcontextprotocol/serverInfo": ["x"]}}, ""),
    ],
    ids=str,
)
def test_nothing_depends_on_what_is_told_beside_the_tools(
    beside: dict[str, Any], server: str, serve: Serve, open_bank: OpenBank
) -> None:
    """MCP 2026-07-28, Overview, "`_meta`": serverInfo is to be told, not to be acted on; Caching: no ttlMs is 0."""
    fake = Hindsight("modern")
    fake.answers["tools/list"] = lambda request: fake.told(request, {"tools": fake.tools, **beside})
    assert open_bank(serve(fake)).health().server == server


def test_the_bounds_of_a_bank_bound_its_answers(serve: Serve, open_bank: OpenBank) -> None:
    """Public reports: mcp python-sdk #3332, go-sdk #726: a cap that the caller sets; no second try."""
    bank = open_bank(server := serve(Hindsight()), max_response_bytes=2000)
    with pytest.raises(ProtocolError, match="larger than 2000 bytes") as caught:
        bank.connect()
    assert caught.value.outcome == "not_sent"
    assert server.log == ["tools/list"]


@pytest.mark.parametrize(("kind", "says"), [("input_required", "asks for input"), ("task", "'task'"), ("", "''")])
def test_a_list_that_is_not_complete_is_none(kind: str, says: str, serve: Serve, open_bank: OpenBank) -> None:
    """MCP 2026-07-28, Overview, "ResultType": what we did not announce is invalid, in every result."""
    fake = Hindsight()
    value = {"tools": fake.tools, "resultType": kind}
    fake.answers["tools/list"] = lambda request: http(encoded({"jsonrpc": "2.0", "id": request.id, "result": value}))
    with pytest.raises(ProtocolError, match=says) as caught:
        open_bank(serve(fake)).retain("x")
    assert caught.value.outcome == "not_sent"


@pytest.mark.parametrize("info", [{}, {"version": "0.1.0"}, {"name": 5, "version": ["9"]}, {"name": "other"}], ids=str)
def test_what_a_server_calls_itself_decides_nothing(info: Any, serve: Serve, open_bank: OpenBank) -> None:
    """Public report: vectorize-io/hindsight #1281: it was the version of another program."""
    fake = Hindsight("stateful")
    fake.answers["initialize"] = lambda request: initialized(request, fake._open("session"), serverInfo=info)
    bank = open_bank(server := serve(fake))
    for call in calls(bank).values():
        call()
    assert server.log == [*OPENING["stateful"], "tools/list", "get_bank", *TOOLS]


# -- what became of a write --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("play", "kind"),
    [
        ([Move.CLOSE], AnswerLostError),
        ([Move.RESET], AnswerLostError),
        ([http(b"{}" * 9)[:-5], Move.CLOSE], AnswerLostError),
        ([http(b"{", framing="close"), Move.CLOSE], ProtocolError),
        ([http(b": ping\n", EVENTS, framing="close"), Move.CLOSE], AnswerLostError),
        ([Move.HANG], DeadlineError),
        (http(status=500), StatusError),
        (http(status=502), StatusError),
        (http(status=503), StatusError),
        (http(status=202), ProtocolError),
        (http(b"<html>", "text/html"), ProtocolError),
    ],
)
@pytest.mark.parametrize("generation", GENERATIONS)
def test_a_write_of_unknown_outcome_goes_out_once(
    generation: Generation, play: Play, kind: type[BankError], serve: Serve, open_bank: OpenBank
) -> None:
    """Public report: vectorize-io/hindsight #3114: whether it ran nobody knows, so nobody repeats it."""
    bank = open_bank(server := serve(Hindsight(generation, {"retain": lambda _: play})), backoff="raise")
    bank.connect()
    with pytest.raises(kind) as caught:
        bank.retain("x", timeout=0.3 if kind is DeadlineError else None)
    assert caught.value.outcome == "unknown"
    assert server.log.count("retain") == 1


@pytest.mark.parametrize("generation", GENERATIONS)
def test_a_write_that_failed_in_the_server_may_have_been_stored(
    generation: Generation, serve: Serve, open_bank: OpenBank
) -> None:
    """Hindsight 1.1.0, retain: any exception is told as an error, those after its commit among them.

    There a memory was stored whose retain had told of a database that was gone. Of a read it means nothing.
    """
    answer = {"status": "error", "message": "terminating connection due to administrator command"}
    bank = open_bank(server := serve(Hindsight(generation, {"retain": answer, "recall": answer})))
    with pytest.raises(ToolError) as caught:
        bank.retain("x")
    assert (caught.value.outcome, server.log.count("retain")) == ("unknown", 1)
    with pytest.raises(ToolError) as caught:
        bank.recall("x")
    assert caught.value.outcome == "refused"


@pytest.mark.parametrize(
    "play",
    [
        lambda request: http(encoded(error(-32020, "no", request.id))),
        lambda request: http(encoded(error(-32022, "no", request.id, supported=["2026-07-28"])), status=502),
    ],
)
@pytest.mark.parametrize("generation", GENERATIONS)
def test_a_write_that_is_refused_where_it_may_have_run_goes_out_once(
    generation: Generation, play: Callable[[Request], Play], serve: Serve, open_bank: OpenBank
) -> None:
    """MCP 2026-07-28, Streamable HTTP: such codes come with HTTP 400; a success or a 5xx leaves it open."""
    bank = open_bank(server := serve(Hindsight(generation, {"retain": play})), backoff="raise")
    bank.connect()
    with pytest.raises(BankError) as caught:
        bank.retain("x")
    assert (caught.value.outcome, server.log.count("retain")) == ("unknown", 1)


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        *(
            ({"status": "error", "message": message}, ToolError)
            for message in (
                "unsupported Unicode escape sequence",
                "Invalid timestamp format 'bad'. Expected ISO format",
                "Timestamp year 1 is a placeholder, not a date.",
                "Operation validation failed: Bank id is too long",
                "1 validation error for call[retain]",
            )
        ),
        (lambda request: http(encoded(error(-32602, "no", request.id))), RPCError),
        *((lambda _, status=status: http(status=status), StatusError) for status in (401, 409, 413, 429)),
    ],
)
@pytest.mark.parametrize("generation", GENERATIONS)
def test_a_write_that_the_server_refuses_goes_out_once(
    generation: Generation, answer: Any, kind: type[BankError], serve: Serve, open_bank: OpenBank
) -> None:
    """Public report: vectorize-io/hindsight #3908: what was refused for its content would be refused for ever."""
    bank = open_bank(server := serve(Hindsight(generation, {"retain": answer})), backoff="raise")
    bank.connect()
    with pytest.raises(kind) as caught:
        bank.retain("a\x00b")
    assert caught.value.outcome == "refused"
    [sent] = [request.arguments for request in server.requests if request.label == "retain"]
    assert sent == {"content": "a\x00b"}


@pytest.mark.parametrize("generation", GENERATIONS)
def test_a_write_on_a_connection_that_the_server_closed_meanwhile_goes_out_once(
    generation: Generation, serve: Serve, open_bank: OpenBank
) -> None:
    """Public report: dashscope/dashscope-sdk-python #175 (a stale pooled connection)."""
    fake = Hindsight(generation)
    fake.answers["get_bank"] = lambda request: [fake.told(request, tool_result(ANSWERS["get_bank"])), Move.CLOSE]
    bank = open_bank(server := serve(fake))
    bank.connect()
    server.wait_until_left()
    assert bank.retain("x").status == "accepted"
    assert server.log.count("retain") == 1


def test_a_write_in_a_lost_session_is_repeated_once(serve: Serve, open_bank: OpenBank) -> None:
    """MCP 2025-11-25, Transports, "Session Management"; the server refused it unread."""
    fake = Hindsight("stateful")
    bank = open_bank(server := serve(fake))
    bank.connect()
    fake.sessions.clear()
    assert bank.retain("x").status == "accepted"
    assert server.log[-4:] == ["retain", "initialize", "notifications/initialized", "retain"]


def test_a_write_that_found_no_server_was_not_sent() -> None:
    """Public report: vectorize-io/hindsight #3114. Ours: this one is safe to repeat."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        bank = Bank(f"http://127.0.0.1:{sock.getsockname()[1]}", "alice")
    with pytest.raises(UnreachableError) as caught:
        bank.retain("x")
    assert caught.value.outcome == "not_sent"
    bank.close()


# -- time --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [JSON, EVENTS])
@pytest.mark.parametrize("tool", TOOLS)
def test_the_time_of_a_call_is_its_own_before_the_banks(
    tool: str, kind: str, serve: Serve, open_bank: OpenBank
) -> None:
    """Public reports: vectorize-io/hindsight #3590 (JSON that stops), encode/httpx #1450 (heartbeats that do not).

    MCP 2026-07-28, Progress: a maximum SHOULD hold, whatever progress is told.
    """
    progress = sse(
        {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": 1, "progress": 1}}
    )
    fake = Hindsight()
    server = serve(fake)

    def endless(_: Request) -> Play:
        return itertools.chain([http(b"", kind, framing="close")], over_and_over(b": ping\n\n" + progress, 0.02))

    for bank_timeout, call_timeout in ((100, 0.3), (0.3, None)):
        bank = open_bank(server, timeout=bank_timeout)
        bank.connect(timeout=PATIENCE)
        fake.answers[tool] = endless
        began = time.monotonic()
        with pytest.raises(DeadlineError) as caught:
            calls(bank)[tool](timeout=call_timeout)
        assert 0.3 <= time.monotonic() - began < PATIENCE / 2
        assert (caught.value.seconds, caught.value.operation) == (0.3, tool)
        del fake.answers[tool]


def test_a_deadline_that_passes_while_connecting_leaves_the_call_unsent(serve: Serve, open_bank: OpenBank) -> None:
    """Ours: the error does not say otherwise."""
    fake = Hindsight("modern", {"tools/list": lambda _: [Move.HANG]})
    with pytest.raises(DeadlineError) as caught:
        open_bank(serve(fake)).retain("x", timeout=0.3)
    assert caught.value.outcome == "not_sent"
    assert "may have run" not in str(caught.value)


def test_waiting_for_another_threads_connecting_has_its_deadline(serve: Serve, open_bank: OpenBank) -> None:
    """Ours: a deadline covers all that a call waits for."""
    connecting, release = threading.Event(), threading.Event()
    fake = Hindsight()

    def slow(request: Request) -> Play:
        connecting.set()
        return [release, fake.told(request, {"tools": fake.tools})]

    fake.answers["tools/list"] = slow
    bank = open_bank(server := serve(fake))
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(bank.recall, "x")
        assert connecting.wait(PATIENCE)
        with pytest.raises(DeadlineError) as caught:
            bank.recall("x", timeout=0.3)
        assert caught.value.outcome == "not_sent"
        release.set()
        first.result()
    assert server.log == ["tools/list", "get_bank", "recall"]


# -- a server that changes ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("again", [False, True])
def test_a_call_whose_headers_do_not_fit_is_made_once_more_after_asking_for_the_tools(
    again: bool, tool: str, serve: Serve, open_bank: OpenBank
) -> None:
    """MCP 2026-07-28, Streamable HTTP, "Server Validation": HeaderMismatch is a refusal; a write runs once at most."""
    fake = Hindsight("modern")
    bank = open_bank(server := serve(fake))
    bank.connect()
    refusal = http(encoded(error(-32020, "Header mismatch")), status=400)
    plays = itertools.chain([refusal] * (1 + again), itertools.repeat(None))
    fake.answers[tool] = lambda request: next(plays) if "arguments" in request.message["params"] else None
    del server.requests[:]
    if again:
        with pytest.raises(RPCError) as caught:
            calls(bank)[tool]()
        assert caught.value.code == -32020
        assert server.log.count(tool) <= 3
    else:
        calls(bank)[tool]()
        assert server.log[:2] == [tool, "tools/list"]
        assert server.log[-1] == tool
    assert "initialize" not in server.log
