"""Values that the schemas accept, or nearly: what the decoder and the oracle are tried on."""

import json
import re
from collections.abc import Iterator
from copy import deepcopy
from datetime import datetime
from functools import cache
from posixpath import normpath
from typing import Any

import oracle
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

TEXTS = st.text(max_size=8)
INTEGERS = st.integers() | st.sampled_from((2**63, 2**64, -(2**70), 10**300))
NUMBERS = INTEGERS | st.floats(allow_nan=False, allow_infinity=False)
ANYTHING = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=4,
)
OFFSETS = ("Z", "z", "+00:00", "-00:00", "+23:59", "-2359", "+0530")
MOMENTS = (
    "2025-03-02T10:00:00",
    "0001-01-01 00:00:00.1",
    "9999-12-31t23:59:59.999999",
    "2024-02-29T23:59:59.1234567890",
)
TIMES = st.sampled_from([f"{moment}{offset}" for moment in MOMENTS for offset in OFFSETS])
SCALARS = {
    "string": TEXTS,
    "integer": INTEGERS,
    "number": NUMBERS,
    "boolean": st.booleans(),
    "null": st.none(),
}

WRONG: tuple[Any, ...] = (None, True, 0, 2.5, "", "1", "null", "accepted", [], {}, [None], [[]], {"a": None}, {"a": 1})
HARD_TIMES = (
    *("2025-01-01", "2025-01-01T00:00:00", "2025-02-29T00:00:00Z", "2025-01-01T00:00:00.Z", "0000-01-01T00:00:00Z"),
    *("2025-01-01T24:00:00Z", "2025-01-01T00:00:60Z", "2025-01-01T00:00:00+24:00", "2025-01-01T00:00:00+01"),
    *("9999-12-31T23:59:59.9999995Z", "2025-01-01t00:00:00-0130", "2025-01-01T00:00Z", "2025-01-01T00:00:00 Z", ""),
)
RAW = ("NaN", "-Infinity", "1e999", "1.0", "1E2", "-0.0", "9" * 400, "9" * 5000, "01", '"\\ud800"', '"\\u00e9"')
UNKNOWN = "a key of tomorrow"


@st.composite
def times(draw: DrawFn) -> str:
    """Draw a time in any form that RFC 3339 allows and the decoder takes, or one with a letter typed over."""
    moment = draw(st.datetimes(max_value=datetime(9999, 12, 31))).isoformat()  # noqa: DTZ001 - the offset comes below
    fraction = draw(st.just("") | st.from_regex(r"\.[0-9]{1,9}", fullmatch=True))
    text = f"{moment[:10]}{draw(st.sampled_from('Tt '))}{moment[11:19]}{fraction}{draw(st.sampled_from(OFFSETS))}"
    place = draw(st.integers(0, 2 * len(text)))
    return text[:place] + draw(st.sampled_from("0123456789T:+-. z")) + text[place + 1 :] if place < len(text) else text


@cache
def answer(tool: str) -> SearchStrategy[Any]:
    """Return a strategy for answers of a tool."""
    return _valid(oracle.load(oracle.path(tool))["outputSchema"], oracle.path(tool))


@cache
def call(tool: str) -> SearchStrategy[Any]:
    """Return a strategy for arguments that a tool takes, our rules included; exclusive ones may meet."""
    return _valid(_called(tool), "")


def full_answer(tool: str) -> Any:
    """Return an answer of a tool with every property."""
    return full(oracle.load(oracle.path(tool))["outputSchema"], oracle.path(tool))


def full_call(tool: str) -> Any:
    """Return arguments of every name that a tool knows; not a valid call if some exclude each other."""
    return full(_called(tool), "")


def _called(tool: str) -> dict[str, Any]:
    schema: dict[str, Any] = oracle.load(oracle.path(tool))["inputSchema"]
    rules = oracle.rules(tool).get("properties", {})
    stated = {name: each.get("anyOf", [each])[0] for name, each in schema["properties"].items()}
    return schema | {"properties": {name: each | rules.get(name, {}) for name, each in stated.items()}}


def _valid(schema: Any, path: str) -> SearchStrategy[Any]:
    if schema is True:
        return ANYTHING
    if "$ref" in schema:
        return _referred(schema["$ref"], path)
    if "anyOf" in schema:
        return st.one_of([_valid(each, path) for each in schema["anyOf"]])
    if "const" in schema or "enum" in schema:
        return st.sampled_from(schema.get("enum") or [schema["const"]])
    if isinstance(schema["type"], list):
        return st.one_of([_valid(schema | {"type": kind}, path) for kind in schema["type"]])
    return _simple(schema, path)


