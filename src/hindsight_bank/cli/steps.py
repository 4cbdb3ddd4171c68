"""The steps of the demo, which shows these functions as they stand here and runs them.

A step's name is its title, its docstring of one line the sentence below it, its body without ``return`` the code.
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
        ("mira", "tomas", "art"),
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
    return health


def wait(bank: Bank) -> set[str]:
    """Look until every text is visible: each carries a tag of its own."""
    page = bank.list_memories()
    tags = {tag for memory in page.items for tag in memory.tags}
    return tags


def recall(bank: Bank) -> RecallResult:
    """Search for facts that bear on a question, best first."""
    found = bank.recall("When is Mira's exhibition, and who brings the music?")
    return found


def reflect(bank: Bank) -> ReflectResult:
    """Have the server's language model answer from the memories, and say what its answer rests on."""
    question = "What tea does Mira like, and what can she not eat?"
    answer = bank.reflect(question, include_based_on=True)
    return answer


def browse(bank: Bank) -> list[MemoryItem]:
    """Walk through all memories, newest first: facts, and observations that the server drew from facts."""
    memories = list(bank.iter_memories())
    return memories


def fetch(bank: Bank, memory_id: str) -> Memory:
    """Fetch one memory with all that the server knows of it."""
    memory = bank.get_memory(memory_id)
    return memory


def break_a_rule(bank: Bank) -> None:
    """Get it wrong: what breaks a rule raises here, before anything is sent."""
    bank.recall("What does Mira like?", max_tokens=0)


def miss_a_memory(bank: Bank) -> None:
    """Ask for what does not exist: what the server refuses raises too, in whichever way it says no."""
    bank.get_memory("00000000-0000-4000-8000-000000000000")
