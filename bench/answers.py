"""What the null server answers: real answers of Hindsight 1.1.0, scaled, as bytes that are ready before any timing.

The name of a bank says what it answers: its generation of the protocol and the bytes of its recall answers.
"""

import itertools
import json
from functools import cache
from pathlib import Path
from typing import Any, Final

SIZES: Final = {"1 KiB": 2**10, "64 KiB": 2**16, "1 MiB": 2**20, "10 MiB": 10 * 2**20}
GENERATIONS: Final = ("modern", "legacy")
MEMORIES: Final = 100_000
SERVER: Final = {"name": "hindsight-mcp-server", "version": "1.1.0"}

_CAPTURED: Final = Path(__file__).parents[1] / "tests" / "captured"
# tools/list of Hindsight 1.1.0 has 36 tools, in this many bytes.
_LIST_BYTES: Final = 66_150
_PLACE: Final = "@@@@@@@@"


def bank(generation: str, size: int) -> str:
    """Return the name of the bank that answers so."""
    return f"{generation}-{size}"


@cache
def recall(name: str) -> bytes:
    """Return the result of a recall: typed content and the same as text, as servers send both."""
    generation, _, size = name.partition("-")
    facts = _facts()
    least = _told(_found(facts[:1]), generation)
    more = len(_told(_found(facts), generation)) - len(_told(_found(facts[:0]), generation))
    count = 1 + max(int(size) - len(least), 0) * len(facts) // more
    return _told(_found(_numbered(facts, count)), generation)


@cache
def rest(name: str) -> bytes:
    """Return the same facts as the REST interface sends them: once."""
    found = json.loads(recall(name))["structuredContent"]
    return _encoded(found)


@cache
def profile(name: str) -> bytes:
    """Return the result of get_bank."""
    disposition = {"skepticism": 3, "literalism": 3, "empathy": 3}
    return _told({"bank_id": name, "name": name, "disposition": disposition, "mission": ""}, name.partition("-")[0])


@cache
def tools(generation: str) -> bytes:
    """Return the result of tools/list: the six tools with their real schemas, and as much else as servers list."""
    six = json.loads((_CAPTURED / "tools.json").read_bytes())["1.1.0"]
    listed = [{"name": name, "description": "", "inputSchema": schema} for name, schema in six.items()]
    for number in itertools.count(7):
        if len(_encoded(listed)) >= _LIST_BYTES:
            break
        listed.append({"name": f"tool_{number}", "description": "", "inputSchema": six["recall"]})
    cacheable = {"ttlMs": 0, "cacheScope": "private"}
    return _encoded({"tools": listed} | (_modern() | cacheable if generation == "modern" else {}))


def page(name: str, offset: int, limit: int) -> bytes:
    """Return the result of a list_memories; every page has ids of its own."""
    text = _page(name.partition("-")[0], max(min(limit, MEMORIES - offset), 0), limit)
    return text.replace(_PLACE.encode(), b"%08x" % offset)


@cache
def _page(generation: str, count: int, limit: int) -> bytes:
    item = next(e["answer"]["items"][0] for e in _answers("list_memories") if e["answer"].get("items"))
    items = [item | {"id": f"{_PLACE}-{number:04x}-4000-8000-000000000000"} for number in range(count)]
    return _told({"items": items, "total": MEMORIES, "limit": limit, "offset": 0}, generation)


@cache
def _facts() -> list[dict[str, Any]]:
    """Return the facts of all captured recalls, the shortest first."""
    facts = [fact for e in _answers("recall") for fact in e["answer"].get("results", []) if "scores" in fact]
    return sorted({fact["id"]: fact for fact in facts}.values(), key=lambda fact: len(_encoded(fact)))


def _numbered(facts: list[dict[str, Any]], count: int) -> list[dict[str, Any]]:
    numbered = zip(range(count), itertools.cycle(facts), strict=False)
    return [fact | {"id": f"{number:08x}{fact['id'][8:]}"} for number, fact in numbered]


def _answers(tool: str) -> list[dict[str, Any]]:
    captured = json.loads((_CAPTURED / "answers.json").read_bytes())
    return [entry for entry in captured if entry["version"] == "1.1.0" and entry["tool"] == tool]


def _found(facts: list[dict[str, Any]]) -> dict[str, Any]:
    nothing = dict.fromkeys(("trace", "entities", "chunks", "source_facts", "source_facts_truncated"))
    return {"results": facts, **nothing}


def _told(answer: dict[str, Any], generation: str) -> bytes:
    told = {
        "content": [{"text": _encoded(answer).decode(), "type": "text"}],
        "isError": False,
        "structuredContent": answer,
    }
    return _encoded(told | (_modern() if generation == "modern" else {}))


def _modern() -> dict[str, Any]:
    return {"resultType": "complete", "_meta": {"io.modelcontextprotocol/serverInfo": SERVER}}


def _encoded(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
