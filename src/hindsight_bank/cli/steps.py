"""The steps of the demo, which shows these functions as they stand here and runs them.

A step's name is its title, its docstring the sentence below it, and its body, without ``return``, the code to copy.
"""

from collections.abc import Iterable
from typing import Final, NamedTuple

from hindsight_bank import Bank, Health, Memory, MemoryItem, RecallResult, ReflectResult


class Note(NamedTuple):
    """A text to retain; the last of its tags is its alone."""

    text: str
    tags: tuple[str, ...]
    source: str
    said: str


NOTES: Final = (
    Note(
        "Mira Okafor likes ginger tea and cannot eat peanuts.",
        ("mira", "food"),
        "chat",
        "2026-03-02T09:00:00+00:00",
    ),
    Note(
        "Mira moved from Lagos to Lisbon in March 2025 and opened a ceramics studio there.",
        ("mira", "home"),
        "letter",
        "2026-03-09T18:30:00+00:00",
    ),
    Note(
        "Tomas Lindqvist repairs old radios. On Fridays Tomas Lindqvist lends Mira Okafor his van.",
        ("tomas", "mira", "van"),
        "chat",
        "2026-04-17T08:15:00+00:00",
    ),
    Note(
        "I helped Mira choose a kiln: the electric one, since the wiring of her studio allows no other.",
        ("mira", "kiln"),
        "chat",
        "2026-05-20T14:00:00+00:00",
    ),
    Note(
        "Mira's first exhibition opens on 12 September 2026. Tomas Lindqvist brings the music.",
        ("mira", "tomas", "exhibition"),
        "mail",
        "2026-06-01T11:45:00+00:00",
    ),
)


def connect(server_url: str, bank_id: str, api_key: str | None) -> Bank:
    """Open a bank on a server. A bank that does not exist yet is made by the first retain."""
    bank = Bank(server_url, bank_id, api_key=api_key, allow_new_bank=True)
    bank.connect()
    return bank


def retain(bank: Bank, notes: Iterable[Note]) -> None:
    """Hand texts to the bank. Accepted is not stored: the server extracts the facts in the background."""
    for note in notes:
        bank.retain(
            note.text,
            tags=note.tags,
            timestamp=note.said,
            metadata={"source": note.source},
        )


def health(bank: Bank) -> Health:
    """Ask who answers, in which revision of the protocol, and how fast."""
    health = bank.health()
    return health  # noqa: RET504


def wait(bank: Bank) -> set[str]:
    """Look until every text has become visible; each carries a tag of its own."""
    page = bank.list_memories()
    tags = {tag for memory in page.items for tag in memory.tags}
    return tags  # noqa: RET504


def recall(bank: Bank) -> RecallResult:
    """Search for the facts that bear on a question, best first. No language model is asked."""
    found = bank.recall("What does Mira like, and what can she not eat?")
    return found  # noqa: RET504


def reflect(bank: Bank) -> ReflectResult:
    """Let the server's language model answer from the memories, and say what the answer rests on."""
    question = "When does Mira's exhibition open, and what tea does she like?"
    answer = bank.reflect(question, include_based_on=True)
    return answer  # noqa: RET504


def browse(bank: Bank) -> list[MemoryItem]:
    """Walk through every memory, newest first, however many there are."""
    memories = list(bank.iter_memories())
    return memories  # noqa: RET504


def fetch(bank: Bank, memory_id: str) -> Memory:
    """Fetch one memory with all that the server knows of it."""
    memory = bank.get_memory(memory_id)
    return memory  # noqa: RET504


def refuse(bank: Bank) -> None:
    """Get it wrong. What breaks a rule raises here, before anything is sent."""
    bank.recall("What does Mira like?", max_tokens=0)


def miss(bank: Bank) -> None:
    """Ask for what does not exist. What the server refuses raises too, whichever way it says so."""
    bank.get_memory("00000000-0000-0000-0000-000000000000")
