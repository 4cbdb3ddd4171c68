"""Answers that are many times their size in memory, and what they cost, in multiples of max_response_bytes."""

import gzip
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator

from wire_server import EVENTS, JSON, Hindsight, Play, Request, Step, WireServer, encoded, http, result

MOST = int(os.environ.get("BOMB_BYTES", "4194304"))
PIECE = 2**16


def filled(before: bytes, unit: bytes, after: bytes, most: int = MOST) -> bytes:
    """Return an answer of all but the largest size, made of one unit again and again."""
    return before + unit * ((most - 4096 - len(before) - len(after)) // len(unit)) + after


def endless(head: bytes, unit: bytes) -> Iterator[Step]:
    """Send a unit without end."""
    yield http(head, EVENTS, framing="close")
    while True:
        yield unit * (PIECE // len(unit))


def tiny_chunks(kind: str) -> Iterator[Step]:
    """Send one line without end, two bytes a chunk."""
    yield http(b"", kind, framing="chunked").removesuffix(b"0\r\n\r\n")
    while True:
        yield b"2\r\nxx\r\n" * (PIECE // 7)


def envelope(request: Request, member: bytes, unit: bytes, after: bytes, most: int = MOST) -> bytes:
    """Return a message with one member that is nothing but a unit again and again."""
    start = b'{"jsonrpc":"2.0","id":%d,%s' % (request.id, member)
    return filled(start, unit, after + b"}", most)


def said_twice(request: Request) -> bytes:
    """Return an answer that is no bomb: facts like real ones, as structured content and as text."""
    fact: dict[str, object] = {"id": "959daf67-4474-4f04-ac2f-4e978e1f66c5", "text": "Alice prefers tea."}
    fact |= dict.fromkeys(("entities", "occurred_start", "occurred_end", "source_fact_ids", "chunk_id"))
    fact |= {
        "fact_type": "world",
        "context": "work",
        "mentioned_at": "2025-03-02T10:00:00Z",
        "document_id": "a",
        "metadata": {},
    }
    facts = [fact | {"tags": ["user:alice"]}] * (MOST // 768)
    found = {"results": facts, **dict.fromkeys(("trace", "entities", "chunks", "source_facts"))}
    content = [{"type": "text", "text": encoded(found).decode()}]
    return encoded(result(request, {"content": content, "structuredContent": found}))


def stream(body: bytes) -> bytes:
    return http(b"data: " + body + b"\n\n", EVENTS)


# Not so dense that it is refused for its weight.
LIGHT = b'"a text that is long enough to pass",[],'
FACTS = b'"result":{"content":[],"structuredContent":{"results":[],"entities":null,"chunks":null,"source_facts":null,'
RECALL: dict[str, Callable[[Request], Play]] = {
    "endless line": lambda _: endless(b"data: ", b"x"),
    "tiny chunks": lambda _: tiny_chunks(JSON),
    "tiny chunks of a line": lambda _: tiny_chunks(EVENTS),
    "endless event": lambda _: endless(b"", b"data: x\n"),
    "endless comments": lambda _: endless(b"", b": ping\n\n"),
    "endless empty events": lambda _: endless(b"", b"data: \n\n"),
    "endless notifications": lambda _: endless(b"", b'data: {"jsonrpc":"2.0","method":"n"}\n\n'),
    "brackets": lambda request: http(envelope(request, b'"result":', b"[", b"")),
    "brackets, as events": lambda request: stream(envelope(request, b'"result":', b"[", b"")),
    "tiny lists in the result": lambda request: http(envelope(request, b'"result":[', b"[],", b"0]")),
    "tiny lists in the answer": lambda request: http(envelope(request, FACTS + b'"trace":{"x":[', b"[],", b"0]}}}")),
    "tiny objects where no schema looks": lambda request: http(
        envelope(request, FACTS + b'"trace":null,"x":[', b'{"a":1},', b"0]}}")
    ),
    "tiny objects in the answer": lambda request: http(
        envelope(request, FACTS + b'"trace":{"x":[', b'{"a":1},', b"0]}}}")
    ),
    "short texts in the answer": lambda request: http(envelope(request, FACTS + b'"trace":{"x":[', b'"ab",', b"0]}}}")),
    "data of an error": lambda request: http(envelope(request, b'"error":{"code":-1,"data":[', b"[],", b"0]}")),
    "data of an error, less dense": lambda request: http(
        envelope(request, b'"error":{"code":-1,"data":[', LIGHT, b"0]}")
    ),
    "a message of an error": lambda request: http(envelope(request, b'"error":{"code":-1,"message":"', b"x", b'"}')),
    "an error in band": lambda request: http(
        envelope(request, b'"result":{"structuredContent":{"error":[', LIGHT, b"0]}}")
    ),
    "facts, said twice": lambda request: http(said_twice(request)),
    "facts, said twice, as an event": lambda request: stream(said_twice(request)),
    "one text": lambda request: http(envelope(request, FACTS + b'"trace":{"x":"', b"x", b'"}}}')),
    "one text, as an event": lambda request: stream(envelope(request, FACTS + b'"trace":{"x":"', b"x", b'"}}}')),
    "one text with an emoji": lambda request: http(
        envelope(request, FACTS + b'"trace":{"x":"\xf0\x9f\x8d\xb5', b"x", b'"}}}')
    ),
    "an id": lambda _: http(filled(b'{"jsonrpc":"2.0","result":{},"id":"', b"x", b'"}')),
    "content": lambda request: http(
        envelope(
            request, b'"result":{"content":[', b'{"type":"text","text":"a text that is long"},', b'{}],"isError":true}'
        )
    ),
    "a batch": lambda _: http(filled(b"[", b'{"jsonrpc":"2.0","method":"n"},', b"{}]")),
    "gzip": lambda _: http(gzip.compress(bytes(MOST)), headers={"content-encoding": "gzip"}),
    "a refusal": lambda _: http(filled(b'{"error":[', b"[],", b"0]}"), status=400),
}
LIST: dict[str, Callable[[Request], Play]] = {
    "tools": lambda request: http(
        envelope(request, b'"result":{"tools":[', b'{"name":"a name that is long enough"},', b'{"name":""}]}')
    ),
    "tools, many pages": lambda request: http(
        envelope(
            request,
            b'"result":{"nextCursor":"%d","tools":[' % request.id,
            b'{"name":"recall","inputSchema":{"description":"a text that is long enough"}},',
            b'{"name":""}]}',
            MOST // 16,
        )
    ),
    "a large schema": lambda request: http(
        envelope(request, b'"result":{"tools":[{"name":"recall","inputSchema":{"x":"', b"x", b'"}}]}')
    ),
    "meta": lambda request: http(envelope(request, b'"result":{"tools":[],"_meta":{"x":[', LIGHT, b"0]}}")),
}
BOMBS = [*RECALL, *LIST]


# The client, in a process of its own: a call that is answered as usual, then the measured one.
CLIENT = """
import json, re, sys, tracemalloc
from pathlib import Path
from hindsight_bank import Bank, BankError

def rss():
    # Not ru_maxrss: a new process begins with its parent's.
    return int(re.search(r"VmHWM:\\s*(\\d+)", Path("/proc/self/status").read_text())[1]) * 1024

url, most, traced = sys.argv[1], int(sys.argv[2]), sys.argv[3] == "traced"
Bank(url, "alice").recall("q")
bank = Bank(url, "bob", max_response_bytes=most, allow_new_bank=True)
before, peak, ended = rss(), 0, "a result"
if traced:
    tracemalloc.start()
try:
    bank.recall("q", timeout=120)
except BankError as error:
    ended = f"{type(error).__name__}: {error}"
if traced:
    peak = tracemalloc.get_traced_memory()[1]
print(json.dumps([peak / most, (rss() - before) / most, ended]))
"""


def cost(name: str, *, traced: bool) -> tuple[float, float, str]:
    """Let one bomb off; return the peaks of Python's and the process's memory, as multiples of MOST, and the end."""
    bomb, label = (RECALL | LIST)[name], "recall" if name in RECALL else "tools/list"
    fake = Hindsight("modern", {label: lambda request: None if "/alice/" in request.path else bomb(request)})
    with WireServer(fake) as server:
        command = [sys.executable, "-c", CLIENT, server.url, str(MOST), "traced" if traced else "untraced"]
        done = subprocess.run(command, capture_output=True, check=True, text=True)
    peak, rss, ended = json.loads(done.stdout)
    return peak, rss, ended


def main() -> None:
    """Print a table of all."""
    sys.stdout.write("| bomb | Python's peak | process's peak | ended as |\n|---|---|---|---|\n")
    for name in BOMBS:
        rss, ended = cost(name, traced=False)[1:]  # tracing takes memory itself
        sys.stdout.write(f"| {name} | {cost(name, traced=True)[0]:.1f} | {rss:.1f} | {ended[:100]} |\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
