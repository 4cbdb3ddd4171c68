"""The banks of the older generations, on servers with their documented tools, in both generations of the protocol."""

import inspect
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from uuid import uuid4

import oracle
import pytest
from conftest import Serve
from wire_server import GENERATIONS, JSON, Generation, Hindsight, Move, Request, encoded, http, result, tool_result

from codegen.shape import fingerprint
from hindsight_bank import (
    AgentBank,
    AnswerLostError,
    ArgumentsError,
    Bank,
    ClosedError,
    IncompatibleServer,
    NotFoundError,
    PutSearchBank,
    SettingsError,
    StatusError,
    ToolError,
    UnauthorizedError,
    to_dict,
)
from hindsight_bank._generated import INPUT_SHA256
from hindsight_bank.toolset import AGENTS, ALL, PUT_SEARCH, SIX, Toolset

Open = Callable[..., Any]

CAPTURED = json.loads((Path(__file__).parent / "captured/older.json").read_text())["tools"]
OLDER = {PutSearchBank: PUT_SEARCH, AgentBank: AGENTS}
MODERN = "2026-07-28"

each_protocol = pytest.mark.parametrize("protocol", ["", "/2025"], ids=["2026", "2025"])
each_tool = pytest.mark.parametrize(
    ("bank", "tool"), [(bank, tool) for bank, tools in OLDER.items() for tool in tools.tools], ids=str
)


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The URL of one process with all of them."""
    command = [sys.executable, str(Path(__file__).parent / "older_servers.py")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}"
        finally:
            process.kill()


@pytest.fixture
def opened() -> Iterator[Open]:
    """Make banks that are closed with the test, before the servers end."""
    with ExitStack() as stack:

        def make(kind: type[Any], url: str, *args: Any, **options: Any) -> Any:
            bank = kind(url, *args, **options)
            stack.callback(bank.close)
            return bank

        yield make


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine gets time to look around."""
    monkeypatch.setattr("hindsight_bank.neighbours._SECONDS", 20.0)


def name() -> str:
    """Return the id of a bank of one's own."""
    return f"alice+{uuid4()}@example.com"


# -- on FastMCP --------------------------------------------------------------------------------------------------------


@each_protocol
@pytest.mark.parametrize("path", ["/mcp/mcp", "/bank/mcp", "/agent/mcp"])
def test_a_fact_that_was_put_is_found(protocol: str, path: str, server: str, opened: Open) -> None:
    """Hindsight 0.0.8 to 0.0.16, "MCP Server": both tools, and both spellings of the id, as the server has it."""
    bank = opened(PutSearchBank, server, name(), path=protocol + path)
    assert bank.hindsight_search("Who likes tea?").results == ()
    receipt = bank.hindsight_put("Alice likes tea.", "drinks", explanation="she said so")
    assert receipt.result == "Fact stored successfully"
    (fact,) = bank.hindsight_search("Who likes tea?", max_tokens=100, explanation="curious").results
    assert (fact.text, fact.type, fact.context, fact.document_id) == ("Alice likes tea.", "world", "drinks", None)
    assert to_dict(fact)["event_date"] == "2025-03-01T09:00:00+00:00"
    assert bank._connection._link.endpoint.revision == ("2025-11-25" if protocol else MODERN)
    other = opened(PutSearchBank, server, name(), path=protocol + path)
    assert other.hindsight_search("Who likes tea?").results == ()


@each_protocol
@pytest.mark.parametrize("path", ["/documented/mcp", "/documented-text/mcp"])
def test_what_an_agent_stored_is_found_and_thought_about(protocol: str, path: str, server: str, opened: Open) -> None:
    """Hindsight 0.0.8 to 0.0.16, API reference: four tools, whose answers are objects or JSON in a text."""
    agent = opened(AgentBank, server, agent_id := name(), path=protocol + path)
    with pytest.raises(NotFoundError) as caught:
        agent.hindsight_search("Who likes tea?")
    assert (caught.value.code, caught.value.what) == ("NOT_FOUND", "bank")
    assert agent.hindsight_store("Alice likes tea.", context="drinks").message == "Memory stored successfully"
    agent.hindsight_store("Bob likes tea.")
    found = agent.hindsight_search("Who likes tea?", top_k=1).results
    assert [(fact.text, fact.weight, fact.fact_type) for fact in found] == [("Alice likes tea.", 0.95, "world")]
    thought = agent.hindsight_think("Who likes tea?", budget="high")
    assert (thought.text, thought.new_opinions) == ("Thought, high.", ())
    assert [(ground.text, ground.weight) for ground in thought.based_on] == [
        ("Alice likes tea.", 1.0),
        ("Bob likes tea.", 1.0),
    ]
    assert agent_id in [each.agent_id for each in agent.hindsight_agents().memory_banks]
    assert agent._connection._link.endpoint.revision == ("2025-11-25" if protocol else MODERN)


