"""The client that the official conformance suite drives: it lists the tools, calls each one, and leaves.

Usage, as the suite has it: conformance_client.py URL. It speaks through the product's own transport and endpoint; what
a general client needs beyond a client of Hindsight stands here: arguments made up from schemas, parameters mirrored
into headers, and calls that take several rounds. It knows no scenario by name.
"""

import base64
import json
import os
import re
import sys
from collections import deque
from collections.abc import Iterator
from typing import Any

from hindsight_bank import RPCError, jsonrpc
from hindsight_bank.deadline import Deadline
from hindsight_bank.endpoint import Endpoint
from hindsight_bank.session import MODERN, Client
from hindsight_bank.transport import Limits, Transport

SECONDS = 20.0
ROUNDS = 10  # as the official SDK
SAMPLES: dict[str, Any] = {"string": "x", "integer": 2, "number": 2.5, "boolean": True, "array": [], "null": None}
MIRRORED = ("string", "integer", "boolean")

Json = dict[str, Any]


def main(url: str) -> None:
    limits = Limits()
    endpoint = Endpoint(Transport(url, limits), Client("hindsight-bank-conformance", "1"), limits)
    try:
        if os.environ["MCP_CONFORMANCE_PROTOCOL_VERSION"] != MODERN:
            # The suite's servers of the 2025 revisions answer anything, so there is no refusal to learn from.
            endpoint._open(Deadline("initialize", SECONDS))
        tools = {tool["name"]: tool for tool in listed(endpoint) if headers_of(tool) is not None}
        calls: deque[tuple[str, Json, Json, int]]
        calls = deque((name, arguments, {}, 1) for name, arguments in wanted(tools))
        while calls:  # the rounds of several calls interleave, and must not mix
            name, arguments, answers, attempt = calls.popleft()
            params = {"name": name, "arguments": arguments, **answers}
            try:
                result = request(endpoint, "tools/call", params, name, mirrored(tools[name], arguments))
            except RPCError as error:
                if error.code != jsonrpc.METHOD_NOT_FOUND:
                    raise
                print("the server lists tools and calls none")
                return
            if result.get("resultType", "complete") == "complete":
                print(name, result)
            elif result["resultType"] == "input_required" and attempt < ROUNDS:
                calls.append((name, arguments, next_round(result), attempt + 1))
            else:
                sys.exit(f"{name} gave no result: {result}")
    finally:
        endpoint.close()


def request(
    endpoint: Endpoint, method: str, params: Json, name: str | None = None, headers: tuple[tuple[str, str], ...] = ()
) -> Json:
    deadline = Deadline(method, SECONDS)
    message = endpoint.request(method, params, deadline, decode=jsonrpc.decode, name=name, headers=headers)
    return jsonrpc.result(message, dict[str, Any])


def listed(endpoint: Endpoint) -> Iterator[Json]:
    """Yield the tools of every page."""
    params: Json = {}
    while True:
        page = request(endpoint, "tools/list", params)
        yield from page["tools"]
        if page.get("nextCursor") is None:
            return
        params = {"cursor": page["nextCursor"]}


def wanted(tools: dict[str, Json]) -> list[tuple[str, Json]]:
    """Return the calls that the suite asks for, else one of each tool."""
    context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
    if "toolCalls" in context:
        return [(call["name"], call["arguments"]) for call in context["toolCalls"]]
    first = next(iter(tools.values()), {})
    return [(name, made_up(tool["inputSchema"], first)) for name, tool in tools.items()]


def made_up(schema: Json, first: Json) -> Json:
    """Return arguments for the required parameters; one that wants a schema gets that of the first tool listed."""
    samples = SAMPLES | {"object": first["inputSchema"]}
    properties = schema.get("properties", {})
    return {name: samples.get(properties.get(name, {}).get("type")) for name in schema.get("required", ())}


def next_round(result: Json) -> Json:
    """Return what the next request of an unfinished call adds (MCP 2026-07-28, "Multi Round-Trip Requests").

    Nobody is here to answer, so everything is declined; the state goes back as it came.
    """
    more: Json = {"inputResponses": {key: {"action": "decline"} for key in result.get("inputRequests", {})}}
    return more | ({"requestState": result["requestState"]} if "requestState" in result else {})


# -- parameters in headers (MCP 2026-07-28, Tools, "x-mcp-header") -----------------------------------------------------


def headers_of(tool: Json) -> dict[tuple[str, ...], str] | None:
    """Return the header of each annotated parameter by its path, None for a tool that must not be used."""
    found: list[tuple[tuple[str, ...], Json]] = list(annotated(tool["inputSchema"]))
    names = [str(schema["x-mcp-header"]) for _, schema in found]
    sound = (
        all(re.fullmatch(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", name) for name in names)
        and all(schema.get("type") in MIRRORED for _, schema in found)
        and len({name.lower() for name in names}) == len(names)
        and len(names) == everywhere(tool["inputSchema"])
    )
    if not sound:
        print(f"{tool['name']} is left out: its x-mcp-header annotations are invalid", file=sys.stderr)
        return None
    return {path: f"Mcp-Param-{name}" for (path, _), name in zip(found, names, strict=True)}


def annotated(schema: Json, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Json]]:
    """Yield the annotated parameters that are reached by `properties` alone."""
    for name, each in schema.get("properties", {}).items():
        if isinstance(each, dict):
            if "x-mcp-header" in each:
                yield (*path, name), each
            yield from annotated(each, (*path, name))


def everywhere(schema: Any) -> int:
    """Count the annotations wherever they are; references are not followed."""
    if isinstance(schema, dict):
        return ("x-mcp-header" in schema) + sum(map(everywhere, schema.values()))
    return sum(map(everywhere, schema)) if isinstance(schema, list) else 0


def mirrored(tool: Json, arguments: Json) -> tuple[tuple[str, str], ...]:
    """Return the headers that mirror the arguments of a call."""
    pairs = []
    for path, header in (headers_of(tool) or {}).items():
        value: Any = arguments
        for name in path:
            value = value.get(name) if isinstance(value, dict) else None
        if value is not None:
            pairs.append((header, encoded(value if isinstance(value, str) else json.dumps(value))))
    return tuple(pairs)


def encoded(value: str) -> str:
    """Return a header's value: as it is where that is safe, else in base64."""
    plain = value.isascii() and (value.isprintable() or not value) and value == value.strip()
    if plain and not re.fullmatch(r"=\?base64\?.*\?=", value):
        return value
    return f"=?base64?{base64.b64encode(value.encode()).decode()}?="


if __name__ == "__main__":
    main(sys.argv[-1])
