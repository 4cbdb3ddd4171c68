"""Makes the model of every module from the schemas."""

import json
import keyword
from hashlib import sha256
from posixpath import basename, dirname, join, normpath
from typing import TypeAlias

from codegen.model import (
    ANY,
    NONE,
    Array,
    AtLeast,
    Class,
    Either,
    Field,
    Map,
    Matching,
    Module,
    Named,
    Tool,
    Type,
    Words,
)
from codegen.read import At, Sources

JSON: TypeAlias = "dict[str, JSON] | list[JSON] | str | float | bool | None"
Titles: TypeAlias = dict[str, str]
"""The class names of the shared types, by path."""

SCALARS = {
    "string": Named("str"),
    "integer": Named("int"),
    "number": Named("float"),
    "boolean": Named("bool"),
    "null": NONE,
}
TIMESTAMP = Named("Timestamp")
EMPTY = {"[]": "()", "{}": "{}"}


def modules(sources: Sources) -> tuple[Module, ...]:
    """Make the model of every generated module that comes from schemas."""
    kinds = {path: source.folders[1] for path, source in sources.items()}
    titles = {path: (sources[path].root / "title").schema for path in sources if kinds[path] == "types"}
    tools = (_tool_module(path, sources, titles) for path in sources if kinds[path] == "tools")
    return (*tools, *(_type_module(path, sources, titles) for path in titles))


def _tool_module(path: str, sources: Sources, titles: Titles) -> Module:
    root = sources[path].root
    rules = f"{sources[path].folders[0]}rules/{basename(path)}"
    rule = sources[rules].root if rules in sources else At(rules, "", {})
    answer = root / "outputSchema"
    classes = _classes(answer, titles)
    tool = Tool(
        name=root.schema["name"],
        answer=answer.schema["title"],
        arguments=_arguments(root / "inputSchema", rule),
        input_sha256=fingerprint(root.schema["inputSchema"]),
        exclusive=_exclusive(rule),
        times=tuple(name for name, at in rule.each("properties").items() if "format" in at.schema),
    )
    used = frozenset[str]().union(*(made.names() for made in classes))
    shared = [path for path, title in titles.items() if title in used]
    return Module(sources[path].name, _hashes(sources, path, rules, *shared), classes, tool)


def _type_module(path: str, sources: Sources, titles: Titles) -> Module:
    return Module(sources[path].name, _hashes(sources, path), _classes(sources[path].root, titles), None)


def _hashes(sources: Sources, *paths: str) -> dict[str, str]:
    return {path: sources[path].sha256 for path in paths if path in sources}


