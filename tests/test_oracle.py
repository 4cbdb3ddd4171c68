"""The decoder and the oracle, two readings of schemas/ that share no code, accept exactly the same."""

import json
import os
from collections import Counter
from collections.abc import Callable, Iterator
from copy import deepcopy
from datetime import datetime
from functools import cache
from importlib import import_module
from posixpath import normpath
from typing import Any

import msgspec
import oracle
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from hindsight_bank._generated.reading import Timestamp

Accepts = Callable[[str, bytes], bool]

FUZZ = os.environ.get("FUZZ_EXAMPLES")
SETTINGS = settings(
    max_examples=int(FUZZ or 300),
    derandomize=not FUZZ,
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
BRIEF = settings(SETTINGS, phases=[Phase.generate], report_multiple_bugs=False)

TEXTS = st.text(max_size=8)
INTEGERS = st.integers() | st.sampled_from((2**63, 2**64, -(2**70), 10**300))
NUMBERS = INTEGERS | st.floats(allow_nan=False, allow_infinity=False)
ANYTHING = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=4,
)
SCALARS = {
    "string": TEXTS,
    "integer": INTEGERS,
    "number": NUMBERS,
    "boolean": st.booleans(),
    "null": st.none(),
}
RAW = ("NaN", "-Infinity", "1e999", "1.0", "1E2", "-0.0", "9" * 400, "9" * 5000, "01", '"\\ud800"', '"\\u00e9"')
WRONG: tuple[Any, ...] = (
    *(None, True, 0, -1, 1.0, 2.5, 10**400, "", "1", "null", "true", [], {}, [None], [[]], {"a": None}, {"a": 1}),
    *("accepted", "2025-01-01", "2025-01-01T00:00:00", "2025-02-29T00:00:00Z", "2025-01-01T00:00:00.Z"),
    *("0000-01-01T00:00:00Z", "2025-01-01T24:00:00Z", "2025-01-01T00:00:60Z", "2025-01-01T00:00:00+24:00"),
    *("9999-12-31T23:59:59.9999995Z", "2025-01-01T00:00:00+01", "2025-01-01t00:00:00-0130"),
)
UNKNOWN = "a key of tomorrow"


@st.composite
def timestamps(draw: DrawFn) -> str:
    """Draw a time in any form that RFC 3339 allows, and the decoder takes."""
    moment = draw(st.datetimes(max_value=datetime(9999, 12, 31))).isoformat()  # noqa: DTZ001 - the offset comes below
    fraction = draw(st.just("") | st.from_regex(r"\.[0-9]{1,9}", fullmatch=True))
    offset = draw(st.sampled_from(("Z", "z", "+00:00", "-00:00", "+23:59", "-2359", "+0530")))
    return f"{moment[:10]}{draw(st.sampled_from('Tt '))}{moment[11:19]}{fraction}{offset}"


def valid(schema: Any, path: str) -> SearchStrategy[Any]:
    """Return a strategy for the values that a piece of a schema file accepts."""
    if schema is True:
        return ANYTHING
    if "$ref" in schema:
        return referred(schema["$ref"], path)
    if "anyOf" in schema:
        return st.one_of([valid(each, path) for each in schema["anyOf"]])
    if "const" in schema or "enum" in schema:
        return st.sampled_from(schema.get("enum") or [schema["const"]])
    if isinstance(schema["type"], list):
        return st.one_of([valid(schema | {"type": kind}, path) for kind in schema["type"]])
    return simple(schema, path)


def simple(schema: dict[str, Any], path: str) -> SearchStrategy[Any]:
    """Return a strategy for values of one type."""
    if schema["type"] == "array":
        return st.lists(valid(schema["items"], path), max_size=3)
    if "properties" in schema:
        properties = {name: valid(each, path) for name, each in schema["properties"].items()}
        required = {name: properties.pop(name) for name in schema.get("required", ())}
        return st.fixed_dictionaries(required, optional=properties)
    if schema["type"] == "object":
        return st.dictionaries(TEXTS, valid(schema["additionalProperties"], path), max_size=3)
    if "minimum" in schema:
        return st.integers(min_value=schema["minimum"])
    return timestamps() if schema.get("format") == "date-time" else SCALARS[schema["type"]]


