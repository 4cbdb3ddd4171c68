"""The clients that are timed, each in a process and an environment of its own: `python -m bench.peers NAME URL`.

A worker reads commands from stdin, one JSON array a line, and answers each with one line of JSON:

    ["calls", bank, n]             the seconds of each of n recalls, the connection being warm
    ["threads", bank, n, threads]  the seconds for n recalls shared out to threads on one client
    ["memory", bank]               by how many bytes one recall raised the peak of the process's memory

Nothing but the standard library is imported before it is known which client is wanted.
"""

import asyncio
import http.client
import json
import re
import resource
import sys
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

_STATUS: Final = Path("/proc/self/status")
QUERY: Final = "What does Alice drink?"
META: Final = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "floor", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
PARAMS: Final = {"name": "recall", "arguments": {"query": QUERY}, "_meta": META}
BODY: Final = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": PARAMS}).encode()
HEADERS: Final = {
    "Content-Type": "application/json",
    "Accept": "application/json, text/event-stream",
    "Accept-Encoding": "identity",
    "User-Agent": "floor/1",
    "MCP-Protocol-Version": "2026-07-28",
    "Mcp-Method": "tools/call",
    "Mcp-Name": "recall",
}

Recall = Callable[[], Any]


@contextmanager
def hindsight_bank(url: str, bank: str) -> Iterator[Recall]:
    """Open this package's client."""
    from hindsight_bank import Bank

    with Bank(url, bank) as opened:
        yield lambda: opened.recall(QUERY)


@contextmanager
def floor(url: str, bank: str) -> Iterator[Recall]:
    """Open raw httpx: a prepared POST, the answer through json.loads, nothing checked."""
    import httpx

    with httpx.Client(timeout=60) as client:
        endpoint = f"{url}/mcp/{bank}/"
        yield lambda: json.loads(client.post(endpoint, content=BODY, headers=HEADERS).content)


@contextmanager
def http_client(url: str, bank: str) -> Iterator[Recall]:
    """Open the standard library's client, the answer through json.loads."""
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=60)

    def recall() -> Any:
        connection.request("POST", f"/mcp/{bank}/", BODY, HEADERS)
        return json.loads(connection.getresponse().read())

    yield recall
    connection.close()


@contextmanager
def hindsight_client(url: str, bank: str) -> Iterator[Recall]:
    """Open the vendor's client, which speaks REST."""
    from hindsight_client import Hindsight

    with Hindsight(url) as client:
        yield lambda: client.recall(bank, QUERY)


@contextmanager
def mcp_portal(url: str, bank: str) -> Iterator[Recall]:
    """Open the official SDK's client for synchronous use: on an event loop in a thread of its own."""
    from anyio.from_thread import start_blocking_portal
    from mcp.client import Client

    with start_blocking_portal() as portal:
        client = Client(f"{url}/mcp/{bank}/")
        with portal.wrap_async_context_manager(client):
            yield lambda: portal.call(client.call_tool, "recall", {"query": QUERY})


@asynccontextmanager
async def mcp(url: str, bank: str) -> AsyncIterator[Callable[[], Awaitable[Any]]]:
    """Open the official SDK's client as it is meant: inside of one asyncio.run."""
    from mcp.client import Client

    async with Client(f"{url}/mcp/{bank}/") as client:
        yield lambda: client.call_tool("recall", {"query": QUERY})


@asynccontextmanager
async def fastmcp(url: str, bank: str) -> AsyncIterator[Callable[[], Awaitable[Any]]]:
    """Open FastMCP's client inside of one asyncio.run."""
    from fastmcp import Client

    async with Client(f"{url}/mcp/{bank}/") as client:
        yield lambda: client.call_tool("recall", {"query": QUERY})


SYNCHRONOUS: Final = {
    "hindsight-bank": hindsight_bank,
    "httpx": floor,
    "http.client": http_client,
    "hindsight-client": hindsight_client,
    "mcp portal": mcp_portal,
}
ASYNCHRONOUS: Final = {"mcp": mcp, "fastmcp": fastmcp}


def _work(name: str, url: str) -> None:
    opened: dict[str, Recall] = {}
    with ExitStack() as stack:
        for line in sys.stdin:
            command, bank, *rest = json.loads(line)
            if bank not in opened:
                opened[bank] = stack.enter_context(SYNCHRONOUS[name](url, bank))
                if command != "memory":
                    opened[bank]()
            _tell(_COMMANDS[command](opened[bank], *rest))


async def _work_async(name: str, url: str) -> None:
    opened: dict[str, Callable[[], Awaitable[Any]]] = {}
    async with AsyncExitStack() as stack:
        while line := sys.stdin.readline():
            _, bank, number = json.loads(line)
            if bank not in opened:
                opened[bank] = await stack.enter_async_context(ASYNCHRONOUS[name](url, bank))
                await opened[bank]()
            took = []
            for _ in range(number):
                began = time.perf_counter()
                await opened[bank]()
                took.append(time.perf_counter() - began)
            _tell(took)


def _calls(recall: Recall, number: int) -> list[float]:
    took = []
    for _ in range(number):
        began = time.perf_counter()
        recall()
        took.append(time.perf_counter() - began)
    return took


def _threads(recall: Recall, number: int, threads: int) -> float:
    failures: list[Exception] = []

    def some() -> None:
        try:
            _calls(recall, number // threads)
        except Exception as error:
            failures.append(error)

    workers = [threading.Thread(target=some) for _ in range(threads)]
    began = time.perf_counter()
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    took = time.perf_counter() - began
    if failures:
        raise failures[0]
    return took


def _memory(recall: Recall) -> int:
    before = _peak()
    recall()
    return _peak() - before


def _peak() -> int:
    """Return the most bytes that were resident so far: not ru_maxrss, with which a process begins as its parent is."""
    if _STATUS.exists() and (found := re.search(r"VmHWM:\s*(\d+) kB", _STATUS.read_text())):
        return int(found[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


_COMMANDS: Final[dict[str, Callable[..., Any]]] = {"calls": _calls, "threads": _threads, "memory": _memory}


def _tell(value: Any) -> None:
    print(json.dumps(value), flush=True)


if __name__ == "__main__":
    if sys.argv[1] in ASYNCHRONOUS:
        asyncio.run(_work_async(*sys.argv[1:]))
    else:
        _work(*sys.argv[1:])
