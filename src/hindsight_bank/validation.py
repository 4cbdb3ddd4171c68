"""What judges JSON: the generated types, known at build time, and jsonschema for a schema known only at run time."""

import itertools
import threading
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from types import ModuleType
from typing import Any, Final, get_args, get_type_hints

import msgspec

from hindsight_bank.loading import load, unforked

# Enough to see what is wrong.
_MOST_PROBLEMS: Final = 5
# In keywords applied, at least and for each part of a value: a recall with each of its arguments takes about 100.
_MOST_STEPS: Final = 5_000
_STEPS_A_PART: Final = 10
# So many parts of a list are looked through in the time of a step.
_PARTS_A_STEP: Final = 100
# What takes more than linear time, or runs a pattern.
_ENDLESS: Final = {"pattern", "patternProperties", "uniqueItems", "unevaluatedItems", "unevaluatedProperties"}


@cache
def types_of(tool: str) -> ModuleType:
    """Return the generated module of a tool, loaded when the tool is first used."""
    return load(f"hindsight_bank._generated.{tool}")


def problem(error: msgspec.ValidationError, shape: Any = None) -> str:
    """Return `what was expected @ $.path`, without the value; words are named where `shape` has them."""
    what, _, path = str(error).partition(" - at `")
    path = path.removesuffix("`") or "$"
    if what.startswith("Invalid enum value"):
        words = get_args(get_type_hints(shape).get(path.removeprefix("$."))) if shape else ()
        what = f"Expected {' or '.join(map(repr, words)) or 'another word'}"
    elif "matching regex" in what:
        what = "Expected text that is not blank"
    return f"{what} @ {path}"


def schema_fault(schema: Mapping[str, Any]) -> str | None:
    """Return what keeps `schema` from being a JSON Schema by which something can be judged, None if nothing does."""
    with unforked():
        import jsonschema  # noqa: PLC0415 - slow to load, rarely needed

    try:
        jsonschema.Draft202012Validator.check_schema(schema)
        references = list(_references(schema))
    except jsonschema.SchemaError as error:
        return f"no JSON Schema: breaks {error.validator!r} @ {error.json_path}"
    except RecursionError:
        return "no JSON Schema: nested too deeply @ $"
    if any(not reference.startswith("#") for reference in references):
        return "a $ref leads outside of the schema @ $"
    return None


def _references(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict):
        if isinstance(reference := schema.get("$ref"), str):
            yield reference
        schema = list(schema.values())
    if isinstance(schema, list):
        for item in schema:
            yield from _references(item)


def violations(value: Any, schema: Mapping[str, Any], *, trusted: bool) -> list[str]:
    """Return one sentence for each way in which `value` breaks `schema`; references open no connection.

    Args:
        value: What is judged.
        schema: The JSON Schema.
        trusted: Whether the schema is the caller's own. A server's patterns are not run, since one may never end.
    """
    with unforked():
        import referencing  # noqa: PLC0415 - slow to load, rarely needed

    validator = _judge(trusted=trusted)(schema, registry=referencing.Registry())
    try:
        _effort.left = _MOST_STEPS + _STEPS_A_PART * _parts(value)
        errors = list(itertools.islice(validator.iter_errors(value), _MOST_PROBLEMS))
    except Exception as error:  # noqa: BLE001 - an invalid schema fails in any way it likes
        return [f"cannot be judged by the schema ({type(error).__name__}) @ $"]
    return [
        f"breaks {error.validator!r} @ {_path(error.absolute_path, error.absolute_schema_path)}" for error in errors
    ]


class TooMuchWork(Exception):  # noqa: N818 - names what was met
    """A schema that leads back into itself, or unfolds to more than any schema of use."""


class _Effort(threading.local):
    """What is left of the effort for the judgement that this thread is at."""

    left = 0


_effort: Final = _Effort()


def _parts(value: Any) -> int:
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + sum(map(_parts, inside))


@cache
def _judge(*, trusted: bool) -> Any:
    """Return a jsonschema validator that counts its steps."""
    with unforked():
        import jsonschema  # noqa: PLC0415 - slow to load, rarely needed

    def counted(keyword: Any) -> Any:
        def step(validator: Any, rule: Any, instance: Any, schema: Any) -> Any:
            looked_through = sum(len(each) for each in (rule, instance) if isinstance(each, list | dict))
            _effort.left -= 1 + looked_through // _PARTS_A_STEP
            if _effort.left < 0:
                raise TooMuchWork
            return keyword(validator, rule, instance, schema)

        return step

    usual = jsonschema.Draft202012Validator
    keywords = {name: counted(keyword) for name, keyword in usual.VALIDATORS.items() if trusted or name not in _ENDLESS}
    if not trusted:
        keywords["additionalProperties"] = _unless("patternProperties", keywords["additionalProperties"])
    return jsonschema.validators.create(usual.META_SCHEMA, keywords, type_checker=usual.TYPE_CHECKER)


def _unless(word: str, keyword: Any) -> Any:
    """Leave a keyword out beside another one that it would run the patterns of."""
    return lambda validator, rule, instance, schema: (
        None if word in schema else keyword(validator, rule, instance, schema)
    )


def _path(path: Iterable[str | int], schema_path: Iterable[str | int]) -> str:
    """Return a path in which only those keys are named that the schema names: others are the value's own."""
    steps = list(schema_path)
    named = {steps[i + 1] for i in range(len(steps) - 1) if steps[i] == "properties"}
    return "$" + "".join(f".{key}" if key in named else "[...]" for key in path)
