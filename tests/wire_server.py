"""A scripted socket server: it sends exactly the bytes of its script, whole or broken, and keeps what it was sent.

A script is called with each request and returns what to play: bytes, or steps, one after the other. A step is bytes to
send, seconds to wait, an event to wait for, or a `Move`. Nothing is corrected, added or framed on the way; `http`,
`sse` and `Hindsight` make well-formed bytes for those scripts that want some.
"""

import json
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum, auto
from functools import cached_property
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Any, Literal, Self

# No test waits this long unless it is about to fail.
PATIENCE = 20.0

JSON = "application/json"
EVENTS = "text/event-stream"


class Move(Enum):
    """What a script does with the connection."""

    CLOSE = auto()  # an orderly end
    RESET = auto()  # the connection breaks
    HANG = auto()  # nothing more, nothing is read either


Step = bytes | float | threading.Event | Move
Play = bytes | Iterable[Step]


@dataclass(frozen=True)
class Request:
    """A request as it came in, on the connection of that number: its raw head, with the blank line, and raw body."""

    head: bytes
    body: bytes
    connection: int

    @cached_property
    def verb(self) -> str:
        return self.head.split(b" ", 1)[0].decode()

    @cached_property
    def path(self) -> str:
        return self.head.split(b" ", 2)[1].decode()

    @cached_property
    def headers(self) -> dict[str, str]:
        lines = self.head.decode("ascii").split("\r\n")[1:]
        return {name.lower(): value for name, _, value in (line.partition(": ") for line in lines if line)}

    @cached_property
    def message(self) -> dict[str, Any]:
        message: dict[str, Any] = json.loads(self.body) if self.body else {}
        return message

    @property
    def id(self) -> Any:
        return self.message.get("id")

    @property
    def arguments(self) -> dict[str, Any]:
        arguments: dict[str, Any] = self.message["params"]["arguments"]
        return arguments

    @property
    def session(self) -> str | None:
        return self.headers.get("mcp-session-id")

    @property
    def label(self) -> str:
        """The tool of a call, else the JSON-RPC method, else the HTTP verb."""
        method = self.message.get("method", "response" if self.message else self.verb)
        return str(self.message["params"]["name"] if method == "tools/call" else method)


Script = Callable[[Request], Play]


class WireServer:
    """Plays `script` on 127.0.0.1; `greeting` is played on each new connection before anything is read."""

    def __init__(
        self,
        script: Script,
        *,
        greeting: Sequence[Step] = (),
        tls: ssl.SSLContext | None = None,
        buffer: int | None = None,
    ) -> None:
        self.script = script
        self.requests: list[Request] = []
        self.connections = 0
        self._greeting, self._tls = greeting, tls
        self._stopping = threading.Event()
        self._sockets: set[socket.socket] = set()
        self._listener = socket.socket()
        if buffer is not None:
            self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        self._listener.bind(("127.0.0.1", 0))
        self._listener.listen(128)
        self.port: int = self._listener.getsockname()[1]
        self.url = f"{'https' if tls else 'http'}://{'localhost' if tls else '127.0.0.1'}:{self.port}"
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    @property
    def log(self) -> list[str]:
        """The labels of all requests so far."""
        return [request.label for request in self.requests]

    def wait_until_asked(self, label: str) -> None:
        """Wait until such a request is here."""
        wait(lambda: label in self.log)

    def wait_until_left(self) -> None:
        """Wait until no connection is open, on this side."""
        wait(lambda: not self._sockets)

    def close(self) -> None:
        """End every connection and wait until all threads are done."""
        self._stopping.set()
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        for sock in list(self._sockets):
            with suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(PATIENCE)
            assert not thread.is_alive(), "a script does not end"
        self._listener.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while not self._stopping.is_set():
                sock, _ = self._listener.accept()
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self.connections += 1
                thread = threading.Thread(target=self._talk, args=(sock, self.connections))
                self._threads.append(thread)
                thread.start()

    def _talk(self, sock: socket.socket, number: int) -> None:
        with suppress(OSError), sock:  # the client may leave at any time
            self._sockets.add(sock)
            goes_on = self._play(sock, self._greeting)
            if goes_on and self._tls is not None:
                self._sockets.discard(sock)
                sock = self._tls.wrap_socket(sock, server_side=True)
                self._sockets.add(sock)
            with sock, sock.makefile("rb") as stream:
                while goes_on and (request := _read(stream, number)) is not None:
                    self.requests.append(request)
                    play = self.script(request)
                    goes_on = self._play(sock, [play] if isinstance(play, bytes) else play)
        self._sockets.discard(sock)

    def _play(self, sock: socket.socket, steps: Iterable[Step]) -> bool:
        """Play the steps and tell whether the connection goes on."""
        for step in steps:
            if isinstance(step, bytes):
                sock.sendall(step)
            elif isinstance(step, threading.Event):
                assert step.wait(PATIENCE), "a script waits for ever"
            elif isinstance(step, float):
                self._stopping.wait(step)
            elif step is Move.HANG:
                self._stopping.wait()
            elif step is Move.RESET:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            if isinstance(step, Move) or self._stopping.is_set():
                return False
        return True


