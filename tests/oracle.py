"""The second opinion: jsonschema over schemas/, made as strict as the decoder is said to be.

Strict: `true` and `1.0` are no integers, an integer beyond a double is no number, a `date-time` is an RFC 3339 time
with offset that a datetime can hold, and JSON is UTF-8 without byte order mark, NaN, overflow or unpaired surrogates.

No test may mix in what the two treat differently by nature. Such JSON below a key that no schema knows: the decoder
skips it with only a glance. A key twice, first with a bad value: the decoder sees both, a dict keeps the last.
"""

import json
import math
import re
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any, NoReturn

from jsonschema import Draft202012Validator, FormatChecker, ValidationError, validators
from jsonschema.protocols import Validator
from referencing import Registry
from referencing.jsonschema import DRAFT202012

SCHEMAS = Path(__file__).parent.parent / "schemas"
TOOLS = ("retain", "recall", "reflect", "list_memories", "get_memory", "get_bank")
# Named as their generated modules are.
OLDER = (
    *("put_search.hindsight_put", "put_search.hindsight_search"),
    *("agents.hindsight_search", "agents.hindsight_think", "agents.hindsight_store", "agents.hindsight_agents"),
)
BASE = "https://schemas.invalid/"

TIME = re.compile(
    r"(?P<date>\d{4}-\d\d-\d\d)[Tt ](?P<time>([01]\d|2[0-3]):[0-5]\d:[0-5]\d)(\.(?P<fraction>\d+))?"
    r"([Zz]|[+-]([01]\d|2[0-3]):?[0-5]\d)",
    re.ASCII,
)


def load(path: str) -> dict[str, Any]:
    """Read a file under schemas/."""
    document: dict[str, Any] = json.loads((SCHEMAS / path).read_bytes())
    return document


def path(tool: str, kind: str = "tools") -> str:
    """Return where under schemas/ a tool's file is."""
    generation, _, name = tool.rpartition(".")
    return f"{generation}/{kind}/{name}.json" if generation else f"{kind}/{name}.json"


def rules(tool: str) -> dict[str, Any]:
    """Return what we refuse beyond the server's inputSchema."""
    return load(path(tool, "rules")) if (SCHEMAS / path(tool, "rules")).exists() else {}


def accepts_answer(tool: str, payload: bytes) -> bool:
    """Say whether JSON text is an answer of the tool."""
    try:
        return answers()[tool].is_valid(parse(payload))
    except (ValueError, RecursionError):
        return False


def accepts_arguments(tool: str, arguments: dict[str, Any]) -> bool:
    """Say whether the tool may be called so: by the server's schema, by our rules, and without any null."""
    return _arguments()[tool].is_valid(arguments)


def unknown(tool: str, answer: Any) -> list[str]:
    """Name the keys of an answer that its schema does not mention."""
    faults = answers(closed=True)[tool].iter_errors(answer)
    return [f"{fault.json_path}: {fault.message}" for fault in _leaves(faults)]


def parse(payload: bytes) -> Any:
    """Read JSON text as strictly as the decoder does, or raise ValueError."""
    document = json.loads(payload.decode(), parse_constant=_refuse)
    json.dumps(document, ensure_ascii=False, allow_nan=False).encode()
    return document


def is_timestamp(value: object) -> bool:
    """Say whether text is a time that the decoder takes; what is no text is another rule's."""
    if not isinstance(value, str):
        return True
    if not (found := TIME.fullmatch(value)):
        return False
    tenths_of_microseconds = int((found["fraction"] or "0")[:7].ljust(7, "0"))
    try:
        second = datetime.fromisoformat(f"{found['date']}T{found['time']}+00:00")
        return bool(second + timedelta(microseconds=(tenths_of_microseconds + 5) // 10))
    except (ValueError, OverflowError):
        return False


def _is_integer(_: object, value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(_: object, value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


_checker = FormatChecker(formats=())
_checker.checks("date-time")(is_timestamp)
_types = Draft202012Validator.TYPE_CHECKER.redefine_many({"integer": _is_integer, "number": _is_number})
_Strict: type[Validator] = validators.extend(Draft202012Validator, type_checker=_types)  # type: ignore[no-untyped-call]


@cache
def answers(*, closed: bool = False) -> dict[str, Validator]:
    """Return the judge of each tool's answers; closed ones refuse keys that the schemas do not mention."""
    found = {file.relative_to(SCHEMAS).as_posix() for file in SCHEMAS.glob("**/t*/*.json")}
    schemas = {file: load(file).get("outputSchema", load(file)) for file in found}
    resources = [
        (BASE + file, DRAFT202012.create_resource(_closed(schema) if closed else schema))
        for file, schema in schemas.items()
    ]
    registry = Registry[Any]().with_resources(resources)
    return {
        tool: _Strict({"$ref": BASE + path(tool)}, registry=registry, format_checker=_checker) for tool in TOOLS + OLDER
    }


@cache
def _arguments() -> dict[str, Validator]:
    no_null = {"additionalProperties": {"not": {"type": "null"}}}
    judges = {tool: [_closed(load(path(tool))["inputSchema"]), rules(tool), no_null] for tool in TOOLS + OLDER}
    return {tool: _Strict({"allOf": parts}, format_checker=_checker) for tool, parts in judges.items()}


def _closed(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    inside = {word: _closed(each) for word, each in schema.items()}
    return inside | {"additionalProperties": False} if "properties" in schema else inside


def _leaves(faults: Iterable[ValidationError]) -> Iterator[ValidationError]:
    for fault in faults:
        if fault.validator == "additionalProperties":
            yield fault
        yield from _leaves(fault.context or [])


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")
