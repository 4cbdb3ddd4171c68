"""The schemas describe what real servers send and take, from 0.4.14 to 1.1.0.

`captured/` holds real traffic of 0.4.14, 0.4.22, 0.5.6, 0.7.2, 0.9.2 and 1.1.0: of each tool and version, one answer of
every shape seen (long lists and texts cut), the in-band errors, and the six inputSchemas without their prose.
"""

import json
import re
from collections.abc import Iterator
from datetime import datetime
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import attrs
import drawn
import msgspec
import oracle
import pytest

from codegen.shape import fingerprint
from hindsight_bank._generated import INPUT_SHA256, PUBLIC
from hindsight_bank.shown import Shown

CAPTURED = Path(__file__).parent / "captured"


def captured(name: str) -> Any:
    return json.loads((CAPTURED / f"{name}.json").read_bytes())


ANSWERS = captured("answers")
ERRORS = captured("errors")
INPUTS = captured("tools")
VERSIONS = tuple(INPUTS)
PINNED = oracle.load("PINNED.json")["server"]

each_answer = pytest.mark.parametrize("case", [pytest.param(case, id=case["capture"]) for case in ANSWERS])
each_tool = pytest.mark.parametrize("tool", oracle.TOOLS)


def decode(tool: str, answer: Any) -> Any:
    """Decode an answer as the client does."""
    return finished(msgspec.json.decode(json.dumps(answer), type=types(tool).Answer))


def finished(built: Any) -> Any:
    """Return the public object, which a wire twin still has to build."""
    return built if isinstance(built, Shown) else built.build()


def types(tool: str) -> Any:
    return import_module(f"hindsight_bank._generated.{tool}")


def says(built: Any, wire: Any) -> bool:
    """Say whether a built value says what the wire said, with null and absence read as empty."""
    if attrs.has(type(built)):
        names = (field.name for field in attrs.fields(type(built)))
        return all(
            says(getattr(built, name), wire.get(name.replace("mental_models", "mental-models"))) for name in names
        )
    if isinstance(built, tuple):
        return len(built) == len(wire or ()) and all(map(says, built, wire or ()))
    if isinstance(built, dict):
        return built.keys() == (wire or {}).keys() and all(says(built[key], wire[key]) for key in built)
    if isinstance(built, list):
        return bool(built == wire)
    if isinstance(built, datetime):
        return built.utcoffset() is not None and built == datetime.fromisoformat(wire)
    return type(built) is type(wire) and bool(built == wire)


@each_answer
def test_every_captured_answer_decodes_to_what_it_says(case: dict[str, Any]) -> None:
    """Hindsight, of the version in the capture's name."""
    assert oracle.accepts_answer(case["tool"], json.dumps(case["answer"]).encode())
    assert says(decode(case["tool"], case["answer"]), case["answer"])


@each_answer
def test_no_captured_answer_has_a_key_that_the_schemas_do_not_mention(case: dict[str, Any]) -> None:
    """Ours: unknown keys are ignored at run time and noticed here."""
    assert oracle.unknown(case["tool"], case["answer"]) == []


def test_a_key_that_the_schemas_do_not_mention_is_named() -> None:
    """Ours: the test above can fail."""
    case = next(case for case in ANSWERS if case["tool"] == "recall" and case["answer"]["results"])
    fact = case["answer"]["results"][0] | {"novelty": 1}
    (fault,) = oracle.unknown("recall", case["answer"] | {"results": [fact]})
    assert fault.startswith("$.results[0]: ")
    assert "'novelty'" in fault


@pytest.mark.parametrize("case", [pytest.param(case, id=case["capture"]) for case in ERRORS])
def test_no_error_that_a_tool_sends_in_band_decodes_as_an_answer(case: dict[str, Any]) -> None:
    """Hindsight, of the version in the capture's name."""
    assert not oracle.accepts_answer(case["tool"], json.dumps(case["answer"]).encode())
    with pytest.raises(msgspec.ValidationError):
        decode(case["tool"], case["answer"])


