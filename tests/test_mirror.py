"""Arguments that go out in headers, too: which, and how they are spelled."""

import copy
from typing import Any

import pytest
from conftest import OpenBank, Serve, calls
from wire_server import GENERATIONS, TOOLS, Generation, Hindsight, encoded, error, http

from hindsight_bank import IncompatibleServer, mirror

REGION = {"type": "string", "description": "The region to execute the query in", "x-mcp-header": "Region"}
EXECUTE_SQL = {
    "type": "object",
    "properties": {"region": REGION, "query": {"type": "string", "description": "The SQL query to execute"}},
    "required": ["region", "query"],
}
ANNOTATED = {"type": "string", "x-mcp-header": "A"}
PROPERTIES = {"properties": {"a": ANNOTATED}}


def sent(schema: Any, arguments: Any) -> dict[str, str]:
    """Return the headers of a call, by name."""
    paths, fault = mirror.mirrored(schema)
    assert not fault
    return dict(mirror.headers(paths, arguments))


def annotate(fake: Hindsight, tool: str, argument: str, **words: Any) -> None:
    """Have a server list an argument of a tool with other words."""
    fake.tools = copy.deepcopy(fake.tools)
    [schema] = [each["inputSchema"] for each in fake.tools if each["name"] == tool]
    schema["properties"][argument] = words


def test_the_example_of_the_specification() -> None:
    """MCP 2026-07-28, Streamable HTTP, "Schema Extension": and what is not annotated stays in the body."""
    arguments = {"region": "us-west1", "query": "SELECT * FROM users"}
    assert sent(EXECUTE_SQL, arguments) == {"Mcp-Param-Region": "us-west1"}


@pytest.mark.parametrize(
    ("value", "header"),
    [
        ("us-west1", "us-west1"),
        ("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="),
        (" padded ", "=?base64?IHBhZGRlZCA=?="),
        ("line1\nline2", "=?base64?bGluZTEKbGluZTI=?="),
        ("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
        ("=?base64?literal", "=?base64?literal"),
        ("=?BASE64?literal?=", "=?BASE64?literal?="),
        ("a b  c", "a b  c"),
        ("a\tb", "=?base64?YQli?="),
        ("a\n", "=?base64?YQo=?="),
        ("a\x7f", "=?base64?YX8=?="),
        ("", ""),
        (42, "42"),
        (-7, "-7"),
        (0, "0"),
        (True, "true"),
        (False, "false"),
    ],
)
def test_a_value_is_spelled_so_that_it_arrives(value: Any, header: str) -> None:
    """MCP 2026-07-28, Streamable HTTP, "Value Encoding": its examples, and what is like them."""
    assert sent(EXECUTE_SQL, {"region": value}) == {"Mcp-Param-Region": header}


@pytest.mark.parametrize("arguments", [{}, {"region": None}, {"region": ["us"]}, {"region": {"x": "us"}}])
def test_what_is_absent_or_null_has_no_header(arguments: Any) -> None:
    """MCP 2026-07-28, Streamable HTTP, "Server Behavior for Custom Headers". Ours: nor has what is no plain value."""
    assert sent(EXECUTE_SQL, arguments) == {}


def test_an_argument_within_an_argument_is_found_at_its_exact_path() -> None:
    """MCP 2026-07-28, Streamable HTTP, "Schema Extension": every step of the chain is a `properties` key."""
    schema = {"properties": {"where": {"type": "object", **PROPERTIES}, "a": {"type": "string"}}}
    assert sent(schema, {"where": {"a": "in"}, "a": "out"}) == {"Mcp-Param-A": "in"}
    assert sent(schema, {"where": "a"}) == sent(schema, {"a": "out"}) == {}


@pytest.mark.parametrize("token", ["", " ", "a b", "a:b", "a\r\nX: y", "a\n", "ä", "a(b)", 1, None, True, ["A"], {}])
def test_a_name_that_no_header_has_spoils_the_tool(token: Any) -> None:
    """MCP 2026-07-28, Tools, "x-mcp-header"; RFC 9110, 5.1: 1*tchar."""
    schema = {"properties": {"a": {"type": "string", "x-mcp-header": token}}}
    assert mirror.mirrored(schema) == ({}, "that is no token")


@pytest.mark.parametrize("kind", ["number", "object", "array", "null", None, ["string", "null"], ["string"]])
def test_a_type_that_has_no_one_spelling_spoils_the_tool(kind: Any) -> None:
    """MCP 2026-07-28, Tools, "x-mcp-header": integer, string and boolean only."""
    schema = {"properties": {"a": {"type": kind, "x-mcp-header": "A"}}}
    assert mirror.mirrored(schema) == ({}, "on what is no string, integer or boolean")


@pytest.mark.parametrize("names", [("A", "A"), ("region", "Region")])
def test_a_name_that_is_there_twice_spoils_the_tool(names: tuple[str, str]) -> None:
    """MCP 2026-07-28, Tools, "x-mcp-header": unique, whatever the case."""
    first, second = ({"type": "string", "x-mcp-header": name} for name in names)
    schema = {"properties": {"a": first, "b": {"type": "object", "properties": {"c": second}}}}
    assert mirror.mirrored(schema) == ({}, "that is there twice")


@pytest.mark.parametrize(
    "schema",
    [
        ANNOTATED,
        {"items": ANNOTATED},
        {"prefixItems": [ANNOTATED]},
        {"additionalProperties": ANNOTATED},
        {"patternProperties": {"^a": ANNOTATED}},
        *({word: [PROPERTIES]} for word in ("allOf", "anyOf", "oneOf")),
        *({word: PROPERTIES} for word in ("not", "if", "then", "else")),
        {"$defs": {"a": ANNOTATED}, "properties": {"a": {"$ref": "#/$defs/a"}}},
        {"properties": {"a": {"anyOf": [ANNOTATED, {"type": "null"}]}}},
        {"properties": {"a": {"type": "array", "items": PROPERTIES}}},
    ],
)
def test_an_annotation_anywhere_else_spoils_the_tool(schema: Any) -> None:
    """MCP 2026-07-28, Streamable HTTP, "Schema Extension": reached by a chain of `properties` keys alone."""
    assert mirror.mirrored(schema) == ({}, "where more than `properties` leads")


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"x-mcp-header": {"type": "string"}}},
        {"properties": {"a": {"type": "object", "default": {"x-mcp-header": "A"}}}},
        {"properties": {"a": {"enum": [{"x-mcp-header": "A"}]}, "b": {"const": {"x-mcp-header": "A"}}}},
        {"properties": ["x-mcp-header"], "examples": [PROPERTIES]},
        True,
        {},
    ],
)
def test_what_only_looks_like_an_annotation_is_none(schema: Any) -> None:
    """JSON Schema 2020-12: the names of properties and the values of keywords are no keywords."""
    assert mirror.mirrored(schema) == ({}, "")


