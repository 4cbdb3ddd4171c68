"""A generated module as plain values: the step between JSON Schema and Python text."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True)
class Named:
    """A type by its name: `str`, `None`, `Any`, `Timestamp`, or a class that we generate."""

    name: str


@dataclass(frozen=True)
class Array:
    """A JSON array: a tuple in answers, a list in arguments."""

    items: "Type"


@dataclass(frozen=True)
class Map:
    """A JSON object used as a dictionary."""

    values: "Type"


@dataclass(frozen=True)
class Either:
    """One of several types; `None`, if possible, is the last."""

    options: tuple["Type", ...]


@dataclass(frozen=True)
class Words:
    """One of a closed set of strings."""

    words: tuple[str, ...]


@dataclass(frozen=True)
class AtLeast:
    """A number with a least value."""

    number: Named
    minimum: int


@dataclass(frozen=True)
class Matching:
    """Text in which a regular expression is found."""

    pattern: str


Type: TypeAlias = Named | Array | Map | Either | Words | AtLeast | Matching

NONE = Named("None")
ANY = Named("Any")


@dataclass(frozen=True)
class Field:
    """A property of an answer's object, or an argument of a tool."""

    name: str
    wire: str
    type: Type
    required: bool
    empty: str | None = None
    """What null and absence read as, if not as None: `()` or `{}`."""
    doc: str = ""


@dataclass(frozen=True)
class Class:
    """An object of an answer."""

    name: str
    doc: str
    fields: tuple[Field, ...]

    def names(self) -> frozenset[str]:
        """Return the names of all types that the fields use."""
        return frozenset(name for field in self.fields for name in names(field.type))


@dataclass(frozen=True)
class Tool:
    """What the client needs to know of a tool besides the classes of its answer."""

    name: str
    answer: str
    arguments: tuple[Field, ...]
    input_sha256: str
    exclusive: tuple[tuple[str, ...], ...]
    times: tuple[str, ...]


@dataclass(frozen=True)
class Module:
    """A generated file that comes from schemas; classes stand after those that they name."""

    name: str
    """With a dot after the package of an older generation: class names are unique, names of tools are not."""
    sources: dict[str, str]
    """The schema files it comes from, each with its sha256."""
    classes: tuple[Class, ...]
    tool: Tool | None


def names(of: Type) -> Iterator[str]:
    """Yield every name in a type."""
    match of:
        case Named(name):
            yield name
        case Array(inner) | Map(inner) | AtLeast(inner, _):
            yield from names(inner)
        case Either(options):
            for option in options:
                yield from names(option)
        case Words() | Matching():
            pass
