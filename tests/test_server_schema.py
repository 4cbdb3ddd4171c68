"""The server's own word on a tool's arguments, as tools/list gives it."""

import copy
import json
import re
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from msgspec import Raw

from hindsight_bank import answers, arguments, validation
from hindsight_bank.arguments import ServerSchema
from hindsight_bank.errors import AnswerError, ArgumentsError, ProtocolError

SCHEMAS = Path(__file__).parent.parent / "schemas/tools"
SERVER = "hindsight-mcp-server 0.7.2"
TOOLS = ("retain", "recall", "reflect", "list_memories", "get_memory", "get_bank")


def ours(tool: str) -> dict[str, Any]:
    schema: dict[str, Any] = json.loads((SCHEMAS / f"{tool}.json").read_text())["inputSchema"]
    return schema


def listed(tool: str, schema: Any) -> ServerSchema:
    return ServerSchema(tool, Raw(json.dumps(schema).encode()))


def described(schema: Any, *, names: bool = False) -> Any:
    """Return the schema in other words: other descriptions and titles, keys in another order."""
    if isinstance(schema, list):
        return [described(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    shuffled = {key: described(schema[key], names=not names and key == "properties") for key in reversed(schema)}
    return shuffled if names else shuffled | {"description": "other", "title": "Other"}


@pytest.mark.parametrize("tool", TOOLS)
def test_a_schema_in_other_words_is_the_same_schema(tool: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hindsight rewrites descriptions in every release; only names, types and defaults count."""
    monkeypatch.setattr(validation, "violations", lambda *_, **__: pytest.fail("jsonschema was asked"))
    listed(tool, described(ours(tool))).judge({"anything": 1}, SERVER)


@pytest.mark.parametrize(
    "change",
    [
        lambda s: s["properties"].pop("tag_groups"),
        lambda s: s["properties"].update(brand_new={"type": "string"}),
        lambda s: s["properties"].update(title={"type": "string"}),
        lambda s: s["properties"].update(description={"type": "string"}),
        lambda s: s["properties"]["budget"].update(default="low"),
        lambda s: s["properties"]["query"].update(maxLength=10),
        lambda s: s.pop("required"),
    ],
)
def test_a_schema_that_differs_in_anything_else_is_asked(change: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: under `properties`, `title` and `description` are names of arguments like any other."""
    schema = copy.deepcopy(ours("recall"))
    change(schema)
    asked = Mock(return_value=[])
    monkeypatch.setattr(validation, "violations", asked)
    listed("recall", schema).judge({"query": "q"}, SERVER)
    asked.assert_called_once_with({"query": "q"}, schema, trusted=False)


def test_our_own_schemas_never_load_jsonschema() -> None:
    """Ours: jsonschema loads at connect only if the server's inputSchemas differ from ours."""
    script = f"""
import json, pathlib, sys
from msgspec import Raw
from hindsight_bank import Bank
from hindsight_bank.arguments import ServerSchema, judge
for path in pathlib.Path({str(SCHEMAS)!r}).glob("*.json"):
    schema = json.loads(path.read_text())["inputSchema"]
    ServerSchema(path.stem, Raw(json.dumps(schema).encode())).judge({{}}, "")
judge("recall", {{"query": "q", "tags": ["a"]}})
Bank("http://localhost", "alice")
assert "jsonschema" not in sys.modules
assert "hindsight_bank._generated.get_bank" not in sys.modules
del schema["properties"]
ServerSchema("recall", Raw(json.dumps(schema).encode()))
assert "jsonschema" not in sys.modules
ServerSchema("recall", Raw(b'{{"properties":{{"query":{{}}}}}}')).judge({{"query": "q"}}, "")
assert "jsonschema" in sys.modules
"""
    subprocess.run([sys.executable, "-c", script], check=True)


def test_an_argument_that_the_server_would_drop_is_refused_naming_it_and_the_server() -> None:
    """Public report: hindsight #1396: servers strip unknown arguments silently, so a filter would not filter."""
    schema = copy.deepcopy(ours("recall"))
    del schema["properties"]["tag_groups"]
    with pytest.raises(ArgumentsError) as caught:
        listed("recall", schema).judge({"query": "q", "tag_groups": []}, SERVER)
    error = caught.value
    assert (error.tool, error.problems) == ("recall", ("unknown to this server @ $.tag_groups",))
    assert str(error) == f"recall: unknown to this server @ $.tag_groups (the server calls itself {SERVER})"


def test_every_unknown_argument_is_named_even_by_a_server_without_a_name() -> None:
    """Ours: all at once, in the order of the call."""
    with pytest.raises(ArgumentsError, match=r"\(the server calls itself unnamed\)$") as caught:
        listed("retain", {"properties": {"content": {}}}).judge({"content": "c", "tags": [], "strategy": "x"}, "")
    assert [problem[-10:] for problem in caught.value.problems] == ["r @ $.tags", "$.strategy"]


@pytest.mark.parametrize(
    ("rule", "problem"),
    [
        ({"type": "integer"}, "breaks 'type' @ $.query"),
        ({"maxLength": 1}, "breaks 'maxLength' @ $.query"),
        ({"enum": ["x"]}, "breaks 'enum' @ $.query"),
        ({"$ref": "#/$defs/q"}, "breaks 'type' @ $.query"),
    ],
)
def test_what_the_server_would_refuse_is_refused_here(rule: Any, problem: str) -> None:
    """Ours: nothing is sent, and the value is not quoted."""
    schema = {"properties": {"query": rule}, "$defs": {"q": {"type": "null"}}}
    with pytest.raises(ArgumentsError) as caught:
        listed("recall", schema).judge({"query": "s3cret"}, SERVER)
    assert caught.value.problems == (problem,)
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize(
    "rule",
    [
        {"type": "objekt"},
        {"type": 5},
        {"$ref": "#"},
        {"$ref": "#/$defs/missing"},
        {"$ref": "https://evil.example/schema.json"},
        {"$ref": "file:///etc/passwd"},
        {"$dynamicRef": "#self", "$dynamicAnchor": "self"},
        {"properties": {"query": {"maxLength": "long"}}},
        {"allOf": 5},
    ],
)
def test_a_schema_that_cannot_judge_refuses_and_opens_no_connection(rule: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """MCP 2026-07-28, Overview, "`$ref` Resolution"; conformance suite, json-schema-ref-no-deref."""
    monkeypatch.setattr(socket, "socket", lambda *_, **__: pytest.fail("a connection was opened"))
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: pytest.fail("a name was resolved"))
    schema = {"properties": {"query": True}, **rule}
    with pytest.raises(ArgumentsError, match=r"cannot be judged by the schema \(\w+\) @ \$"):
        listed("recall", schema).judge({"query": "q"}, SERVER)


def test_no_more_problems_are_told_than_help() -> None:
    """Ours: five, however large the arguments are."""
    schema = {"additionalProperties": {"type": "null"}}
    assert len(validation.violations({str(n): n for n in range(99)}, schema, trusted=True)) == 5


def unfolding(depth: int) -> dict[str, Any]:
    """Return a schema that doubles with each level, by reference."""
    levels = {f"n{n}": {"allOf": [{"$ref": f"#/$defs/n{n + 1}"}] * 2} for n in range(depth)}
    return {"$defs": levels | {f"n{depth}": {"type": "object"}}, "$ref": "#/$defs/n0"}


ENDLESS: dict[str, Any] = {
    "doubling": unfolding(60),
    "doubling without end": {"allOf": [{"$ref": "#"}] * 2},
    "itself": {"$ref": "#"},
    "itself, by turns": {"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"},
    "any of very many": {"anyOf": [{"anyOf": [{"anyOf": [{"not": {}}] * 100}] * 100}] * 100},
    "the same long list": {"allOf": [{"enum": [*range(9000), {"query": "q"}]}] * 500},
}


@pytest.mark.parametrize("rule", ENDLESS.values(), ids=ENDLESS)
def test_a_schema_without_end_is_given_up(rule: dict[str, Any]) -> None:
    """MCP 2026-07-28, Tools, "Security Considerations": bound the depth and the time of validation."""
    whole = {"properties": {"query": True}, **rule}
    for trusted in (True, False):
        assert validation.violations({"query": "q"}, whole, trusted=trusted) in (
            ["cannot be judged by the schema (TooMuchWork) @ $"],
            ["cannot be judged by the schema (RecursionError) @ $"],
        )
    with pytest.raises(AnswerError, match="cannot be judged"):
        answers.conform({"query": "q"}, whole)
    if len(json.dumps(whole)) < 2**17:
        with pytest.raises(ArgumentsError, match="cannot be judged"):
            listed("recall", whole).judge({"query": "q"}, SERVER)


CATASTROPHIC = "^(a|a)*$"
NOT_A = "a" * 60 + "!"


@pytest.mark.parametrize(
    "rule",
    [
        {"properties": {"query": {"pattern": CATASTROPHIC}}},
        {"properties": {"query": {"pattern": "("}}},
        {"patternProperties": {CATASTROPHIC: False}},
        {"patternProperties": {CATASTROPHIC: {}}, "additionalProperties": False},
        {"propertyNames": {"pattern": CATASTROPHIC}},
        {"allOf": [{"patternProperties": {CATASTROPHIC: {}}}], "unevaluatedProperties": False},
        {"properties": {"query": True}, "dependentSchemas": {"query": {"patternProperties": {CATASTROPHIC: False}}}},
        {"properties": {"tags": {"uniqueItems": True}}},
        {"properties": {"tags": {"prefixItems": [{}], "unevaluatedItems": False}}},
    ],
)
def test_a_pattern_of_the_servers_is_not_run(rule: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: a regular expression may take longer than anybody waits; the server judges by it itself."""
    monkeypatch.setattr(re, "search", lambda *_: pytest.fail("a pattern was run"))
    whole = {"properties": {"query": True, "tags": True, NOT_A: True}, **rule}
    tags = [{"n": n} for n in range(3)]
    assert validation.violations({"query": NOT_A, "tags": tags, NOT_A: 1}, whole, trusted=False) == []


def test_a_pattern_of_the_callers_own_is_run() -> None:
    """Ours: a `response_schema` is the caller's, patterns and all."""
    schema = {"properties": {"x": {"pattern": "^a"}, "y": {"uniqueItems": True}}}
    assert validation.violations({"x": "b", "y": [1, 1]}, schema, trusted=True) == [
        "breaks 'pattern' @ $.x",
        "breaks 'uniqueItems' @ $.y",
    ]


@pytest.mark.parametrize("trusted", [True, False])
def test_only_keys_that_the_schema_names_are_named(trusted: bool) -> None:
    """Ours: the names of metadata, and of what a model answers, are content."""
    schema = {
        "properties": {"metadata": {"additionalProperties": {"type": "string"}}, "a": {"$ref": "#/$defs/a"}},
        "$defs": {"a": {"items": {"properties": {"b": {"type": "null"}}}}},
    }
    value = {"metadata": {"s3cret": 1}, "a": [{"b": 1, "s3cret": 2}]}
    assert validation.violations(value, schema, trusted=trusted) == [
        "breaks 'type' @ $.metadata[...]",
        "breaks 'type' @ $.a[...].b",
    ]


def test_a_call_of_usual_size_is_judged_to_its_end() -> None:
    """Hindsight 0.4.14 to 1.1.0: no schema of a real server comes near the bound."""
    schema = ours("recall") | {"additionalProperties": False}
    tags = [f"tag:{n}" for n in range(10_000)]
    assert validation.violations({"query": "q", "tags": tags}, schema, trusted=False) == []
    broken = validation.violations({"query": "q", "tags": [*tags, 1]}, schema, trusted=False)
    assert broken == ["breaks 'anyOf' @ $.tags"]


def test_a_schema_beyond_all_reason_is_not_read() -> None:
    """Hindsight 1.1.0: the longest has 4 kB."""
    with pytest.raises(ProtocolError, match=r"lists recall with an inputSchema of 20000\d\d bytes, more than 131072"):
        listed("recall", {"description": "x" * 2_000_000})


@pytest.mark.parametrize("depth", [200, 400, 5000])
def test_a_response_schema_that_is_nested_too_deeply_is_refused_or_used(depth: int) -> None:
    """Ours: a caller's own schema never ends in an exception of a library."""
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(depth):
        schema = {"type": "object", "properties": {"x": schema}}
    try:
        plain = arguments.response_schema(schema)
    except ArgumentsError as error:
        assert "nest" in str(error)  # noqa: PT017 - either is right, by the depth of the caller's stack
    else:
        answers.conform({"x": {}}, plain)


@pytest.mark.parametrize("text", ["[]", "null", '"x"', "{", "", '{"a":' * 99_999, '{"a":1e999}', '{"a":"\\ud83d"}'])
def test_an_input_schema_that_is_no_object_is_a_protocol_error(text: str) -> None:
    """MCP, Tools: inputSchema is a JSON Schema object."""
    with pytest.raises(ProtocolError, match="lists recall with an inputSchema"):
        ServerSchema("recall", Raw(text.encode()))


@pytest.mark.parametrize("properties", [None, [], "query", 5])
def test_a_schema_without_usable_properties_knows_no_argument(properties: Any) -> None:
    """Ours: what is not listed would be dropped."""
    schema = listed("recall", {"properties": properties})
    assert schema.names == frozenset()
    with pytest.raises(ArgumentsError, match=r"unknown to this server @ \$\.query"):
        schema.judge({"query": "q"}, SERVER)


def test_a_number_of_thousands_of_digits_in_a_schema_harms_nothing() -> None:
    """CPython refuses to write integers of more than 4300 digits."""
    schema = ServerSchema("recall", Raw(b'{"properties":{"query":{"maximum":' + b"9" * 4000 + b"}}}"))
    schema.judge({"query": "q"}, SERVER)
    with pytest.raises(ProtocolError):
        ServerSchema("recall", Raw(b'{"maximum":' + b"9" * 5000 + b"}"))