def test_an_agent_bank_without_an_id_leaves_it_to_the_server(server: str, opened: Open) -> None:
    """Hindsight 0.0.8 to 0.0.16, API reference: `agent_id`, "uses default if not specified"."""
    agent = opened(AgentBank, server, path="/documented/mcp")
    agent.hindsight_store("The default likes tea.")
    assert "default" in [each.agent_id for each in agent.hindsight_agents().memory_banks]


@each_protocol
def test_failures_are_told_by_their_code_or_sentence(protocol: str, server: str, opened: Open) -> None:
    """Hindsight 0.0.16, relaunched, and its API reference, "Error Responses"."""
    bank = opened(PutSearchBank, server, name(), path=f"{protocol}/bank/mcp")
    with pytest.raises(ToolError, match="hindsight_put: Error: 'MemoryEngine' object has no attribute") as caught:
        bank.hindsight_put("unstorable", "x")
    assert caught.value.outcome == "unknown"  # whatever failed, perhaps after it was stored
    with pytest.raises(ToolError, match="has no attribute 'event_date'"):
        bank.hindsight_search("fail")
    agent = opened(AgentBank, server, name(), path=f"{protocol}/documented/mcp")
    with pytest.raises(ToolError) as caught:
        agent.hindsight_store("invalid")
    assert (type(caught.value), caught.value.code) == (ToolError, "INVALID_PARAMS")
    assert caught.value.outcome == "refused"
    with pytest.raises(ToolError, match="The store is full"):
        agent.hindsight_store("full")


@each_protocol
@pytest.mark.parametrize(
    ("kind", "path", "use"),
    [
        (PutSearchBank, "/documented/mcp", "AgentBank"),
        (PutSearchBank, "/documented-text/mcp", "AgentBank"),
        (AgentBank, "/bank/mcp", "PutSearchBank"),
        (AgentBank, "/agent/mcp", "PutSearchBank"),
    ],
)
def test_the_other_older_generation_is_refused_by_name(
    kind: type[Any], path: str, use: str, protocol: str, server: str, opened: Open
) -> None:
    """Ours: IncompatibleServer names the generation that was found and the class to use."""
    with pytest.raises(IncompatibleServer, match=f"the generation of hindsight_.*; use {use} for it") as caught:
        opened(kind, server, name(), path=protocol + path).connect()
    assert set(caught.value.missing) <= set(OLDER[kind].tools)


def test_six_tools_are_not_looked_for_in_an_older_generation(server: str, opened: Open) -> None:
    """Ours: the bank's own path is another there; or, where the bank is called mcp, it is not."""
    with pytest.raises(IncompatibleServer, match=r"use PutSearchBank\(\.\.\., path='/mcp/mcp'\) for it") as caught:
        opened(Bank, server, "alice").connect()
    assert set(caught.value.missing) == set(SIX.tools)
    with pytest.raises(IncompatibleServer, match=r"the generation of hindsight_put, .*; use PutSearchBank for it"):
        opened(Bank, server, "mcp").connect()


def test_another_path_is_named_where_the_tools_are(server: str, opened: Open) -> None:
    """Ours: the documentation says /mcp, the software /mcp/mcp."""
    with pytest.raises(IncompatibleServer, match=r"one for all banks at /mcp/mcp, .*; pass path='/mcp/mcp'") as caught:
        opened(PutSearchBank, server, "alice", path="/elsewhere").connect()
    assert caught.value.missing == ()


def test_another_mcp_server_is_no_hindsight(server: str, opened: Open) -> None:
    """Ours: one sentence says what was found and what to do."""
    for kind in OLDER:
        with pytest.raises(IncompatibleServer, match=r"\(calculator .*\) is an MCP server, but no Hindsight: .*check"):
            opened(kind, server, "alice", path="/calculator/mcp").connect()


