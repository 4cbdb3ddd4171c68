"""Writes the text of every generated file, laid out as the formatter would."""

import json
import re
import textwrap
from collections.abc import Iterator

from codegen.annotate import argument, attribute, literal
from codegen.model import NONE, Class, Either, Field, Module, Named, Tool, names
from codegen.read import SchemaError

PACKAGE = "hindsight_bank._generated"
SHOWN = "hindsight_bank.shown"
LAYOUT = "hindsight_bank.layout"
WIDTH = 120
GENERATED = "Generated; do not edit. `python -m codegen` makes this file"

# Beside an answer, Hindsight's word for a failure; a property of the answer only where a schema says so.
STATUS = "status"

STANDARD = {"typing": ("Annotated", "Any", "Literal", "Required", "TypedDict", "final")}
LIBRARIES = {"msgspec": ("Meta", "Raw", "Struct"), "msgspec.structs": ("force_setattr",)}

READING = f'''"""How some JSON values read in Python.

{GENERATED}.
"""

from datetime import datetime
from typing import TYPE_CHECKING, Annotated, TypeVar

from msgspec import Meta

T = TypeVar("T")

Timestamp = Annotated[datetime, Meta(tz=True)]

if TYPE_CHECKING:
    OrEmpty = Annotated[T, "null reads as empty"]
else:
    OrEmpty = T | None
'''

OLDER = f'''"""The types of the tools of an older generation, `{{name}}`.

{GENERATED}.
"""
'''


def files(modules: tuple[Module, ...]) -> dict[str, str]:
    """Return the text of every generated file by its name."""
    homes = {made.name: module.name for module in modules for made in module.classes}
    twins = _twins(modules)
    texts = {f"{module.name.replace('.', '/')}.py": _module(module, homes, twins) for module in modules}
    packages = {module.name.rpartition(".")[0] for module in modules} - {""}
    inits = {f"{name}/__init__.py": OLDER.format(name=name) for name in packages}
    return {"__init__.py": _package(modules, homes), "reading.py": READING, **inits, **texts}


def _twins(modules: tuple[Module, ...]) -> frozenset[str]:
    """Name the classes that have a twin for the wire.

    attrs knows of no other names on the wire, and what a `status` says of a failure is no part of the answer.
    """
    classes = [made for module in modules for made in module.classes]
    found = {made.name for made in classes if any(field.name != field.wire for field in made.fields)}
    found |= {made.name for module in modules for made in module.classes if _has_status_aside(made, module.tool)}
    while more := {made.name for made in classes if made.names() & found} - found:
        found |= more
    if shared := found.intersection(made.name for module in modules if not module.tool for made in module.classes):
        raise SchemaError(
            f"types/: keys that are no identifiers are only understood in tools/: {', '.join(sorted(shared))}"
        )
    return frozenset(found)


def _has_status_aside(made: Class, tool: Tool | None) -> bool:
    return tool is not None and made.name == tool.answer and all(field.wire != STATUS for field in made.fields)


def _package(modules: tuple[Module, ...], homes: dict[str, str]) -> str:
    sources = {path: sha256 for module in modules for path, sha256 in module.sources.items()}
    prints = {module.name: module.tool.input_sha256 for module in modules if module.tool}
    head = _head("The types of the tools; PUBLIC says in which module each class is.", sources)
    return "\n".join((head, "", *_table("PUBLIC", homes), "", *_table("INPUT_SHA256", prints), ""))


def _table(name: str, rows: dict[str, str]) -> list[str]:
    return [f"{name} = {{", *(f'    "{key}": "{value}",' for key, value in sorted(rows.items())), "}"]


def _module(module: Module, homes: dict[str, str], twins: frozenset[str]) -> str:
    blocks = [block for made in module.classes for block in _class_and_twin(made, module.tool, twins)]
    if module.tool:
        blocks += _tool(module.tool, twins)
    code = "\n\n\n".join("\n".join(block) for block in blocks)
    what = f"The types of the tool `{module.tool.name}`." if module.tool else "A type that several tools share."
    return "\n\n".join((_head(what, module.sources), *_imports(code, module, homes), f"\n{code}\n"))


def _head(what: str, sources: dict[str, str]) -> str:
    hashes = (f"    {path}  sha256:{sha256}" for path, sha256 in sorted(sources.items()))
    return "\n".join((f'"""{what}', "", f"{GENERATED} from schemas/:", "", *hashes, '"""'))


