"""Writes types as annotations."""

import json
from typing import TypeAlias

from codegen.model import Array, AtLeast, Either, Field, Map, Matching, Named, Type, Words

NO_TWINS: frozenset[str] = frozenset()
Value: TypeAlias = "str | tuple[Value, ...]"


def attribute(field: Field, twins: frozenset[str] = NO_TWINS) -> str:
    """Annotate an attribute of a class, or of a wire twin that holds other twins."""
    if field.empty and isinstance(field.type, Either):
        return f"OrEmpty[{_text(Either(field.type.options[:-1]), twins)}]"
    return _text(field.type, twins)


def argument(field: Field) -> str:
    """Annotate an argument, a key of a TypedDict."""
    text = _text(field.type, arrays="list[{}]")
    return f"Required[{text}]" if field.required else text


def literal(value: "Value") -> str:
    """Write a string, or a tuple of literals."""
    if isinstance(value, str):
        return json.dumps(value)
    parts = ", ".join(literal(part) for part in value)
    return f"({parts},)" if len(value) == 1 else f"({parts})"


def _text(of: Type, twins: frozenset[str] = NO_TWINS, arrays: str = "tuple[{}, ...]") -> str:
    match of:
        case Named(name):
            return f"_{name}" if name in twins else name
        case Array(items):
            return arrays.format(_text(items, twins, arrays))
        case Map(values):
            return f"dict[str, {_text(values, twins, arrays)}]"
        case Either(options):
            return " | ".join(_text(option, twins, arrays) for option in options)
        case Words() | AtLeast() | Matching():
            return _limited(of)


def _limited(of: Words | AtLeast | Matching) -> str:
    match of:
        case Words(words):
            return f"Literal[{', '.join(map(literal, words))}]"
        case AtLeast(number, minimum):
            return f"Annotated[{number.name}, Meta(ge={minimum})]"
        case Matching(pattern):
            return f"Annotated[str, Meta(pattern={literal(pattern)})]"