@pytest.mark.parametrize("generation", GENERATIONS)
def test_a_bank_sends_the_headers_that_its_server_lists(
    generation: Generation, serve: Serve, open_bank: OpenBank
) -> None:
    """MCP 2026-07-28, Streamable HTTP, "Client Behavior"; the 2025 revisions have no such header."""
    fake = Hindsight(generation)
    annotate(fake, "recall", "query", type="string", **{"x-mcp-header": "Query"})
    bank = open_bank(server := serve(fake))
    bank.recall("Was trinkt Zoë?")
    bank.get_bank()
    found = [(request.label, request.headers.get("mcp-param-query")) for request in server.requests]
    assert [each for each in found if each[1]] == (
        [("recall", "=?base64?V2FzIHRyaW5rdCBab8OrPw==?=")] if generation == "modern" else []
    )


def test_headers_that_a_server_comes_to_want_are_sent_the_second_time(serve: Serve, open_bank: OpenBank) -> None:
    """MCP 2026-07-28, Streamable HTTP, "Client Behavior": HeaderMismatch, tools/list, the request with its headers."""
    fake = Hindsight("modern")
    bank = open_bank(server := serve(fake)).connect()
    annotate(fake, "retain", "content", type="string", **{"x-mcp-header": "Content"})
    refused = http(encoded(error(-32020, "Header mismatch")), status=400)
    fake.answers["retain"] = lambda request: None if "mcp-param-content" in request.headers else refused
    bank.retain("x")
    assert server.log[-4:] == ["retain", "tools/list", "get_bank", "retain"]


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("generation", GENERATIONS)
def test_a_tool_that_must_not_be_used_is_as_good_as_missing(
    generation: Generation, tool: str, serve: Serve, open_bank: OpenBank
) -> None:
    """MCP 2026-07-28, Tools, "x-mcp-header": excluded. The 2025 revisions know no such keyword and use the tool."""
    fake = Hindsight(generation)
    annotate(fake, tool, "extra", type="number", **{"x-mcp-header": "Extra"})
    bank = open_bank(serve(fake))
    if generation != "modern":
        calls(bank)[tool]()
        return
    with pytest.raises(IncompatibleServer) as caught:
        calls(bank)[tool]()
    assert caught.value.missing == (tool,)
    assert str(caught.value) == (
        f"the server (unnamed) lists {tool} with an x-mcp-header on what is no string, integer or boolean:"
        " MCP 2026-07-28 forbids to use such a tool; the server must mend its inputSchema"
    )


@pytest.mark.parametrize("tool", ["list_tags", "hindsight_search"])
def test_a_tool_that_must_not_be_used_costs_no_other(tool: str, serve: Serve, open_bank: OpenBank) -> None:
    """MCP 2026-07-28, Tools, "x-mcp-header": the other tools stay."""
    fake = Hindsight("modern")
    spoiled = {"type": "object", "properties": {"a": {"type": "number", "x-mcp-header": "A"}}}
    fake.tools = [{"name": tool, "inputSchema": spoiled}, *fake.tools]
    for call in calls(open_bank(serve(fake))).values():
        call()
