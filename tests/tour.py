"""What is said to every version: recorded by `PYTHONPATH=tests python -m versions`, replayed by test_versions.py.

Two short conversations with each. The tour uses all six tools, with every option that tells more and that the server
knows, asks for what is not there, and tries what it does not know. The mishaps befall a server that wants a key, is
refused by its language model, and loses its database.
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from conversations import ASKED, CASSETTES, KEY, NO_MEMORY, SEED, SEED_ARGUMENTS, WRONG_KEY

from harness.releases import RELEASED
from hindsight_bank import Bank, BankError

# What each step came to: the result, or the error it ended in.
Said = dict[str, Any]

TOURED = tuple(RELEASED)
KINDS = ("tour", "mishaps")

QUESTION = "What does Alice drink?"
MORE = (
    "include_chunks",
    "include_entities",
    "include_source_facts",
    "include_based_on",
    "include_trace",
)
MOST_PAUSES = 30
OBSERVATION = "observation"

# A value for each argument that later versions brought.
NEWER: dict[str, dict[str, Any]] = {
    "retain": {"strategy": "careful", "update_mode": "append"},
    "recall": {
        "prefer_observations": True,
        "tag_groups": [{"tags": ["user:alice"]}],
        "min_scores": {"final": 0.0},
        "temporal_window": {"start": "2020-01-01T00:00:00Z", "end": "2040-01-01T00:00:00Z"},
        "include_chunks": True,
        "max_chunk_tokens": 100,
        "include_entities": True,
        "max_entity_tokens": 100,
        "include_source_facts": True,
        "max_source_facts_tokens": 100,
    },
    "reflect": {"apply_all_directives": True, "include_based_on": True, "include_trace": True},
    "list_memories": {"tags": ["user:alice"], "tags_match": "any_strict"},
}
OLD: dict[str, dict[str, Any]] = {
    "retain": {"content": "Frank cooks.", "document_id": "frank"},
    "recall": {"query": "Who drinks tea?"},
    "reflect": {"query": "Who drinks tea?"},
    "list_memories": {},
}


def path(subject: str, kind: str) -> Path:
    """Return the cassette of a conversation with a version."""
    return CASSETTES / "versions" / f"{subject}-{kind}.yaml"


def tour(url: str, pause: Callable[[], None]) -> Said:
    """Say everything to a server that has no bank yet."""
    said: Said = {"bank missing": attempt(Bank(url, "nobody", api_key=KEY).connect)}
    with Bank(url, "alice", api_key=KEY, allow_new_bank=True) as bank:
        said["new bank"] = attempt(bank.get_bank)
        said["retain"] = bank.retain(SEED, **SEED_ARGUMENTS)
        for _ in range(MOST_PAUSES):
            if bank.list_memories(type=OBSERVATION, limit=0).total:
                break
            pause()
        said["recall"] = bank.recall(QUESTION, budget="low", query_timestamp=ASKED, **more(bank, "recall"))
        said["list_memories"] = page = bank.list_memories()
        kinds = {item.fact_type: item.id for item in page.items}
        said["get_memory"] = bank.get_memory(kinds["world"])
        said["observation"] = bank.get_memory(kinds[OBSERVATION])
        said["get_bank"] = bank.get_bank()
        said["reflect"] = bank.reflect(QUESTION, **more(bank, "reflect"))
        said["memory missing"] = attempt(lambda: bank.get_memory(NO_MEMORY))
        said["id malformed"] = attempt(lambda: bank.get_memory("tea"))
        said["bad argument"] = attempt(lambda: bank.recall(QUESTION, types=["rumour"]))
        said |= {f"{tool}, {name}": attempt(partial(newer, bank, tool, name)) for tool, name in lacking(bank)}
    return said


def mishaps(url: str, refuse_model: Callable[[], None], lose_database: Callable[[], None]) -> Said:
    """Have bad luck with a server whose bank has memories."""
    said: Said = {
        "no key": attempt(Bank(url, "alice").connect),
        "wrong key": attempt(Bank(url, "alice", api_key=WRONG_KEY).connect),
    }
    with Bank(url, "alice", api_key=KEY) as bank:
        refuse_model()
        said["model refusing"] = attempt(lambda: bank.reflect(QUESTION))
        lose_database()
        said |= {f"database down, {tool}": attempt(call) for tool, call in calls(bank).items()}
    said["database down, connecting"] = attempt(Bank(url, "alice", api_key=KEY).connect)
    return said


def calls(bank: Bank) -> dict[str, Callable[[], Any]]:
    """Return a call of each tool."""
    return {
        "retain": lambda: bank.retain("Bob sings."),
        "recall": lambda: bank.recall(QUESTION),
        "reflect": lambda: bank.reflect(QUESTION),
        "list_memories": bank.list_memories,
        "get_memory": lambda: bank.get_memory(NO_MEMORY),
        "get_bank": bank.get_bank,
    }


def newer(bank: Bank, tool: str, name: str) -> Any:
    """Call a tool with an argument that some versions lack."""
    return getattr(bank, tool)(**OLD[tool], **{name: NEWER[tool][name]})


def attempt(call: Callable[[], Any]) -> Any:
    """Return the result of a call, or the error in which it ended."""
    try:
        return call()
    except BankError as error:
        return error


def more(bank: Bank, tool: str) -> dict[str, Any]:
    """Return the options that make a tool tell more, as far as its server knows them."""
    return {name: True for name in MORE if name in known(bank, tool)}


def known(bank: Bank, tool: str) -> frozenset[str]:
    """Return the arguments that the server of a connected bank knows."""
    link = bank._connection._link
    assert link is not None
    return link.tools[tool].names


def lacking(bank: Bank) -> list[tuple[str, str]]:
    """Return the tools and the arguments that the server of a connected bank lacks."""
    return [(tool, name) for tool, newer in NEWER.items() for name in newer if name not in known(bank, tool)]