@pytest.mark.parametrize("path", ["/sse-only/mcp/sse", "/sse-only/mcp", "/sse-only/mcp/"])
def test_a_server_of_http_and_sse_only_is_recognised(path: str, server: str, opened: Open) -> None:
    """MCP 2024-11-05, "HTTP with SSE", as at Hindsight's commit 31a53c087: a POST is refused, a GET opens a stream."""
    with pytest.raises(IncompatibleServer, match=r"speaks only HTTP\+SSE, the deprecated transport of MCP 2024-11-05"):
        opened(PutSearchBank, server, "alice", path=path).connect()


# -- scripted ----------------------------------------------------------------------------------------------------------


def script(toolset: Toolset, generation: Generation = "modern", answers: dict[str, Any] | None = None) -> Hindsight:
    """Return a scripted server with the tools of a generation."""
    fake = Hindsight(generation, answers)
    folder = oracle.SCHEMAS / toolset.home.replace(".", "/") / "tools"
    fake.tools = [json.loads((folder / f"{tool}.json").read_bytes()) for tool in toolset.tools]
    return fake


def arguments_of(request: Request) -> dict[str, Any]:
    return {name: value for name, value in request.message["params"]["arguments"].items() if value is not None}


@pytest.mark.parametrize("generation", GENERATIONS)
@pytest.mark.parametrize("toolset", [SIX, PUT_SEARCH, AGENTS], ids=lambda toolset: str(toolset.client))
def test_each_generation_is_refused_by_the_banks_of_the_others(
    toolset: Toolset, generation: Generation, serve: Serve, opened: Open
) -> None:
    """Ours: nothing is translated behind the user's back."""
    server = serve(script(toolset, generation))
    for kind in (Bank, PutSearchBank, AgentBank):
        bank = opened(kind, server.url, "alice")
        if kind.__name__ == toolset.client:
            bank.connect()
            continue
        with pytest.raises(IncompatibleServer, match=rf"; use {toolset.client} for it$") as caught:
            bank.connect()
        assert caught.value.outcome == "not_sent"
        assert caught.value.missing


@pytest.mark.parametrize(
    ("kind", "call", "label"),
    [
        (PutSearchBank, lambda bank: bank.hindsight_put("x", "y"), "hindsight_put"),
        (AgentBank, lambda bank: bank.hindsight_store("x"), "hindsight_store"),
    ],
)
def test_a_write_is_sent_once_and_its_outcome_is_known(
    kind: type[Any], call: Callable[[Any], Any], label: str, serve: Serve, opened: Open
) -> None:
    """Ours: a connection that breaks after the request leaves the outcome unknown, and nothing is sent again."""
    server = serve(script(OLDER[kind], answers={label: lambda _: [Move.RESET]}))
    bank = opened(kind, server.url, "alice").connect()
    with pytest.raises(AnswerLostError) as caught:
        call(bank)
    assert caught.value.outcome == "unknown"
    assert server.log.count(label) == 1


@pytest.mark.parametrize("spelling", ["bank_id", "agent_id"])
def test_the_servers_schema_decides_how_the_id_is_spelled(spelling: str, serve: Serve, opened: Open) -> None:
    """Hindsight 0.0.16 and the commit 31a53c087, tools/list."""
    fake = script(PUT_SEARCH, answers={"hindsight_search": {"results": []}})
    capture = "0.0.16-relaunched" if spelling == "bank_id" else "git-31a53c087"
    fake.tools = [{"name": tool, "inputSchema": schema} for tool, schema in CAPTURED[capture].items()]
    server = serve(fake)
    opened(PutSearchBank, server.url, "ä lice").hindsight_search("q")
    assert arguments_of(server.requests[-1]) == {spelling: "ä lice", "query": "q"}
    other = script(AGENTS, answers={"hindsight_search": {"results": []}})
    for tool in other.tools:
        properties = tool["inputSchema"]["properties"]
        properties |= {spelling: properties.pop("agent_id")} if "agent_id" in properties else {}
    server = serve(other)
    opened(AgentBank, server.url, "alice").hindsight_search("q")
    assert arguments_of(server.requests[-1]) == {spelling: "alice", "query": "q"}


