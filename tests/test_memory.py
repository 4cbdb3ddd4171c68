"""What an answer may cost in memory: a small multiple of what it may have in bytes."""

from typing import Any

import bombs
import pytest
from conftest import OpenBank, Serve
from wire_server import ANSWERS, NO_FACTS, Hindsight

# The body in pieces, joined, as text and as the values made of it.
MOST = 9.0


@pytest.mark.parametrize("name", bombs.BOMBS)
def test_a_bomb_costs_a_small_multiple_of_the_bound(name: str) -> None:
    """Public reports: mcp python-sdk #3332, rust-sdk #970: an answer without end took all memory. Here one of 4 MiB."""
    rss, ended = bombs.cost(name, traced=False)[1:]
    assert rss < MOST
    assert ended.startswith(tuple(ENDS.get(name, ("ProtocolError: ",))))


@pytest.mark.parametrize("name", ["facts, said twice", "facts, said twice, as an event", "one text"])
def test_what_an_answer_says_twice_is_let_go_before_objects_are_built(name: str) -> None:
    """Ours: first the body, and the half of it that is built; then that half, and the objects."""
    peak, _, ended = bombs.cost(name, traced=True)
    assert ended == "a result"
    assert peak < MOST_OF_FACTS[name]


# Of the bytes that may come. With the whole body in memory beside the objects it would be 1.7, or more; and 2.5 for
# what is said once, if that were written anew, too.
MOST_OF_FACTS = {"facts, said twice": 1.6, "facts, said twice, as an event": 1.6, "one text": 2.2}

ENDS = {
    "facts, said twice": ["a result"],
    "facts, said twice, as an event": ["a result"],
    "one text": ["a result"],
    "one text, as an event": ["a result"],
    "one text with an emoji": ["a result"],
    "content": ["ToolError: "],
    "data of an error, less dense": ["RPCError: "],
    "a message of an error": ["RPCError: "],
    "an error in band": ["ToolError: "],
    "an id": ["AnswerLostError: "],
    "a refusal": ["StatusError: ", "RPCError: "],
    "tools": ["IncompatibleServer: "],
    "tools, many pages": ["IncompatibleServer: "],
    "meta": ["IncompatibleServer: "],
}


DENSE_FACT = {
    "id": "959daf67-4474-4f04-ac2f-4e978e1f66c5",
    "text": "x",
    "fact_type": "world",
    "context": None,
    "entities": [],
    **dict.fromkeys(["occurred_start", "occurred_end", "mentioned_at", "document_id", "chunk_id"]),
    "metadata": {},
    "tags": ["a"],
    "source_fact_ids": [],
    "scores": {"final": 0.5, "reranker": None, "semantic": 0, "keyword": 0},
}


@pytest.mark.parametrize("generation", ["modern", "stateful"])
def test_an_answer_of_megabytes_arrives_whole(generation: Any, serve: Serve, open_bank: OpenBank) -> None:
    """Public reports: hindsight #1586 (257 kB), mcp python-sdk #3332 (2.1 MB)."""
    text = "Alice, [Bob] and {Carol}; " * 200_000
    answers: dict[str, Any] = {
        "reflect": {**ANSWERS["reflect"], "text": text},
        "recall": {**NO_FACTS, "results": [DENSE_FACT] * 6000},
    }
    bank = open_bank(serve(Hindsight(generation, answers)))
    assert bank.reflect("q").text == text
    assert len(bank.recall("q").results) == 6000
