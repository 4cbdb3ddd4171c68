"""What judges JSON: the generated types, known at build time, and jsonschema for a schema known only at run time."""

import importlib
import itertools
from collections.abc import Iterator, Mapping
from functools import cache
from types import ModuleType
from typing import Any, Final, get_args, get_type_hints

import msgspec

# Enough to see what is wrong.
_MOST_PROBLEMS: Final = 5


@cache
def types_of(tool: str) -> ModuleType:
    """Return the generated module of a tool, loaded when the tool is first used."""
    return importlib.import_module(f"hindsight_bank._generated.{tool}")


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
    import jsonschema  # noqa: PLC0415 - slow to load, rarely needed

    try:
        jsonschema.Draft202012Validator.check_schema(schema)
    except jsonschema.SchemaError as error:
        return f"no JSON Schema: breaks {error.validator!r} @ {error.json_path}"
    if any(not reference.startswith("#") for reference in _references(schema)):
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


def violations(value: Any, schema: Mapping[str, Any]) -> list[str]:
    """Return one sentence for each way in which `value` breaks `schema`; references open no connection."""
    import jsonschema  # noqa: PLC0415 - slow to load, rarely needed
    import referencing  # noqa: PLC0415 - comes with it

    validator = jsonschema.Draft202012Validator(schema, registry=referencing.Registry())
    try:
        errors = list(itertools.islice(validator.iter_errors(value), _MOST_PROBLEMS))
    except Exception as error:  # noqa: BLE001 - an invalid schema fails in any way it likes
        return [f"cannot be judged by the schema ({type(error).__name__}) @ $"]
    return [f"breaks {error.validator!r} @ {error.json_path}" for error in errors]