def fingerprint(schema: JSON) -> str:
    """Return the hash of an inputSchema that is the same for all wordings of its titles and descriptions."""
    text = json.dumps(_without_prose(schema), sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return sha256(text.encode()).hexdigest()


def _without_prose(schema: JSON) -> JSON:
    if isinstance(schema, list):
        return [_without_prose(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        word: {name: _without_prose(each) for name, each in value.items()}
        if word == "properties" and isinstance(value, dict)
        else _without_prose(value)
        for word, value in schema.items()
        if word not in {"title", "description"}
    }


def _classes(root: At, titles: Titles) -> tuple[Class, ...]:
    """Make the classes of a schema and its $defs, each after those that it names."""
    pending = [_class(at, titles) for at in (*root.each("$defs").values(), root)]
    ordered: list[Class] = []
    while pending:
        waiting = {made.name for made in pending}
        ready = [made for made in pending if not made.names() & waiting]
        if not ready:
            raise root.wrong(f"classes that contain each other: {', '.join(sorted(waiting))}")
        ordered += ready
        pending = [made for made in pending if made not in ready]
    return tuple(ordered)


def _class(at: At, titles: Titles) -> Class:
    if "additionalProperties" in at.schema:
        raise at.wrong("the decoder ignores keys that it does not know; additionalProperties would say otherwise")
    names = (at / "properties").schema
    fields = tuple(_field(name, at, titles) for name in names)
    return Class((at / "title").schema, (at / "description").schema, fields)


def _field(wire: str, parent: At, titles: Titles) -> Field:
    at = parent / "properties" / wire
    kind = _type(at, titles)
    required = wire in parent.schema.get("required", ())
    nullable = kind == NONE or (isinstance(kind, Either) and kind.options[-1] == NONE)
    empty = EMPTY.get(json.dumps(at.schema["default"]), "") if "default" in at.schema else None
    if empty == "" or (empty and not nullable):
        raise at.wrong("a default must be [] or {}, and is what null reads as")
    if not (required or nullable):
        raise at.wrong("a property that may be absent must be nullable: absence reads as null does")
    return Field(_identifier(wire, at), wire, kind, required, empty, at.schema.get("description", ""))


def _identifier(wire: str, at: At) -> str:
    name = wire.replace("-", "_").replace(" ", "_")
    if not name.isidentifier() or keyword.iskeyword(name):
        raise at.wrong(f"no attribute can be named after {wire!r}")
    return name


def _type(at: At, titles: Titles) -> Type:
    if at.schema is False:
        raise at.wrong("accepts nothing")
    if at.schema is True:
        return ANY
    if "$ref" in at.schema:
        return _reference(at, titles)
    if "anyOf" in at.schema:
        return Either(tuple(_type(at / "anyOf" / index, titles) for index in range(len(at.schema["anyOf"]))))
    if "const" in at.schema or "enum" in at.schema:
        return _words(at, at.schema.get("enum") or [at.schema["const"]])
    kinds = (at / "type").schema
    if isinstance(kinds, str):
        return _simple(kinds, at, titles)
    return Either(tuple(_simple(kind, at, titles) for kind in kinds))


def _simple(kind: str, at: At, titles: Titles) -> Type:
    if kind == "array":
        return Array(_type(at / "items", titles))
    if kind == "object":
        if "properties" in at.schema:
            raise at.wrong("an object with properties belongs into $defs or types/, and is referred to")
        return Map(_type(at / "additionalProperties", titles))
    if kind == "string" and "format" in at.schema:
        if at.schema["format"] != "date-time":
            raise (at / "format").wrong("unknown format")
        return TIMESTAMP
    if kind == "string" and "pattern" in at.schema:
        return Matching(at.schema["pattern"])
    return AtLeast(SCALARS[kind], at.schema["minimum"]) if "minimum" in at.schema else SCALARS[kind]


def _words(at: At, words: list[JSON]) -> Words:
    if at.schema.get("type") != "string":
        raise at.wrong("a closed set of values must be of type string")
    return Words(tuple(map(str, words)))


def _reference(at: At, titles: Titles) -> Named:
    target = at.schema["$ref"]
    local = target.removeprefix("#/$defs/")
    if local != target:
        return Named(local)
    path = normpath(join(dirname(at.path), target))
    if path not in titles:
        raise (at / "$ref").wrong("refers to no file in types/")
    return Named(titles[path])


def _arguments(accepted: At, rule: At) -> tuple[Field, ...]:
    rules = rule.each("properties")
    for name, at in rules.items():
        if name not in accepted.schema["properties"]:
            raise at.wrong("a rule for an argument that the tool does not have")
    required = accepted.schema.get("required", ())
    return tuple(
        Field(name, name, _argument(at, rules.get(name)), name in required)
        for name, at in accepted.each("properties").items()
    )


def _argument(at: At, rule: At | None) -> Type:
    """Make the type of an argument; null is left out, since None is never sent."""
    if "anyOf" in at.schema:
        if at.schema["anyOf"][1:] != [{"type": "null"}]:
            raise at.wrong("of an argument's types, the last of two is null")
        at = at / "anyOf" / 0
    limits = {word: limit for word, limit in rule.schema.items() if word != "format"} if rule else {}
    return _type(At(at.path, at.pointer, at.schema | limits), {})


def _exclusive(rule: At) -> tuple[tuple[str, ...], ...]:
    return (tuple((rule / "not" / "required").schema),) if "not" in rule.schema else ()