def test_an_argument_that_the_server_does_not_know_is_not_sent(serve: Serve, opened: Open) -> None:
    """Ours, as for the six tools: servers drop unknown arguments, or refuse them."""
    fake = script(PUT_SEARCH)
    for tool in fake.tools:
        del tool["inputSchema"]["properties"]["explanation"]
    server = serve(fake)
    bank = opened(PutSearchBank, server.url, "alice")
    with pytest.raises(ArgumentsError, match=r"unknown to this server @ \$\.explanation"):
        bank.hindsight_put("x", "y", explanation="z")
    assert "hindsight_put" not in server.log


@pytest.mark.parametrize(
    "call",
    [
        lambda bank, _: bank.hindsight_put(" ", "x"),
        lambda bank, _: bank.hindsight_put("x", None),
        lambda bank, _: bank.hindsight_put("\ud800", "x"),
        lambda bank, _: bank.hindsight_search("x", max_tokens=0),
        lambda _, agent: agent.hindsight_store("\n"),
        lambda _, agent: agent.hindsight_search("x", top_k=0),
        lambda _, agent: agent.hindsight_think("x", budget="most"),
        lambda _, agent: agent.hindsight_think("x", timeout=0),
    ],
)
def test_a_bad_argument_is_refused_before_anything_is_sent(call: Callable[..., Any]) -> None:
    """schemas/: our rules. Nobody listens there."""
    url = "http://localhost:9"
    with pytest.raises(ArgumentsError) as caught:
        call(PutSearchBank(url, "alice"), AgentBank(url, "alice"))
    assert caught.value.tool.startswith("hindsight_")


def test_a_key_is_sent_to_the_endpoint_and_nowhere_else(serve: Serve, opened: Open) -> None:
    """Ours: looking around after a refusal is done without the key."""
    server = serve(lambda _: http(b"Not Found", "text/plain", status=404))
    with pytest.raises(StatusError, match=r"there is no MCP endpoint at .*/mcp/mcp: Not Found; check the server URL"):
        opened(PutSearchBank, server.url, "alice", api_key="k3y", path="/mcp/mcp").connect()
    keyed = [request.path for request in server.requests if "authorization" in request.headers]
    looked = [(request.verb, request.path) for request in server.requests[len(keyed) :]]
    assert keyed == ["/mcp/mcp", "/mcp/mcp"]
    gets = ["/mcp/mcp", "/mcp/mcp/sse", "/mcp/sse", "/sse"]
    posts = ["/mcp/mcp", "/mcp/mcp", "/mcp", "/mcp"]
    assert looked == [*(("GET", path) for path in gets), *(("POST", path) for path in posts)]
    server = serve(lambda _: http(encoded({"error": "no"}), JSON, status=401))
    with pytest.raises(UnauthorizedError):
        opened(AgentBank, server.url, api_key="k3y").connect()
    assert [request.verb for request in server.requests] == ["POST"]


def test_a_stream_that_says_anything_else_first_is_not_taken_for_http_and_sse(serve: Serve, opened: Open) -> None:
    """MCP 2024-11-05, "HTTP with SSE": the first event is `endpoint`. Ours: a 200 on GET proves nothing."""

    def other(request: Request) -> bytes:
        if request.verb == "GET":
            return http(b"event: message\ndata: {}\n\n", "text/event-stream")
        return http(status=405)

    with pytest.raises(StatusError, match="HTTP 405: there is no MCP endpoint"):
        opened(PutSearchBank, serve(other).url, "alice").connect()


def test_a_closed_bank_says_which_class_to_open_again() -> None:
    """Ours: ClosedError."""
    for kind in OLDER:
        bank = kind("http://localhost:9", "alice")
        bank.close()
        with pytest.raises(ClosedError, match=f"this {kind.__name__} was closed"):
            bank.connect()
        with pytest.raises(TypeError, match="one in each process"):
            bank.__reduce__()
        assert repr(bank).startswith(f"{kind.__name__}('http://localhost:9', 'alice', path='/mcp")


# -- settings and signatures -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("free", ["user_12345", "alice@example.com", "a/b?c#d", "Älice 😀", " "])
def test_an_id_is_free_text(free: str) -> None:
    """Hindsight 0.0.8 to 0.0.16, "Per-User Isolation": user ids, addresses, anything that identifies."""
    assert PutSearchBank("http://localhost:9", free).bank_id == free
    assert AgentBank("http://localhost:9", free).agent_id == free


