"""Whole processes: what importing and a cold start cost, and what the wire sees of it."""

import json
import subprocess
import sys
import time
import urllib.request
from statistics import median
from typing import Any, Final

from bench.answers import bank
from bench.environments import HOMES, variables

IMPORTS: Final = {
    "hindsight-bank": "from hindsight_bank import Bank",
    "httpx": "import httpx",
    "hindsight-client": "from hindsight_client import Hindsight",
    "mcp": "from mcp.client import Client",
    "fastmcp": "from fastmcp import Client",
    "http.client": "pass",
}

_ASYNC: Final = """
import asyncio
{import_}
async def main():
    async with Client("{url}/mcp/{bank}/") as client:
        await client.call_tool("recall", {{"query": "What does Alice drink?"}})
asyncio.run(main())
"""
# The same requests as ours: tool list, bank and recall, each answer through json.
_RAW: Final = """
import json
import httpx
from bench.raw import conversation
with httpx.Client({options}) as client:
    for body, headers in conversation("{generation}"):
        answer = client.post("{url}/mcp/{bank}/", content=body, headers=headers)
        if answer.status_code == 200:
            text = answer.content
            json.loads(text if text[:1] == b"{{" else text.split(b"data: ", 1)[1])
"""
COLD: Final = {
    "hindsight-bank": """
from hindsight_bank import Bank
with Bank("{url}", "{bank}") as bank:
    bank.recall("What does Alice drink?")
""",
    "httpx": _RAW,
    "hindsight-client": """
from hindsight_client import Hindsight
with Hindsight("{url}") as client:
    client.recall("{bank}", "What does Alice drink?")
""",
    "mcp": _ASYNC.replace("{import_}", IMPORTS["mcp"]),
    "fastmcp": _ASYNC.replace("{import_}", IMPORTS["fastmcp"]),
}


def imports(scale: int) -> dict[str, dict[str, float | None]]:
    """Return the seconds of processes that only import, best and median; ``http.client`` stands for none at all."""
    print("imports", file=sys.stderr)
    return _timed(IMPORTS, 5 * scale)


def cold(url: str, scale: int) -> dict[str, dict[str, dict[str, float | None]]]:
    """Return the seconds of scripts that recall once, by generation."""
    tables = {}
    for generation in ("modern", "legacy"):
        print(f"cold starts, {generation}", file=sys.stderr)
        place = {"url": url, "bank": bank(generation, 1024), "generation": generation}
        scripts = {name: script.format(**place, options="") for name, script in COLD.items()}
        scripts["httpx, no certificates"] = _RAW.format(**place, options="verify=False")
        tables[generation] = _timed(scripts, 3 * scale)
    return tables


def posts(url: str) -> dict[str, dict[str, int]]:
    """Return how many POSTs a server sees from the start of a process to its first recall."""
    seen: dict[str, dict[str, int]] = {}
    for generation in ("modern", "legacy"):
        name = bank(generation, 1025)
        for client in ("hindsight-bank", "mcp", "fastmcp"):
            _count(url, name)
            _run(client, COLD[client].format(url=url, bank=name))
            seen.setdefault(client, {})[generation] = _count(url, name)
    return seen


def iteration(url: str) -> dict[str, Any]:
    """Return the seconds and the growth of memory of iterating 100,000 memories, at each 5,000."""
    return dict(json.loads(_run("hindsight-bank", _ITERATE.format(url=url)) or "{}"))


def decoding() -> dict[str, dict[str, float]]:
    """Return the seconds of decoding alone, by size: from an envelope's bytes to objects, and json.loads of them."""
    return dict(json.loads(_run("hindsight-bank", _DECODE) or "{}"))


_ITERATE: Final = """
import json, time, tracemalloc
from hindsight_bank import Bank
def memory():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096
seconds, grown = [], []
with Bank("{url}", "modern-1024") as bank:
    began = time.perf_counter()
    for number, item in enumerate(bank.iter_memories(), 1):
        if number == 101:
            first = memory()
        if number % 5000 == 0:
            seconds.append(time.perf_counter() - began)
            grown.append(memory() - first)
print(json.dumps({{"count": number, "seconds": seconds, "grown": grown}}))
"""
_DECODE: Final = """
import json, time
from bench.answers import SIZES, recall, rest
from hindsight_bank import answers
decode = answers.decoder("recall")
ways = {
    "hindsight-bank": lambda text: answers.answer("recall", decode(text).result, str),
    "json.loads": json.loads,
    "json.loads, once": lambda text: json.loads(once),
}
table = {}
for label, size in SIZES.items():
    text = b'{"jsonrpc":"2.0","id":1,"result":' + recall(f"modern-{size}") + b"}"
    once = rest(f"modern-{size}")  # what the text says again, and nothing else
    best = dict.fromkeys(ways, 9e9)
    for _ in range(max(5, min(2000, 3 * 10**7 // len(text)))):
        for name, way in ways.items():
            began = time.perf_counter()
            result = way(text)
            best[name] = min(best[name], time.perf_counter() - began)
            del result  # or the next way would be charged with freeing it
    table[label] = best
print(json.dumps(table))
"""


def _timed(scripts: dict[str, str], rounds: int) -> dict[str, dict[str, float | None]]:
    took: dict[str, list[float]] = {name: [] for name in scripts}
    for number in range(rounds + 1):
        for name, script in scripts.items():
            began = time.perf_counter()
            ended = _run(name.partition(",")[0], script)
            if number and ended is not None:  # the first round wrote the bytecode
                took[name].append(time.perf_counter() - began)
    return {name: {"best": min(times, default=None), "median": _median(times)} for name, times in took.items()}


def _median(times: list[float]) -> float | None:
    return median(times) if times else None


def _run(name: str, script: str) -> str | None:
    """Run a script with a client, and return what it printed; None if it failed."""
    command = [HOMES[name].python, "-c", script]
    ended = subprocess.run(command, capture_output=True, text=True, env=variables(), check=False)
    if ended.returncode:
        print(f"{name}: {ended.stderr}", file=sys.stderr)
        return None
    return ended.stdout


def _count(url: str, name: str) -> int:
    with urllib.request.urlopen(f"{url}/posts/{name}") as answer:
        return int(answer.read())
