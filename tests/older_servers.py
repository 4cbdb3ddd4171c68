"""Servers of the older generations of tools, on FastMCP as theirs were: `python older_servers.py` prints their port.

One process serves, below a path each, what `hindsight_put` and `hindsight_search` were in Hindsight 0.0.8 to 0.0.16,
the same with `agent_id` as it was before, and what the documentation of the same versions says of `hindsight_think` and
the tools beside it: over Streamable HTTP as it is, below /2025 of the 2025 revisions only, and once over HTTP+SSE.

What is stored is a line of text: a search finds the lines that have a word of the query.
"""

import asyncio
import inspect
import json
import socket
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from functools import wraps
from typing import Any

import uvicorn
from fastmcp import FastMCP
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Mount

Answer = dict[str, Any]
Bank = list[Answer]
Tool = Callable[..., Awaitable[Any]]
ASGI = Callable[[Any, Any, Any], Awaitable[None]]

BANKS: dict[str, Bank] = {}


def found(bank: str, query: str) -> Bank:
    words = {word.strip("?.").lower() for word in query.split()}
    return [fact for fact in BANKS.get(bank, []) if words & set(fact["text"].strip(".").lower().split())]


def stored(bank: str, content: str, context: str | None) -> None:
    if "unstorable" in content:
        raise RuntimeError("'MemoryEngine' object has no attribute 'put_batch_async'")
    fact_id = f"00000000-0000-4000-8000-{len(BANKS.get(bank, [])):012}"
    fact = {"id": fact_id, "text": content, "type": "world", "context": context}
    fact |= {"event_date": "2025-03-01T09:00:00+00:00", "document_id": None}
    BANKS.setdefault(bank, []).append(fact)


def put(bank: str, content: str, context: str) -> str:
    try:
        stored(bank, content, context)
    except RuntimeError as error:
        return f"Error: {error}"
    return "Fact stored successfully"


def search(bank: str, query: str) -> str:
    if query == "fail":
        return json.dumps({"error": "'MemoryFact' object has no attribute 'event_date'", "results": []})
    return json.dumps({"results": found(bank, query)}, indent=2)


def by_bank_id() -> FastMCP:
    """Hindsight 0.0.8 to 0.0.16."""
    mcp = FastMCP("hindsight-mcp-server")

    @mcp.tool()
    async def hindsight_put(bank_id: str, content: str, context: str, explanation: str = "") -> str:  # noqa: ARG001
        return put(bank_id, content, context)

    @mcp.tool()
    async def hindsight_search(bank_id: str, query: str, max_tokens: int = 4096, explanation: str = "") -> str:  # noqa: ARG001
        return search(bank_id, query)

    return mcp


def by_agent_id() -> FastMCP:
    """The same before 0.0.8."""
    mcp = FastMCP("hindsight-mcp-server")

    @mcp.tool()
    async def hindsight_put(agent_id: str, content: str, context: str, explanation: str = "") -> str:  # noqa: ARG001
        return put(agent_id, content, context)

    @mcp.tool()
    async def hindsight_search(agent_id: str, query: str, max_tokens: int = 4096, explanation: str = "") -> str:  # noqa: ARG001
        return search(agent_id, query)

    return mcp


def fault(code: str, message: str) -> Answer:
    return {"error": {"code": code, "message": message}}


def missing(agent: str) -> Answer | None:
    return None if agent in BANKS else fault("NOT_FOUND", f"Memory bank '{agent}' not found")


async def hindsight_search(query: str, agent_id: str = "default", top_k: int = 10) -> Answer:
    if query == "fail":
        return fault("INTERNAL_ERROR", "the memory bank does not exist any more, says the database")
    results = [{"text": fact["text"], "weight": 0.95, "fact_type": "world"} for fact in found(agent_id, query)]
    return missing(agent_id) or {"results": results[:top_k]}


async def hindsight_think(query: str, agent_id: str = "default", budget: str = "low") -> Answer:
    grounds = [{"text": fact["text"], "weight": 1} for fact in found(agent_id, query)]
    return missing(agent_id) or {"text": f"Thought, {budget}.", "based_on": grounds, "new_opinions": []}


async def hindsight_store(content: str, agent_id: str = "default", context: str | None = None) -> Answer:
    if content == "invalid":
        return fault("INVALID_PARAMS", "Missing or invalid parameters")
    if content == "full":
        return {"success": False, "message": "The store is full"}
    stored(agent_id, content, context)
    return {"success": True, "message": "Memory stored successfully"}


async def hindsight_agents() -> Answer:
    return {"memory banks": [{"agent_id": agent} for agent in sorted(BANKS)]}


def by_documentation(form: Callable[[Tool], Tool]) -> FastMCP:
    """What the documentation of 0.0.8 to 0.0.16 says of them."""
    mcp = FastMCP("hindsight")
    for tool in (hindsight_search, hindsight_think, hindsight_store, hindsight_agents):
        mcp.tool()(form(tool))
    return mcp


def as_object(tool: Tool) -> Tool:
    return tool


def as_text(tool: Tool) -> Tool:
    """Answer with JSON in a text, which FastMCP wraps."""

    @wraps(tool)
    async def texted(**given: Any) -> str:
        return json.dumps(await tool(**given))

    signature = inspect.signature(tool).replace(return_annotation=str)
    texted.__signature__ = signature  # type: ignore[attr-defined]  # what inspect looks at first
    return texted


def something_else() -> FastMCP:
    """An MCP server that is no Hindsight."""
    mcp = FastMCP("calculator")

    @mcp.tool()
    async def add(a: int, b: int) -> int:
        return a + b

    return mcp


def of_2025(app: ASGI) -> ASGI:
    """Refuse the later protocol as the servers of its time do."""

    async def older(scope: Any, receive: Any, send: Any) -> None:
        if (b"mcp-protocol-version", b"2026-07-28") not in scope["headers"]:
            return await app(scope, receive, send)
        error = {"code": -32600, "message": "Bad Request: Missing session ID"}
        refusal = JSONResponse({"jsonrpc": "2.0", "id": "server-error", "error": error}, 400)
        return await refusal(scope, receive, send)

    return older


async def serve() -> None:
    apps = {
        "/bank": by_bank_id().http_app("/mcp"),
        "/agent": by_agent_id().http_app("/mcp"),
        "/documented": by_documentation(as_object).http_app("/mcp"),
        "/documented-text": by_documentation(as_text).http_app("/mcp"),
        "/calculator": something_else().http_app("/mcp"),
        # As it was released: mounted at /mcp, itself at /mcp. Before, with HTTP+SSE.
        "/mcp": by_bank_id().http_app("/mcp"),
        "/sse-only/mcp": by_agent_id().http_app("/sse", transport="sse"),
    }
    routes = [Mount(path, app) for path, app in apps.items()]
    # What is documented, where it is documented: the mount above it takes /mcp/ alone.
    routes.append(Mount("", (documented := by_documentation(as_object).http_app("/mcp"))))
    older = [Mount("/2025" + path, of_2025(app)) for path, app in apps.items()]
    async with AsyncExitStack() as lives:
        for app in (*apps.values(), documented):
            await lives.enter_async_context(app.lifespan(app))
        listener = socket.create_server(("127.0.0.1", 0))
        print(listener.getsockname()[1], flush=True)  # noqa: T201 - what the caller waits for
        await uvicorn.Server(uvicorn.Config(Starlette(routes=older + routes), log_level="warning")).serve([listener])


if __name__ == "__main__":
    asyncio.run(serve())