@each_answer
def test_no_answer_decodes_once_it_carries_an_error(case: dict[str, Any]) -> None:
    """Hindsight 0.4.14 to 1.1.0: no success has a top-level `error`."""
    with pytest.raises(msgspec.ValidationError, match="error"):
        decode(case["tool"], case["answer"] | {"error": "the database is down"})


@each_tool
def test_every_version_is_represented(tool: str) -> None:
    """Ours: the table of required properties below needs it."""
    assert {case["version"] for case in ANSWERS if case["tool"] == tool} == set(VERSIONS)


@cache
def objects() -> dict[tuple[str, str], list[dict[str, Any]]]:
    """Collect the captured objects by class and version."""
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for case in ANSWERS:
        path = f"tools/{case['tool']}.json"
        for title, value in titled(case["answer"], oracle.load(path)["outputSchema"], path):
            found.setdefault((title, case["version"]), []).append(value)
    return found


def titled(value: Any, schema: Any, path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the objects in a value that are classes, with their titles."""
    if value is None or schema is True:
        return
    if "$ref" in schema or "anyOf" in schema:
        schema, path = drawn.resolved(schema.get("$ref") or schema["anyOf"][0]["$ref"], path)
    if "properties" in schema:
        yield schema["title"], value
        for name in value.keys() & schema["properties"].keys():
            yield from titled(value[name], schema["properties"][name], path)
    elif isinstance(value, list):
        for each in value:
            yield from titled(each, schema["items"], path)
    elif isinstance(value, dict):
        for each in value.values():
            yield from titled(each, schema["additionalProperties"], path)


PATHS = {file.stem: file.relative_to(oracle.SCHEMAS).as_posix() for file in oracle.SCHEMAS.glob("t*/*.json")}
CLASSES = {
    schema["title"]: schema
    for path in PATHS.values()
    for root in [oracle.load(path).get("outputSchema", oracle.load(path))]
    for schema in [root, *root.get("$defs", {}).values()]
}
NEVER_CAPTURED = "EntityObservation"
"""No server that ran had observations about entities: from the source of 0.4.14 and 1.1.0."""

OPEN = "BasedOn"
"""A map by fact type on the server's side: any key may be missing, although none was."""

NULLABLE_IN_THE_SOURCE = {
    ("Memory", "mentioned_at"),
    ("MemoryItem", "mentioned_at"),
    ("SourceMemory", "context"),
    ("SourceMemory", "mentioned_at"),
    ("EntityObservation", "mentioned_at"),
    ("ReflectResult", "usage"),
    ("ToolCall", "reason"),
}

each_class = pytest.mark.parametrize("title", sorted(CLASSES))


def seen(title: str) -> list[dict[str, Any]]:
    """Return the captured objects of a class, of all versions."""
    return [each for (name, _), found in objects().items() if name == title for each in found]


@each_class
def test_a_property_is_required_if_and_only_if_every_version_sends_it(title: str) -> None:
    """Hindsight 0.4.14 to 1.1.0, as captured."""
    properties, required = CLASSES[title]["properties"], set(CLASSES[title].get("required", ()))
    always = {name for name in properties if all(name in each for each in seen(title))}
    assert bool(seen(title)) is (title != NEVER_CAPTURED)
    assert required == (set() if title == OPEN else always)


@each_class
def test_a_property_is_nullable_if_and_only_if_it_may_be_null_or_absent(title: str) -> None:
    """Hindsight 0.4.14 to 1.1.0, as captured, and its source where named above. Ours: null lists are empty."""
    for name, schema in CLASSES[title]["properties"].items():
        plausible = (
            any(each.get(name) is None for each in seen(title))
            or "default" in schema
            or (title, name) in NULLABLE_IN_THE_SOURCE
        )
        nullable = "null" in schema.get("type", ()) or {"type": "null"} in schema.get("anyOf", ())
        assert nullable is plausible, name


@each_class
def test_lists_and_metadata_are_never_none_if_every_version_sends_them(title: str) -> None:
    """Ours: `results` and `items` null are broken answers, other lists may be null; what came later may be missing."""
    properties = CLASSES[title]["properties"]
    lists = {name for name, schema in properties.items() if "array" in schema.get("type", ())}
    late = {name for name, schema in properties.items() if "Since " in schema.get("description", "")}
    empty = (lists - {"results", "items"} | properties.keys() & {"metadata"}) - late
    assert {name for name, schema in properties.items() if "default" in schema} == empty


@each_class
@pytest.mark.parametrize("absent", [False, True])
def test_null_and_absence_read_as_empty_where_a_default_says_so(title: str, *, absent: bool) -> None:
    """Ours: schemas/README.md."""
    schema, module = CLASSES[title], types(PUBLIC[title])
    empty = {name: each["default"] for name, each in schema["properties"].items() if "default" in each}
    wire = drawn.full(schema, PATHS[PUBLIC[title]]) | dict.fromkeys(empty)
    if absent:
        wire = {name: wire[name] for name in wire if name not in empty or name in schema.get("required", ())}
    built = finished(msgspec.convert(wire, getattr(module, f"_{title}", getattr(module, title))))
    read = {name: getattr(built, name.replace("-", "_")) for name in empty}
    assert read == {name: () if default == [] else {} for name, default in empty.items()}


@each_class
def test_a_property_that_the_oldest_version_never_sends_says_since_when_it_is_sent(title: str) -> None:
    """Hindsight 0.4.14, as captured."""
    oldest = objects().get((title, VERSIONS[0]), [])
    for name, schema in CLASSES[title]["properties"].items():
        if oldest and name != "error" and not any(name in each for each in oldest):
            assert "Since " in schema["description"], name


def test_every_class_is_public_and_nothing_else() -> None:
    """schemas/: the titles are the public names."""
    assert {name for name, module in PUBLIC.items() if "." not in module} == set(CLASSES)
    assert all(attrs.has(getattr(types(module), name)) for name, module in PUBLIC.items())


@each_tool
def test_error_is_the_last_property_and_null(tool: str) -> None:
    """Ours: schemas/README.md."""
    properties = oracle.load(f"tools/{tool}.json")["outputSchema"]["properties"]
    assert list(properties.items())[-1] == ("error", {"type": "null"})


@each_tool
def test_the_input_schema_is_the_one_that_the_pinned_server_serves(tool: str) -> None:
    """Hindsight, tools/list of the version that PINNED.json names."""
    ours, theirs = oracle.load(f"tools/{tool}.json")["inputSchema"], INPUTS[PINNED][tool]
    assert INPUT_SHA256[tool] == fingerprint(ours) == fingerprint(theirs)
    assert list(ours["properties"]) == list(theirs["properties"])


@each_tool
@pytest.mark.parametrize("version", VERSIONS)
def test_an_argument_says_since_when_it_is_known(tool: str, version: str) -> None:
    """Hindsight, tools/list of that version; older servers drop what they do not know."""
    known = INPUTS[version][tool]["properties"].keys()
    ours = oracle.load(f"tools/{tool}.json")["inputSchema"]["properties"]
    assert known - ours.keys() == set()
    for name, schema in ours.items():
        since = re.search(r"Since ([\d.]+)[.;]", schema["description"])
        assert (name in known) is (not since or number(since[1]) <= number(version)), name


def number(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


@each_tool
def test_prose_does_not_count_in_the_fingerprint(tool: str) -> None:
    """Ours: arguments named title or description would count."""
    schema = INPUTS[PINNED][tool]
    assert fingerprint(schema | {"title": "x", "description": "y"}) == fingerprint(schema)
    assert fingerprint({"properties": schema["properties"] | {"title": {"type": "string"}}}) != fingerprint(schema)
    assert fingerprint({"properties": {"title": {}}}) != fingerprint({"properties": {}})