def _imports(code: str, module: Module, homes: dict[str, str]) -> Iterator[str]:
    """Yield the groups of imports that the code needs."""
    used = set(re.findall(r"[\w.]+", re.sub(r'""".*?"""|"[^"\n]*"', "", code, flags=re.DOTALL)))
    ours = {f"{PACKAGE}.reading": {"OrEmpty", "Timestamp"}, LAYOUT: {"frozen"}, SHOWN: {"Shown"}}
    for name, home in homes.items():
        if home != module.name:
            ours.setdefault(f"{PACKAGE}.{home}", set()).add(name)
    for group in (STANDARD, LIBRARIES, ours):
        found = {library: sorted(used.intersection(group[library])) for library in sorted(group)}
        lines = [f"from {library} import {', '.join(known)}" for library, known in found.items() if known]
        if lines:
            yield "\n".join(lines)


def _class_and_twin(made: Class, tool: Tool | None, twins: frozenset[str]) -> Iterator[list[str]]:
    yield _class(made)
    if made.name in twins:
        yield _twin(made, twins, status=_has_status_aside(made, tool))


def _class(made: Class) -> list[str]:
    return [
        "@final",
        "@frozen(kw_only=True)",
        f"class {made.name}(Shown):",
        *_class_docstring(made),
        "",
        *(f"    {each.name}: {attribute(each)}{_default(each)}" for each in made.fields),
        *_empty_for_null([field for field in made.fields if field.empty]),
    ]


def _class_docstring(made: Class) -> Iterator[str]:
    yield f'    """{made.doc}'
    yield ""
    yield "    Attributes:"
    for field in made.fields:
        if field.type != NONE:
            renamed = "" if field.name == field.wire else f" The wire's `{field.wire}`."
            text = f"        {field.name}: {field.doc}{renamed}"
            yield from textwrap.wrap(text, WIDTH, subsequent_indent=" " * 12, break_on_hyphens=False)
    yield '    """'


def _default(field: Field) -> str:
    return "" if field.required else f" = {field.empty}"


def _empty_for_null(fields: list[Field]) -> Iterator[str]:
    if fields:
        yield ""
        yield "    def __post_init__(self) -> None:"
    for field in fields:
        yield f"        if self.{field.name} is None:"
        yield f'            force_setattr(self, "{field.name}", {field.empty})'


def _twin(made: Class, twins: frozenset[str], *, status: bool) -> list[str]:
    renamed = {field.name: field.wire for field in made.fields if field.name != field.wire}
    rename = f", rename={json.dumps(renamed)}" if renamed else ""
    return [
        f"class _{made.name}(Struct, frozen=True, kw_only=True{rename}):",
        f'    """{made.name} as it comes over the wire."""',
        "",
        *(f"    {each.name}: {attribute(each, twins)}{_default(each)}" for each in made.fields),
        *([f"    {STATUS}: Raw = Raw()"] if status else ()),
        "",
        f"    def build(self) -> {made.name}:",
        f"        return {made.name}(",
        *(f"            {each.name}={_built(each, twins)}," for each in made.fields if each.type != NONE),
        "        )",
    ]


def _built(field: Field, twins: frozenset[str]) -> str:
    value = f"self.{field.name}"
    match field.type:
        case Named(name) if name in twins:
            return f"{value}.build()"
        case Either((Named(name), _)) if name in twins:
            return f"None if {value} is None else {value}.build()"
    if twins.intersection(names(field.type)):
        raise SchemaError(
            f"tools/: {field.wire}: objects with keys that are no identifiers must not be in lists or maps"
        )
    return value


def _tool(tool: Tool, twins: frozenset[str]) -> list[list[str]]:
    answer = [f"Answer = {'_' if tool.answer in twins else ''}{tool.answer}"]
    arguments = [
        "class Arguments(TypedDict, total=False):",
        f'    """What {tool.name} takes, by our rules too. None is never sent."""',
    ]
    if tool.arguments:
        arguments += ["", *(f"    {each.name}: {argument(each)}" for each in tool.arguments)]
    facts = [
        f"EXCLUSIVE: tuple[tuple[str, ...], ...] = {literal(tool.exclusive)}",
        f"TIMES: tuple[str, ...] = {literal(tool.times)}",
    ]
    return [answer, arguments, facts]
