"""The null server: prepared bytes over raw sockets, a thread a connection, in a process of its own.

It speaks both generations of MCP as Hindsight does (2026-07-28 in JSON; 2025-11-25 in event streams, with sessions) and
the REST recall of the vendor's client. It does next to nothing, so that what is timed is the client.
"""

import json
import re
import socket
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from typing import Final

from bench import answers

Parts = list[bytes | memoryview]

MODERN: Final = b"2026-07-28"
LEGACY: Final = b"2025-11-25"
_SESSION: Final = b"Mcp-Session-Id: 00bbeae7219342fa9c273e63f5f9bd40\r\n"
_LENGTH: Final = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)
_VERSION: Final = re.compile(rb"mcp-protocol-version: *([\d-]+)", re.IGNORECASE)
_ID: Final = re.compile(rb'"id": ?(\d+|"[^"]*")')
_METHOD: Final = re.compile(rb'"method": ?"([^"]*)"')
_TOOL: Final = re.compile(rb'"name": ?"(recall|get_bank|list_memories)"')
_NUMBER: Final = re.compile(rb'"(limit|offset)": ?(\d+)')
_POSTS: Final[Counter[str]] = Counter()


def serve(listener: socket.socket) -> None:
    """Answer every connection until the process ends."""
    while True:
        connection, _ = listener.accept()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        threading.Thread(target=_talk, args=(connection,), daemon=True).start()


def _talk(connection: socket.socket) -> None:
    with suppress(OSError), connection:
        for head, body in _requests(connection):
            _send(connection, _response(head, body))


def _requests(connection: socket.socket) -> Iterator[tuple[bytes, bytes]]:
    data = b""
    while True:
        while (end := data.find(b"\r\n\r\n")) < 0:
            if not (more := connection.recv(65_536)):
                return
            data += more
        length = _LENGTH.search(data, 0, end)
        size = end + 4 + (int(length[1]) if length else 0)
        while len(data) < size:
            data += connection.recv(65_536)
        yield data[: end + 4], data[end + 4 : size]
        data = data[size:]


def _send(connection: socket.socket, parts: Parts) -> None:
    while parts:
        sent = connection.sendmsg(parts)
        while parts and sent >= len(parts[0]):
            sent -= len(parts.pop(0))
        if parts:
            parts[0] = memoryview(parts[0])[sent:]


def _response(head: bytes, body: bytes) -> Parts:
    verb, path, _ = head.split(b" ", 2)
    place = path.decode().strip("/").split("/")
    if place[0] == "posts":
        return _http(b"application/json", [json.dumps(_POSTS.pop(place[1], 0)).encode()])
    if verb != b"POST":
        return _http(b"application/json", [b"{}"], b"200 OK" if verb == b"DELETE" else b"405 Method Not Allowed")
    if place[0] == "v1":  # /v1/default/banks/{bank}/memories/recall
        return _http(b"application/json", [answers.rest(place[3])])
    _POSTS[place[1]] += 1
    return _mcp(place[1], head, body)


def _mcp(bank: str, head: bytes, body: bytes) -> Parts:
    """Answer a message to a bank, in the generation that its name says."""
    generation = bank.partition("-")[0]
    version = _VERSION.search(head)
    request_id = _ID.search(body)
    if request_id is None:
        return _http(b"application/json", [b""], b"202 Accepted")
    if generation == "legacy" and version and version[1] == MODERN:
        said = (
            b'{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"Bad Request: Missing session ID"}}'
        )
        return _http(b"application/json", [said], b"400 Bad Request")
    message = [b'{"jsonrpc":"2.0","id":', request_id[1], b',"result":', _result(bank, generation, body), b"}"]
    if generation == "modern":
        return _http(b"application/json", message)
    event = [b"event: message\r\ndata: ", *message, b"\r\n\r\n"]
    return [
        b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-cache, no-transform\r\n",
        _SESSION,
        b"Transfer-Encoding: chunked\r\n\r\n%x\r\n" % sum(map(len, event)),
        *event,
        b"\r\n0\r\n\r\n",
    ]


def _result(bank: str, generation: str, body: bytes) -> bytes:
    method = _METHOD.search(body)
    tool = _TOOL.search(body)
    if tool and tool[1] == b"recall":
        return answers.recall(bank)
    if tool and tool[1] == b"list_memories":
        numbers = {name.decode(): int(value) for name, value in _NUMBER.findall(body)}
        return answers.page(bank, numbers.get("offset", 0), numbers.get("limit", 100))
    if tool:
        return answers.profile(bank)
    if method and method[1] == b"tools/list":
        return answers.tools(generation)
    if method and method[1] == b"initialize":
        info = json.dumps(answers.SERVER).encode()
        return b'{"protocolVersion":"%b","capabilities":{"tools":{}},"serverInfo":%b}' % (LEGACY, info)
    discovered = {"supportedVersions": [MODERN.decode()], "capabilities": {"tools": {}}, "resultType": "complete"}
    cacheable = {"ttlMs": 0, "cacheScope": "private", "_meta": {"io.modelcontextprotocol/serverInfo": answers.SERVER}}
    return json.dumps(discovered | cacheable).encode()


def _http(kind: bytes, body: list[bytes], status: bytes = b"200 OK") -> Parts:
    head = b"HTTP/1.1 %b\r\nContent-Type: %b\r\nContent-Length: %d\r\n\r\n" % (status, kind, sum(map(len, body)))
    return [head, *body]


if __name__ == "__main__":
    listening = socket.create_server(("127.0.0.1", 0), backlog=128)
    print(f"http://127.0.0.1:{listening.getsockname()[1]}", flush=True)
    threading.Thread(target=serve, args=(listening,), daemon=True).start()
    sys.stdin.read()  # until the parent is gone