@pytest.mark.parametrize("bad", ["", "a\nb", "\x00", "\x7f", "\u0085", "\u2028", "\ud800", 5, b"alice"])
def test_an_id_has_no_control_characters(bad: Any) -> None:
    """Ours: what could not be sent, or be told apart in a log."""
    for kind in OLDER:
        with pytest.raises(SettingsError, match="any text that is not empty and has no control characters"):
            kind("http://localhost:9", bad)
    with pytest.raises(SettingsError):
        PutSearchBank("http://localhost:9", None)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "path",
    ["", "mcp", "/", "//host", "/a//b", "/a?b", "/a#b", "/../mcp", "/a/..", "/a%20", "/a b", "/a\\b", "/é", None],
)
def test_a_path_is_plain(path: Any) -> None:
    """Ours: a path adds no query, leads to no other host and is sent as it is."""
    with pytest.raises(SettingsError, match="a path begins with '/'"):
        PutSearchBank("http://localhost:9", "alice", path=path)


@pytest.mark.parametrize("url", ["http://example.com", "https://u:p@h", "https://h/mcp", "https://h?x"])
def test_the_rules_of_a_server_url_hold(url: str) -> None:
    """Ours: as for Bank."""
    for kind in OLDER:
        with pytest.raises(SettingsError):
            kind(url, "alice")
        assert repr(object.__new__(kind)) == f"{kind.__name__}(of unusable settings)"


@each_tool
def test_a_method_takes_what_its_tool_takes_but_for_the_id(bank: type[Any], tool: str) -> None:
    """schemas/: names, order and requiredness, None for all that is unset; the id is the bank's."""
    folder = oracle.SCHEMAS / OLDER[bank].home.replace(".", "/")
    schema = json.loads((folder / f"tools/{tool}.json").read_bytes())["inputSchema"]
    wanted = [each for each in schema["properties"] if each not in ("bank_id", "agent_id")]
    *own, timeout = list(inspect.signature(getattr(bank, tool)).parameters.values())[1:]
    assert [p.name for p in own] == wanted
    assert [p.name for p in own if p.default is p.empty] == [p for p in wanted if p in schema.get("required", ())]
    assert all(p.default is None and p.kind is p.KEYWORD_ONLY for p in own if p.default is not p.empty)
    assert (timeout.name, timeout.kind, timeout.default) == ("timeout", timeout.KEYWORD_ONLY, None)


@each_tool
def test_every_argument_is_documented(bank: type[Any], tool: str) -> None:
    """Ours: public docstrings tell each argument, what comes and what is raised."""
    told = inspect.getdoc(getattr(bank, tool)) or ""
    names = list(inspect.signature(getattr(bank, tool)).parameters)[1:]
    assert [f"{each}:" for each in names] == [
        line.split()[0] for line in told.partition("Args:\n")[2].split("\n\n")[0].splitlines() if line[4] != " "
    ]
    assert "Returns:\n" in told
    assert "Raises:\n" in told
    constructor = list(inspect.signature(bank).parameters)
    documented = (inspect.getdoc(bank) or "").partition("Args:\n")[2].split("\n\n")[0].splitlines()
    assert [line.split()[0] for line in documented if line[4] != " "] == [f"{each}:" for each in constructor]


def test_the_input_schema_of_put_and_search_is_the_one_that_0_0_16_serves() -> None:
    """Hindsight 0.0.16, tools/list."""
    for tool, theirs in CAPTURED["0.0.16-relaunched"].items():
        assert INPUT_SHA256[f"put_search.{tool}"] == fingerprint(theirs)


def test_no_tool_set_hides_another() -> None:
    """Ours: which generation a server is can be told by its tools."""
    assert not any(one.within(other.tools) for one in ALL for other in ALL if one is not other)


def test_a_tool_result_that_is_an_answer_of_six_tools_is_not_unwrapped(serve: Serve, opened: Open) -> None:
    """Hindsight 1.1.0 without a bank in the URL wraps; Bank takes no such answer for one."""
    wrapped = {"structuredContent": {"result": '{"results": []}'}, "content": []}
    fake = Hindsight(answers={"recall": lambda request: http(encoded(result(request, wrapped)))})
    with pytest.raises(Exception, match="breaks the schema"):
        opened(Bank, serve(fake).url, "alice").recall("q")
    assert tool_result({})["isError"] is False