def _simple(schema: dict[str, Any], path: str) -> SearchStrategy[Any]:
    if schema["type"] == "array":
        return st.lists(_valid(schema["items"], path), max_size=3)
    if "properties" in schema:
        properties = {name: _valid(each, path) for name, each in schema["properties"].items()}
        required = {name: properties.pop(name) for name in schema.get("required", ())}
        return st.fixed_dictionaries(required, optional=properties)
    if schema["type"] == "object":
        return st.dictionaries(TEXTS, _valid(schema["additionalProperties"], path), max_size=3)
    if "pattern" in schema:
        return TEXTS.filter(re.compile(schema["pattern"]).search)
    if "minimum" in schema:
        return st.integers(min_value=schema["minimum"])
    return TIMES if schema.get("format") == "date-time" else SCALARS[schema["type"]]


@cache
def _referred(reference: str, path: str) -> SearchStrategy[Any]:
    return _valid(*resolved(reference, path))


def resolved(reference: str, path: str) -> tuple[Any, str]:
    """Return the schema that a $ref in a file names, and its file."""
    file, _, pointer = reference.partition("#")
    target = normpath(f"{path}/../{file}") if file else path
    document = oracle.load(target)
    schema = document.get("outputSchema", document)
    return (schema["$defs"][pointer.rpartition("/")[2]] if pointer else schema), target


def full(schema: Any, path: str) -> Any:
    """Return a value with every property that a piece of a schema file mentions."""
    if schema is True:
        return {"any": 1}
    if "$ref" in schema or "anyOf" in schema:
        return full(*resolved(schema.get("$ref") or schema["anyOf"][0]["$ref"], path))
    if "properties" in schema:
        return {name: full(each, path) for name, each in schema["properties"].items()}
    kind = schema["type"] if isinstance(schema["type"], str) else schema["type"][0]
    if kind == "array":
        return [full(schema["items"], path)]
    if kind == "object":
        return {"key": full(schema["additionalProperties"], path)}
    text = "2025-01-01T00:00:00Z" if "format" in schema else schema.get("const") or schema.get("enum", ["text"])[0]
    return {"string": text, "integer": 1, "number": 0.5, "boolean": True, "null": None}[kind]


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every container and key in a value, but nothing below a key that no schema knows."""
    keys = value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        if key != UNKNOWN:
            yield value, key
            yield from _places(value[key])


def _near(value: Any) -> tuple[Any, ...]:
    """Return values that a careless judge takes for this one."""
    if isinstance(value, bool):
        return (int(value), json.dumps(value))
    if isinstance(value, int | float):
        return (0, -1, 1.0, True, 10**400, json.dumps(value))
    if isinstance(value, str):
        return HARD_TIMES if value[:4].isdigit() else (f"{value}x", None, [value])
    return (None, "", [value], {"a": value})


def each_fault(value: Any) -> Iterator[Any]:
    """Yield a value with one thing wrong, or nearly: every thing in every place."""
    root = [deepcopy(value)]
    for container, key in list(_places(root)):
        right = container[key]
        for wrong in (*_near(right), None, 0, "1", [], {}):
            container[key] = wrong
            yield root[0]
        container[key] = right
        if isinstance(container, dict):
            del container[key]
            yield root[0]
            container[key] = right


@st.composite
def broken(draw: DrawFn, whole: SearchStrategy[Any], *tokens: str) -> Any:
    """Draw a value and break it in a place or two, mostly so that it no longer fits."""
    root = [deepcopy(draw(whole))]
    for _ in range(draw(st.integers(1, 2))):
        container, key = draw(st.sampled_from(list(_places(root))))
        match draw(st.sampled_from(("drop", "add", "near", "near", "near", "wrong"))):
            case "drop" if isinstance(container, dict):
                del container[key]
            case "add" if isinstance(container[key], dict):
                container[key][UNKNOWN] = "x"
            case "near":
                container[key] = deepcopy(draw(st.sampled_from(_near(container[key]))))
            case _:
                container[key] = deepcopy(draw(st.sampled_from((*WRONG, *tokens))))
    return root[0]


@st.composite
def payloads(draw: DrawFn, tool: str) -> bytes:
    """Draw JSON text that is an answer of the tool, or nearly one."""
    kind = draw(st.sampled_from(("valid", "broken", "broken", "cut", "typed over")))
    value = draw(broken(answer(tool), *map(_placeholder, RAW)) if kind == "broken" else answer(tool))
    text = json.dumps(value, ensure_ascii=draw(st.booleans()), indent=draw(st.sampled_from((None, 1))))
    for token in RAW:
        text = text.replace(json.dumps(_placeholder(token)), token)
    payload = text.encode()
    if kind in {"cut", "typed over"}:
        place = draw(st.integers(0, len(payload) - 1))
        over = b"" if kind == "cut" else draw(st.sampled_from('\\"{}[],:0e.-tn \n\0')).encode() + payload[place + 1 :]
        payload = payload[:place] + over
    return payload


def _placeholder(token: str) -> str:
    """Return what stands for a token that json.dumps cannot write."""
    return f"<{token}>"
