"""Answers as a person sees them: each in the table or panel that suits it."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final

from attrs import asdict

from hindsight_bank import BankError, BankProfile, Fact, Health, Memory, MemoryItem, ReflectResult
from hindsight_bank.cli.screen import Column, Screen

_FACTS: Final = (
    Column("score", "bold", right=True),
    Column("type"),
    Column("text", share=2),
    Column("said"),
    Column("tags", "bright_black", share=1),
)
_MEMORIES: Final = (*_FACTS[1:], Column("facts", right=True))
_ID: Final = Column("id", "bright_black", alone=True)

# An id is 36 characters wide.
_WIDE: Final = 110


def facts(screen: Screen, found: Iterable[Fact], *, ids: bool = False) -> None:
    """Show what recall found."""
    rows = [
        (
            f"{fact.scores.final:.2f}" if fact.scores else "",
            fact.fact_type,
            fact.text,
            _day(fact.mentioned_at),
            " ".join(fact.tags),
            fact.id,
        )
        for fact in found
    ]
    _rows(screen, _FACTS, rows, ids=ids)


def memories(screen: Screen, items: Iterable[MemoryItem], *, ids: bool = False) -> None:
    """Show what list_memories lists; the last column tells how many facts support each."""
    rows = [
        (item.fact_type, item.text, _day(item.mentioned_at), " ".join(item.tags), str(item.proof_count), item.id)
        for item in items
    ]
    _rows(screen, _MEMORIES, rows, ids=ids)


def memory(screen: Screen, memory: Memory) -> None:
    """Show all that is known of a memory."""
    pairs = [
        ("id", memory.id),
        ("type", memory.type),
        ("text", memory.text),
        ("said", _day(memory.mentioned_at)),
        ("occurred", _day(memory.occurred_start)),
        ("entities", ", ".join(memory.entities)),
        ("tags", " ".join(memory.tags)),
        ("metadata", ", ".join(f"{name}={value}" for name, value in (memory.metadata or {}).items())),
        *(("source", source.text) for source in memory.source_memories),
    ]
    screen.fields("memory", [(name, value) for name, value in pairs if value])


def reflection(screen: Screen, result: ReflectResult) -> None:
    """Show an answer and the facts on which it rests."""
    on = result.based_on
    grounds = (*on.world, *on.experience, *on.observation, *on.mental_models) if on else ()
    screen.answer("answer", result.text, [(fact.fact_type, fact.text) for fact in grounds])


def health(screen: Screen, health: Health, round_trip: str) -> None:
    """Show who answers."""
    pairs = [
        ("bank", health.bank.bank_id),
        ("server", health.server),
        ("protocol", health.protocol),
        ("round trip", round_trip),
    ]
    screen.fields("health", pairs)


def caught(screen: Screen, error: BankError) -> None:
    """Show an error that was expected, as a program would catch it."""
    screen.caught(error, [("outcome", error.outcome)])


def bank(screen: Screen, profile: BankProfile) -> None:
    """Show a bank's profile."""
    traits = asdict(profile.disposition)
    pairs = [
        ("id", profile.bank_id),
        ("name", profile.name),
        ("mission", profile.mission),
        ("disposition", ", ".join(f"{name} {value} of 5" for name, value in traits.items())),
    ]
    screen.fields("bank", [(name, value) for name, value in pairs if value])


def _rows(screen: Screen, columns: Sequence[Column], rows: Sequence[tuple[str, ...]], *, ids: bool) -> None:
    """Show rows that end in an id, with or without it."""
    if ids:
        screen.rows((*columns, _ID), rows, _WIDE)
    else:
        screen.rows(columns, [row[:-1] for row in rows])


def _day(moment: datetime | None) -> str:
    return f"{moment:%Y-%m-%d}" if moment else ""
