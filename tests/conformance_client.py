"""The client that the official conformance suite drives: it lists the tools, calls each one, and leaves.

Usage, as the suite has it: conformance_client.py URL. It speaks through the product's own transport and endpoint; what
a general client needs beyond a client of Hindsight stands here: arguments made up from schemas, and calls that take
several rounds. It knows no scenario by name.
"""

import json
import os
import sys
from collections import deque
from collections.abc import Iterator
from typing import Any

from hindsight_bank import RPCError, jsonrpc, mirror
from hindsight_bank.deadline import Deadline
from hindsight_bank.endpoint import Endpoint
from hindsight_bank.session import MODERN, Client
from hindsight_bank.transport import Limits, Transport

SECONDS = 20.0
ROUNDS = 10  # as the official SDK
SAMPLES: dict[str, Any] = {"string": "x", "integer": 2, "number": 2.5, "boolean": True, "array": [], "null": None}

Json = dict[str, Any]


def main(url: str) -> None:
    limits = Limits()
    endpoint = Endpoint(Transport(url, limits), Client("hindsight-bank-conformance", "1"), limits)
    try:
        if os.environ["MCP_CONFORMANCE_PROTOCOL_VERSION"] != MODERN:
            # The suite's servers of the 2025 revisions answer anything, so there is no refusal to learn from.
            endpoint._open(Deadline("initialize", SECONDS))
        tools = {tool["name"]: tool for tool in listed(endpoint) if not mirror.mirrored(tool["inputSchema"])[1]}
        calls: deque[tuple[str, Json, Json, int]]
        calls = deque((name, arguments, {}, 1) for name, arguments in wanted(tools))
        while calls:  # the rounds of several calls interleave, and must not mix
            name, arguments, answers, attempt = calls.popleft()
            params = {"name": name, "arguments": arguments, **answers}
            try:
                paths, _ = mirror.mirrored(tools[name]["inputSchema"])
                result = request(endpoint, "tools/call", params, name, mirror.headers(paths, arguments))
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
    endpoint: Endpoint, method: str, params: Json, name: str | None = None, mirrored: mirror.Headers = ()
) -> Json:
    deadline = Deadline(method, SECONDS)
    message = endpoint.request(method, params, deadline, decode=jsonrpc.decode, name=name, mirrored=mirrored)
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


if __name__ == "__main__":
    main(sys.argv[-1])
