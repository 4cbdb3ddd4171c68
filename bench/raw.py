"""What a raw script says to a server to get as far as our client does: the same requests, their bodies prepared."""

import json
from collections.abc import Iterator
from typing import Any, Final

_INFO: Final = {"name": "raw", "version": "1"}
_META: Final = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": _INFO,
    "io.modelcontextprotocol/clientCapabilities": {},
}
_PLAIN: Final = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
_CALLS: Final[tuple[tuple[str, dict[str, Any]], ...]] = (
    ("tools/list", {}),
    ("tools/call", {"name": "get_bank", "arguments": {}}),
    ("tools/call", {"name": "recall", "arguments": {"query": "What does Alice drink?"}}),
)


def conversation(generation: str) -> Iterator[tuple[bytes, dict[str, str]]]:
    """Yield bodies and headers: 3 in 2026-07-28; in 2025-11-25 6, of which a server refuses the first."""
    if generation == "modern":
        yield from (_modern(*call) for call in _CALLS)
        return
    yield _modern(*_CALLS[0])
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": _INFO}
    yield _message("initialize", hello), _PLAIN
    session = _PLAIN | {"MCP-Protocol-Version": "2025-11-25", "Mcp-Session-Id": "00bbeae7219342fa9c273e63f5f9bd40"}
    yield b'{"jsonrpc":"2.0","method":"notifications/initialized"}', session
    yield from ((_message(method, params), session) for method, params in _CALLS)


def _modern(method: str, params: dict[str, Any]) -> tuple[bytes, dict[str, str]]:
    headers = _PLAIN | {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method}
    if "name" in params:
        headers["Mcp-Name"] = params["name"]
    return _message(method, params | {"_meta": _META}), headers


def _message(method: str, params: dict[str, Any]) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
