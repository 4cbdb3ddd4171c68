"""Arguments judged: by our schema before anything is sent, by the server's own once it is known."""

import hashlib
import json
import math
import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, Final

import msgspec
from msgspec import Raw

from hindsight_bank import mirror, validation
from hindsight_bank._generated import INPUT_SHA256
from hindsight_bank.errors import ArgumentsError, ProtocolError
from hindsight_bank.validation import problem, types_of

# In bytes. Those of Hindsight have at most 4000.
_LONGEST_SCHEMA: Final = 2**17
_NAIVE: Final = "Expected a time with its UTC offset"
# RFC 3339, where seconds may be left out: other spellings that Python reads are read otherwise elsewhere.
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(:\d\d(\.\d+)?)?([Zz]|[+-]\d\d:?\d\d)?", re.ASCII)


def judge(tool: str, arguments: Mapping[str, Any], home: str = "") -> dict[str, Any]:
    """Return the arguments as they go out: None left out, timestamps as text, everything plain JSON and of its type.

    Args:
        tool: The tool's name.
        arguments: What is given.
        home: Where the types of an older generation are, with the final dot.
    """
    rules = types_of(home + tool)
    given = {name: value for name, value in arguments.items() if value is not None}
    problems = [fault for name in rules.TIMES if name in given for fault in _spell(given, name)]
    problems += _window(given)
    given = _all_plain(given, problems)
    if not problems:
        try:
            msgspec.convert(given, rules.Arguments)
        except msgspec.ValidationError as error:
            problems.append(problem(error, rules.Arguments))
    problems += [
        f"{' and '.join(names)} exclude each other @ $" for names in rules.EXCLUSIVE if all(n in given for n in names)
    ]
    if problems:
        raise ArgumentsError(f"{tool}: {'; '.join(problems)}", tool=tool, problems=problems)
    return given


def response_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a `response_schema` as it goes out, or refuse one against which no answer could be judged."""
    problems: list[str] = []
    plain = _all_plain({"response_schema": schema}, problems)["response_schema"]
    if not problems and (fault := validation.schema_fault(plain)):
        problems.append(fault.replace("@ $", "@ $.response_schema"))
    if problems:
        raise ArgumentsError(f"reflect: {'; '.join(problems)}", tool="reflect", problems=problems)
    return plain  # type: ignore[no-any-return]  # a Mapping becomes a dict


class ServerTool(msgspec.Struct):
    """A tool as the server lists it."""

    name: str
    inputSchema: Raw = Raw(b"{}")


class ServerSchema:
    """The server's own word on a tool's arguments.

    Attributes:
        names: The arguments that it knows.
        fault: Why the tool must not be used in 2026-07-28, empty if it may be.
    """

    def __init__(self, tool: str, text: Raw, home: str = "") -> None:
        if len(text) > _LONGEST_SCHEMA:
            raise ProtocolError(
                f"the server lists {tool} with an inputSchema of {len(text)} bytes, more than {_LONGEST_SCHEMA}"
            )
        try:
            self._schema = msgspec.json.decode(text, type=dict[str, Any])
            self._same = _canonical_sha256(self._schema) == INPUT_SHA256[home + tool]
            self._mirrored, self.fault = ({}, "") if self._same else mirror.mirrored(self._schema)
        except (msgspec.DecodeError, RecursionError):
            raise ProtocolError(f"the server lists {tool} with an inputSchema that is no JSON object") from None
        properties = self._schema.get("properties")
        self.names = frozenset(properties if isinstance(properties, dict) else ())
        self._tool = tool

    def judge(self, arguments: Mapping[str, Any], server: str) -> None:
        """Refuse what this server would drop silently or refuse itself."""
        if self._same:
            return
        problems = [f"unknown to this server @ $.{name}" for name in arguments if name not in self.names]
        problems = problems or validation.violations(arguments, self._schema, trusted=False)
        if problems:
            raise ArgumentsError(
                f"{self._tool}: {'; '.join(problems)} (the server calls itself {server or 'unnamed'})",
                tool=self._tool,
                problems=problems,
            )

    def mirrored(self, arguments: Mapping[str, Any]) -> mirror.Headers:
        """Return the headers in which this server wants to see arguments."""
        return mirror.headers(self._mirrored, arguments)


def _spell(given: dict[str, Any], name: str) -> Iterator[str]:
    """Write the timestamp `name` as ISO 8601 with its offset, in place."""
    value = given[name]
    if isinstance(value, datetime):
        given[name] = value.isoformat()
        if value.utcoffset() is None:
            yield f"{_NAIVE} @ $.{name}"
    elif not isinstance(value, str):
        yield f"Expected a datetime or an ISO 8601 string @ $.{name}"
    elif fault := _time_fault(value):
        yield f"{fault} @ $.{name}"


def _window(given: Mapping[str, Any]) -> Iterator[str]:
    """Judge the texts of a `temporal_window`, which is made of times."""
    window = given.get("temporal_window")
    for value in window.values() if isinstance(window, Mapping) else ():
        if isinstance(value, str) and (fault := _time_fault(value)):
            yield f"{fault} @ $.temporal_window[...]"


def _time_fault(text: str) -> str | None:
    """Return what keeps a text from being a moment that every server reads alike."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return "Expected an ISO 8601 time"
    if moment.utcoffset() is None:
        return _NAIVE
    return None if _TIME.fullmatch(text) else "Expected an ISO 8601 time"


def _all_plain(given: Mapping[str, Any], problems: list[str]) -> dict[str, Any]:
    plain = dict(given)
    for name, value in given.items():
        try:
            plain[name] = _plain(value, f"$.{name}", problems)
        except RecursionError:
            problems.append(f"Expected less nesting @ $.{name}")
    return plain


def _plain(value: Any, path: str, problems: list[str]) -> Any:
    """Return `value` as JSON that every server reads alike; what keeps it from that goes to `problems`."""
    if isinstance(value, Mapping):
        return {_plain_key(key, path, problems): _plain(item, f"{path}[...]", problems) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item, f"{path}[...]", problems) for item in value]
    if isinstance(value, datetime):
        if value.utcoffset() is None:
            problems.append(f"{_NAIVE} @ {path}")
        return value.isoformat()
    if isinstance(value, str):
        if _has_surrogate(value):
            problems.append(f"Expected no unpaired surrogate @ {path}")
    elif isinstance(value, int | float):
        if not _is_finite(value):
            problems.append(f"Expected a finite number @ {path}")
    elif value is not None:
        problems.append(f"Expected a JSON value (text, number, list, dict), got `{type(value).__name__}` @ {path}")
    return value


def _plain_key(key: Any, path: str, problems: list[str]) -> Any:
    if not isinstance(key, str):
        problems.append(f"Expected `str`, got `{type(key).__name__}` @ key in {path}")
        return key
    return _plain(key, f"key in {path}", problems)


def _has_surrogate(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def _is_finite(number: float) -> bool:
    try:
        return math.isfinite(number)
    except OverflowError:  # an integer beyond what a double can hold
        return False


def _canonical_sha256(schema: Any) -> str:
    text = json.dumps(undescribed(schema), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def undescribed(schema: Any, *, names: bool = False) -> Any:
    """Return the schema without descriptions and titles; under `properties` the keys are names, not keywords."""
    if isinstance(schema, dict):
        kept = {key: value for key, value in schema.items() if names or key not in ("description", "title")}
        return {key: undescribed(value, names=not names and key == "properties") for key, value in kept.items()}
    if isinstance(schema, list):
        return [undescribed(item) for item in schema]
    return schema
