"""Arguments that go out in headers, too: `x-mcp-header` of a tool's inputSchema (MCP 2026-07-28, no I/O).

Section names in comments are those of the specification, "Streamable HTTP".
"""

import base64
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

Path = tuple[str, ...]
Headers = tuple[tuple[str, str], ...]

_ANNOTATION: Final = "x-mcp-header"
# Keywords whose value holds schemas by names, and those whose value is no schema, whatever it looks like.
_NAMED: Final = ("properties", "patternProperties", "dependentSchemas", "$defs", "definitions")
_DATA: Final = ("default", "const", "enum", "examples")
# RFC 9110, 5.6.2.
_TOKEN: Final = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_SAFE: Final = re.compile(r"(?!=\?base64\?.*\?=$)([!-~]([ -~]*[!-~])?)?", re.DOTALL)


def mirrored(schema: Any) -> tuple[dict[Path, str], str]:
    """Return the header of each annotated argument by its path, and what is wrong with the annotations, if anything.

    "Schema Extension": on a string, integer or boolean that `properties` alone lead to; a token, there once. A tool
    where that does not hold must not be used.
    """
    headers: dict[Path, str] = {}
    for path, place in _places(schema, ()):
        if _ANNOTATION not in place:
            continue
        token = place[_ANNOTATION]
        if not path:
            return {}, "where more than `properties` leads"
        if not (isinstance(token, str) and _TOKEN.fullmatch(token)):
            return {}, "that is no token"
        if place.get("type") not in ("string", "integer", "boolean"):
            return {}, "on what is no string, integer or boolean"
        headers[path] = f"Mcp-Param-{token}"
    if len({header.lower() for header in headers.values()}) < len(headers):
        return {}, "that is there twice"
    return headers, ""


def _places(schema: Any, path: Path | None) -> Iterator[tuple[Path | None, dict[str, Any]]]:
    """Yield every schema within, with the `properties` that lead to it: None where anything else does."""
    if isinstance(schema, list):
        for each in schema:
            yield from _places(each, None)
    if not isinstance(schema, dict):
        return
    yield path, schema
    for keyword, value in schema.items():
        if keyword in _NAMED and isinstance(value, dict):
            for name, each in value.items():
                yield from _places(each, (*path, name) if path is not None and keyword == "properties" else None)
        elif keyword not in _DATA:
            yield from _places(value, None)


def headers(paths: Mapping[Path, str], arguments: Mapping[str, Any]) -> Headers:
    """Return the headers of a call, without those of arguments that are absent or null."""
    found = ((header, _text(_at(path, arguments))) for path, header in paths.items())
    return tuple((header, encoded(text)) for header, text in found if text is not None)


def _at(path: Path, value: Any) -> Any:
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def _text(value: Any) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, str | int | float) else None


def encoded(text: str) -> str:
    """Return a header's value ("Value Encoding"): as it is where that is safe, else in base64."""
    return text if _SAFE.fullmatch(text) else f"=?base64?{base64.b64encode(text.encode()).decode()}?="
