"""The conversations on cassettes: what is said to which server, once for recording and for replaying.

A conversation's name is its cassette's. What the answers must be stands in test_cassettes.py.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

from attrs import frozen

from hindsight_bank import (
    Bank,
    BankError,
    BankProfile,
    IncompatibleServer,
    Memory,
    MemoryItem,
    MemoryPage,
    NotFoundError,
    RecallResult,
    ReflectResult,
    RetainReceipt,
    ToolError,
    UnauthorizedError,
)

# modern, legacy: by protocol; keyed: wants KEY; subset: offers only retain and recall. The last two are modern too.
Server = Literal["modern", "legacy", "keyed", "subset"]
Talk = Callable[[Bank], Any]

URL = "http://localhost:8888"  # the server on every cassette
CASSETTES = Path(__file__).parent.parent / "cassettes"
KEY = "sk-the-key-of-the-recorded-server"
WRONG_KEY = "sk-another-key"

# What the recorder puts into the bank "alice". "diary" is empty, "nobody" does not exist, nor does "newcomer" at first.
SEED = "Alice prefers tea over coffee. Alice works at the harbour library. I booked a table for Alice on 4 May 2026."
SEED_ARGUMENTS: dict[str, Any] = {
    "timestamp": "2026-03-02T10:00:00+01:00",
    "tags": ["user:alice"],
    "metadata": {"source": "chat"},
    "document_id": "notes",
}
# Scores depend on the time from the memory to the question.
ASKED = "2026-06-01T00:00:00+00:00"
NO_MEMORY = "00000000-0000-4000-8000-000000000000"


@frozen(kw_only=True)
class Conversation:
    """What is said to one bank, from connecting to closing."""

    talk: Talk
    servers: tuple[Server, ...]
    bank_id: str
    key: str | None
    new: bool
    fails: type[BankError] | None

    def hold(self, server_url: str) -> Any:
        with Bank(server_url, self.bank_id, api_key=self.key, allow_new_bank=self.new) as bank:
            return self.talk(bank)


CONVERSATIONS: dict[str, Conversation] = {}


def conversation(
    *servers: Server,
    bank_id: str = "alice",
    key: str | None = None,
    new: bool = False,
    fails: type[BankError] | None = None,
) -> Callable[[Talk], Talk]:
    def add(talk: Talk) -> Talk:
        where = servers or ("modern", "legacy")
        CONVERSATIONS[talk.__name__] = Conversation(
            talk=talk, servers=where, bank_id=bank_id, key=key, new=new, fails=fails
        )
        return talk

    return add


def cassettes(*servers: Server) -> Iterator[tuple[str, Server, Path]]:
    """Yield the name, the server and the file of each conversation with these servers."""
    for name, each in CONVERSATIONS.items():
        for server in each.servers:
            if server in servers:
                yield name, server, CASSETTES / ("legacy" if server == "legacy" else "modern") / f"{name}.yaml"


# -- the six tools, and what is made of them ---------------------------------------------------------------------------


@conversation(bank_id="diary")
def retain(bank: Bank) -> RetainReceipt:
    return bank.retain("Alice prefers tea over coffee.")


@conversation("modern", bank_id="diary")
def retain_with_everything(bank: Bank) -> RetainReceipt:
    return bank.retain(
        "Ольга sang «La Paloma» for Alice 🎶",
        context="concert",
        timestamp="2026-03-02T20:30:00.5+01:00",
        tags=["user:alice", "music"],
        metadata={"source": "chat"},
        document_id="evening",
        update_mode="append",
    )


@conversation(bank_id="newcomer", new=True)
def retain_makes_the_bank(bank: Bank) -> RetainReceipt:
    return bank.retain("Bob rides a bicycle.")


@conversation()
def recall(bank: Bank) -> RecallResult:
    return bank.recall("What does Alice drink?")


@conversation("modern")
def recall_with_everything(bank: Bank) -> RecallResult:
    return bank.recall(
        "What does Alice drink?",
        max_tokens=1000,
        budget="low",
        types=["world", "observation"],
        tags=["user:alice"],
        tags_match="all_strict",
        query_timestamp=ASKED,
        include_chunks=True,
        include_entities=True,
        include_source_facts=True,
    )


@conversation("modern")
def recall_finds_nothing(bank: Bank) -> RecallResult:
    return bank.recall("What does Alice drink?", tags=["user:bob"], tags_match="any_strict")


@conversation()
def reflect(bank: Bank) -> ReflectResult:
    return bank.reflect("What does Alice drink?")


@conversation("modern")
def reflect_on_grounds(bank: Bank) -> ReflectResult:
    return bank.reflect("What does Alice drink?", include_based_on=True, include_trace=True)


@conversation("modern")
def reflect_structured(bank: Bank) -> ReflectResult:
    schema = {"type": "object", "properties": {"drink": {"type": "string"}}, "required": ["drink"]}
    return bank.reflect("What does Alice drink?", response_schema=schema)


@conversation()
def list_memories(bank: Bank) -> MemoryPage:
    return bank.list_memories(type="world", q="tea", limit=10, offset=0, tags=["user:alice"], tags_match="exact")


@conversation("modern")
def iter_memories(bank: Bank) -> list[MemoryItem]:
    return list(bank.iter_memories(type="world", page_size=1))


@conversation()
def get_memory(bank: Bank) -> Memory:
    return bank.get_memory(bank.list_memories(type="world", q="tea").items[0].id)


@conversation("modern")
def get_observation(bank: Bank) -> Memory:
    return bank.get_memory(bank.list_memories(type="observation", q="tea").items[0].id)


@conversation()
def get_bank(bank: Bank) -> BankProfile:
    return bank.get_bank()


# -- refusals ----------------------------------------------------------------------------------------------------------


@conversation(bank_id="nobody", fails=NotFoundError)
def bank_missing(bank: Bank) -> None:
    del bank  # connecting is enough


@conversation(fails=NotFoundError)
def memory_missing(bank: Bank) -> None:
    bank.get_memory(NO_MEMORY)


@conversation("modern", fails=ToolError)
def memory_id_invalid(bank: Bank) -> None:
    bank.get_memory("tea")


@conversation("modern", fails=ToolError)
def fact_type_invalid(bank: Bank) -> None:
    bank.recall("What does Alice drink?", types=["rumour"])


@conversation("modern", fails=ToolError)
def tag_groups_invalid(bank: Bank) -> None:
    bank.recall("What does Alice drink?", tag_groups=[{"tag": "user:alice"}])


@conversation("modern", fails=ToolError)
def question_empty(bank: Bank) -> None:
    bank.reflect("")


@conversation("modern", fails=ToolError)
def limit_beyond_64_bits(bank: Bank) -> None:
    bank.list_memories(limit=2**63)


@conversation("keyed", fails=UnauthorizedError)
def key_missing(bank: Bank) -> None:
    del bank  # connecting is enough


@conversation("keyed", key=WRONG_KEY, fails=UnauthorizedError)
def key_wrong(bank: Bank) -> None:
    del bank  # connecting is enough


@conversation("keyed", key=KEY)
def key_right(bank: Bank) -> BankProfile:
    return bank.get_bank()


@conversation("subset", fails=IncompatibleServer)
def tools_missing(bank: Bank) -> None:
    del bank  # connecting is enough


@conversation("legacy")
def session_lost(bank: Bank) -> BankProfile:
    link = bank._connection._link
    assert link is not None
    link.endpoint.close()  # ends the session behind the connection's back
    return bank.get_bank()