def wait(reached: Callable[[], bool]) -> None:
    """Wait until it has come to something."""
    patience = time.monotonic() + PATIENCE
    while not reached():
        assert time.monotonic() < patience, "it does not come to that"
        time.sleep(0.001)


def _read(stream: Any, number: int) -> Request | None:
    """Read one request, None at the end of the connection."""
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        line = stream.readline()
        if not line:
            return None
        head += line
    request = Request(head, b"", number)
    return Request(head, stream.read(int(request.headers.get("content-length", "0"))), number)


# -- well-formed bytes -------------------------------------------------------------------------------------------------

Framing = Literal["length", "chunked", "close"]
FRAMINGS: tuple[Framing, ...] = ("length", "chunked", "close")


def http(
    body: bytes | Sequence[bytes] = b"",
    kind: str | None = JSON,
    *,
    status: int = 200,
    framing: Framing = "length",
    headers: Mapping[str, str] = MappingProxyType({}),
) -> bytes:
    """Return a whole HTTP answer; a body in pieces becomes as many chunks; `close` must be followed by `Move.CLOSE`."""
    pieces = [body] if isinstance(body, bytes) else body
    lines = [f"HTTP/1.1 {status} Told"]
    lines += [] if kind is None else [f"content-type: {kind}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    if framing == "length":
        lines.append(f"content-length: {sum(map(len, pieces))}")
    else:
        lines.append("transfer-encoding: chunked" if framing == "chunked" else "connection: close")
    head = "\r\n".join([*lines, "", ""]).encode()
    if framing == "chunked":
        chunks = [b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces if piece]
        return head + b"".join([*chunks, b"0\r\n\r\n"])
    return head + b"".join(pieces)


def encoded(message: Any) -> bytes:
    """Return compact JSON with every character as it is."""
    return json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode()


def sse(*messages: Any, end: str = "\r\n") -> bytes:
    """Return one event for each message, as Hindsight frames them."""
    return b"".join(f"event: message{end}data: {encoded(message).decode()}{end}{end}".encode() for message in messages)


def result(request: Request, value: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": request.id, "result": value}


def error(code: int, message: str, request_id: Any = None, **data: Any) -> dict[str, Any]:
    fault = {"code": code, "message": message} | ({"data": data} if data else {})
    return {"jsonrpc": "2.0", "id": request_id, "error": fault}


def tool_result(payload: Any, **more: Any) -> dict[str, Any]:
    """Return the result of tools/call as Hindsight sends it: the payload as text and as structuredContent."""
    text = encoded(payload).decode()
    return {"content": [{"type": "text", "text": text}], "structuredContent": payload, "isError": False, **more}


# -- a minimal Hindsight -----------------------------------------------------------------------------------------------

SCHEMAS = Path(__file__).parent.parent / "schemas" / "tools"
TOOLS = ("retain", "recall", "reflect", "list_memories", "get_memory", "get_bank")
MEMORY: dict[str, Any] = {
    "id": "00000000-0000-0000-0000-000000000001",
    "text": "Alice prefers tea.",
    "context": "",
    "date": "",
    "type": "world",
    "mentioned_at": None,
    "occurred_start": None,
    "occurred_end": None,
    "entities": [],
    "document_id": None,
    "chunk_id": None,
    "tags": [],
}
NO_FACTS: dict[str, Any] = {"results": [], "trace": None, "entities": None, "chunks": None, "source_facts": None}
ANSWERS: dict[str, Any] = {
    "retain": {"status": "accepted", "message": "queued", "operation_id": "o1"},
    "recall": NO_FACTS,
    "reflect": {"text": "Tea.", "structured_output": None, "usage": None},
    "list_memories": {"items": [], "total": 1, "limit": 1, "offset": 0},
    "get_memory": MEMORY,
    "get_bank": {
        "bank_id": "alice",
        "name": "alice",
        "mission": "",
        "disposition": {"skepticism": 3, "literalism": 3, "empathy": 3},
    },
}
LISTED = {name: json.loads((SCHEMAS / f"{name}.json").read_bytes()) for name in TOOLS}

Generation = Literal["modern", "stateful", "stateless"]
GENERATIONS: tuple[Generation, ...] = ("modern", "stateful", "stateless")
# A reply to one label: the payload of a tool, or a function of the request that returns a payload or a play, None for
# the usual answer.
Answer = dict[str, Any] | Callable[[Request], Play | dict[str, Any] | None]


class Hindsight:
    """A script: six tools in one of three generations of the protocol, as real servers speak them.

    Attributes:
        sessions: The live session ids.
        opened: How many sessions were ever opened.
        loss: How a lost session is told: 404 by mcp 1.26 and later, 400 by mcp 1.25.
        tools: What tools/list lists.
    """

    def __init__(self, generation: Generation = "modern", answers: dict[str, Answer] | None = None) -> None:
        self.generation = generation
        self.answers = dict(answers or {})
        self.sessions: set[str] = set()
        self.opened = 0
        self.loss: Literal[404, 400] = 404
        self.tools = [{"name": name, "inputSchema": tool["inputSchema"]} for name, tool in LISTED.items()]
        self._lock = threading.Lock()

    def __call__(self, request: Request) -> Play:
        if refusal := self._refusal(request):
            return refusal
        given = self.answers.get(request.label)
        answer = given(request) if callable(given) else given
        if isinstance(answer, dict):
            return self.told(request, tool_result(answer))
        return self._usual(request) if answer is None else answer

    def told(self, request: Request, value: dict[str, Any], headers: Mapping[str, str] = MappingProxyType({})) -> bytes:
        """Return a result in the generation's own form."""
        if self.generation == "modern":
            return http(encoded(result(request, {**value, "resultType": "complete"})))
        return http(sse(result(request, value)), EVENTS, framing="chunked", headers=headers)

    def _refusal(self, request: Request) -> bytes | None:
        modern = request.headers.get("mcp-protocol-version") == "2026-07-28"
        if self.generation == "modern":
            return None if modern else http(encoded(error(-32601, "Method not found")), status=404)
        if self.generation == "stateless":
            said = encoded(error(-32600, "Bad Request: Unsupported protocol version", "server-error"))
            return http(said, status=400) if modern else None
        if request.label == "initialize" or request.session in self.sessions:
            return None
        if request.session is None:
            said = encoded(error(-32600, "Bad Request: Missing session ID", "server-error"))
            return http(said, status=400, headers={"mcp-session-id": self._open("orphan")})
        if self.loss == 404:
            return http(encoded(error(-32600, "Session not found")), status=404)
        return http(b"Bad Request: No valid session ID provided", None, status=400)

    def _usual(self, request: Request) -> bytes:
        label = request.label
        if label == "tools/list":
            return self.told(request, {"tools": self.tools})
        if label in ANSWERS:
            return self.told(request, tool_result(ANSWERS[label]))
        if label == "initialize":
            info = {"name": "hindsight-mcp-server", "version": "1.1.0"}
            value = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}
            return self.told(request, value, self._session_header())
        if label == "DELETE":
            self.sessions.discard(str(request.session))
            return http(status=405 if self.generation == "stateless" else 200)
        return http(status=202)

    def _session_header(self) -> dict[str, str]:
        return {} if self.generation == "stateless" else {"mcp-session-id": self._open("session")}

    def _open(self, kind: str) -> str:
        with self._lock:
            self.opened += 1
            self.sessions.add(name := f"{kind}-{self.opened}")
        return name


def drip(data: bytes, seconds: float = 0.02) -> Iterator[Step]:
    """Send `data` byte by byte."""
    for byte in data:
        yield bytes([byte])
        yield seconds


def over_and_over(data: bytes, seconds: float | None = None) -> Iterator[Step]:
    """Send `data` without end."""
    while True:
        yield data
        if seconds is not None:
            yield seconds