@cache
def referred(reference: str, path: str) -> SearchStrategy[Any]:
    """Return a strategy for the values that a $ref in a file accepts."""
    file, _, pointer = reference.partition("#")
    target = normpath(f"{path}/../{file}") if file else path
    document = oracle.load(target)
    schema = document.get("outputSchema", document)
    return valid(schema["$defs"][pointer.rpartition("/")[2]] if pointer else schema, target)


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every container and key in a value, but nothing below a key that no schema knows."""
    keys = value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        if key != UNKNOWN:
            yield value, key
            yield from places(value[key])


@st.composite
def broken(draw: DrawFn, whole: SearchStrategy[Any], wrong: tuple[Any, ...]) -> Any:
    """Draw a value and break it in a place or two, mostly so that it no longer fits."""
    root = [deepcopy(draw(whole))]
    for _ in range(draw(st.integers(1, 2))):
        container, key = draw(st.sampled_from(list(places(root))))
        match draw(st.sampled_from(("drop", "add", "quote", "replace", "replace"))):
            case "drop" if isinstance(container, dict):
                del container[key]
            case "add" if isinstance(container[key], dict):
                container[key][UNKNOWN] = "x"
            case "quote":
                container[key] = json.dumps(container[key])
            case _:
                container[key] = deepcopy(draw(st.sampled_from(wrong)))
    return root[0]


@st.composite
def payloads(draw: DrawFn, tool: str) -> bytes:
    """Draw JSON text that is an answer of the tool, or nearly one."""
    whole = referred(f"{tool}.json", "tools/any.json")
    kind = draw(st.sampled_from(("valid", "broken", "broken", "cut", "typed over")))
    value = draw(broken(whole, (*WRONG, *map(raw, RAW))) if kind == "broken" else whole)
    text = json.dumps(value, ensure_ascii=draw(st.booleans()), indent=draw(st.sampled_from((None, 1))))
    for token in RAW:
        text = text.replace(json.dumps(raw(token)), token)
    payload = text.encode()
    if kind in {"cut", "typed over"}:
        place = draw(st.integers(0, len(payload) - 1))
        over = b"" if kind == "cut" else draw(st.sampled_from('\\"{}[],:0e.-tn \n\0')).encode() + payload[place + 1 :]
        payload = payload[:place] + over
    return payload


def raw(token: str) -> str:
    """Return the placeholder of a token that json.dumps cannot write."""
    return f"<{token}>"


def decodes(tool: str, payload: bytes, *, strict: bool = True) -> bool:
    """Say whether the generated types accept JSON text as an answer of the tool."""
    answer = import_module(f"hindsight_bank._generated.{tool}").Answer
    try:
        built = msgspec.json.decode(payload, type=answer, strict=strict)
    except (msgspec.DecodeError, RecursionError):
        return False
    return not isinstance(built, msgspec.Struct) or bool(built.build())  # type: ignore[attr-defined]


def converts(tool: str, arguments: dict[str, Any]) -> bool:
    """Say whether the generated types and tables accept a call of the tool."""
    types = import_module(f"hindsight_bank._generated.{tool}")
    try:
        msgspec.convert(arguments, types.Arguments)
        for name in types.TIMES:
            msgspec.convert(arguments.get(name, "2025-01-01T00:00:00Z"), Timestamp)
    except msgspec.ValidationError:
        return False
    unknown = arguments.keys() - types.Arguments.__annotations__.keys()
    return not unknown and not any(arguments.keys() >= set(names) for names in types.EXCLUSIVE)


def agreement(tool: str, accepts: Accepts, how: settings = SETTINGS) -> Counter[bool]:
    """Compare two judges of answers on drawn payloads; return how many both accepted and refused."""
    verdicts: Counter[bool] = Counter()

    @how
    @given(payloads(tool))
    def same(payload: bytes) -> None:
        verdict = oracle.accepts_answer(tool, payload)
        assert accepts(tool, payload) is verdict, payload
        verdicts[verdict] += 1

    same()
    return verdicts


@pytest.mark.parametrize("tool", oracle.TOOLS)
def test_decoder_and_oracle_accept_the_same_answers(tool: str) -> None:
    """Authority: schemas/, as jsonschema reads them."""
    verdicts = agreement(tool, decodes)
    assert min(verdicts[True], verdicts[False]) > SETTINGS.max_examples // 10, verdicts


@pytest.mark.parametrize("tool", oracle.TOOLS)
def test_valid_answers_are_accepted(tool: str) -> None:
    """Authority: schemas/, as this file's strategies read them."""

    @settings(SETTINGS, max_examples=SETTINGS.max_examples // 6)
    @given(referred(f"{tool}.json", "tools/any.json"))
    def accepted(value: Any) -> None:
        assert decodes(tool, json.dumps(value).encode())

    accepted()


def test_a_decoder_that_coerces_is_caught() -> None:
    """Authority: ours; a comparison that cannot fail proves nothing."""
    with pytest.raises(AssertionError):
        agreement("get_bank", lambda tool, payload: decodes(tool, payload, strict=False), BRIEF)


def test_a_decoder_that_takes_everything_is_caught() -> None:
    """Authority: ours; a comparison that cannot fail proves nothing."""
    with pytest.raises(AssertionError):
        agreement("retain", lambda _tool, _payload: True, BRIEF)


@cache
def call(tool: str) -> SearchStrategy[dict[str, Any]]:
    """Return a strategy for arguments that the tool takes, our rules included; exclusive ones may meet."""
    schema = oracle.load(f"tools/{tool}.json")["inputSchema"]
    rules = oracle.load(f"rules/{tool}.json")["properties"] if (oracle.SCHEMAS / f"rules/{tool}.json").exists() else {}
    stated = {name: each.get("anyOf", [each])[0] for name, each in schema["properties"].items()}
    properties = {name: each | rules.get(name, {}) for name, each in stated.items()}
    return valid(schema | {"properties": properties}, "")


@pytest.mark.parametrize("tool", oracle.TOOLS)
def test_arguments_and_oracle_accept_the_same_calls(tool: str) -> None:
    """Authority: the server's inputSchema and schemas/rules/, as jsonschema reads them."""
    verdicts: Counter[bool] = Counter()

    @SETTINGS
    @given(call(tool) | broken(call(tool), WRONG).filter(lambda value: isinstance(value, dict)))
    def same(arguments: dict[str, Any]) -> None:
        verdict = oracle.accepts_arguments(tool, arguments)
        assert converts(tool, arguments) is verdict, arguments
        verdicts[verdict] += 1

    same()
    assert verdicts[True]
    assert verdicts[False]


@pytest.mark.parametrize("deep", [b'{"trace": %s}', b'{"a key of tomorrow": %s}'])
def test_deep_nesting_is_refused_by_both(deep: bytes) -> None:
    """Authority: ours; a nesting bomb must end in an error, never in a crash."""
    bomb = deep % (b"[" * 100_000 + b"]" * 100_000)
    assert not decodes("recall", bomb)
    assert not oracle.accepts_answer("recall", bomb)


@pytest.mark.parametrize("time", ["2024-02-29T00:00:00Z", "0001-01-01t00:00:00.5-2359", "2025-01-01 23:59:59+00:00"])
def test_the_oracle_takes_times_of_every_form(time: str) -> None:
    """Authority: RFC 3339, section 5.6, and msgspec, which also takes an offset without colon."""
    assert oracle.is_timestamp(time)
    assert msgspec.convert(time, Timestamp).tzinfo


@pytest.mark.parametrize("time", [each for each in WRONG if isinstance(each, str) and each[:2] in {"20", "00", "99"}])
def test_the_oracle_judges_hard_times_as_msgspec_does(time: str) -> None:
    """Authority: msgspec, on the times that the fuzzing puts into answers."""
    try:
        taken = msgspec.convert(time, Timestamp).tzinfo is not None
    except msgspec.ValidationError:
        taken = False
    assert oracle.is_timestamp(time) is taken
