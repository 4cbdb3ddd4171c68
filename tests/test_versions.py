"""Every version of Hindsight with all six tools, replayed: the same calls end in the same types and the same errors.

What each answered is on two cassettes, as `make versions` heard it; what differs between them is in docs/versions.md.
"""

import inspect
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import attrs
import pytest
import version_table
from conversations import CASSETTES, URL
from oracle import TOOLS
from test_schemas import says
from tour import KINDS, NEWER, TOURED, Said, mishaps, path, tour
from version_table import exchanges, facts

from hindsight_bank import (
    ArgumentsError,
    Bank,
    BankProfile,
    Memory,
    MemoryPage,
    NotFoundError,
    RecallResult,
    ReflectResult,
    RetainReceipt,
    ToolError,
    UnauthorizedError,
)
from hindsight_bank.testing import cassette

each_version = pytest.mark.parametrize("subject", TOURED)

TOUR = {
    "bank missing": NotFoundError,
    "new bank": NotFoundError,
    "retain": RetainReceipt,
    "recall": RecallResult,
    "list_memories": MemoryPage,
    "get_memory": Memory,
    "observation": Memory,
    "get_bank": BankProfile,
    "reflect": ReflectResult,
    "memory missing": NotFoundError,
    "id malformed": ToolError,
    "bad argument": ToolError,
}
MISHAPS = {
    "no key": UnauthorizedError,
    "wrong key": UnauthorizedError,
    "model refusing": ToolError,
    **{f"database down, {tool}": ToolError for tool in TOOLS},
    "database down, connecting": ToolError,
}


@cache
def replay(subject: str, kind: str) -> Said:
    with cassette(path(subject, kind)):
        return tour(URL, lambda: None) if kind == "tour" else mishaps(URL, lambda: None, lambda: None)


@each_version
def test_the_tour_ends_the_same_with_every_version(subject: str) -> None:
    """Hindsight 0.4.14 to 1.1.0: all six tools answer, and refuse what is not there."""
    said = replay(subject, "tour")
    assert {step: type(said[step]) for step in TOUR} == TOUR
    assert (said["bank missing"].what, said["bank missing"].outcome) == ("bank", "not_sent")
    assert (said["memory missing"].what, said["memory missing"].outcome) == ("memory", "refused")
    assert said["observation"].type == "observation"
    assert said["observation"].source_memory_ids


@each_version
def test_mishaps_end_the_same_with_every_version(subject: str) -> None:
    """Hindsight 0.4.14 to 1.1.0: where a server tells no failure there is none to see; docs/versions.md names it."""
    said = replay(subject, "mishaps")
    silent = facts(subject).layers["database down"]
    for step, kind in MISHAPS.items():
        if step.removeprefix("database down, ").replace("connecting", "get_bank") in silent:
            assert not isinstance(said[step], Exception), step
        else:
            assert type(said[step]) is kind, step


@each_version
def test_an_argument_that_a_version_lacks_is_refused_before_sending(subject: str) -> None:
    """Public report: vectorize-io/hindsight #1396 (a filter dropped silently); the cassette has no such request."""
    said = replay(subject, "tour")
    lacks = {(tool, name) for tool in NEWER for name in NEWER[tool]} - facts(subject).arguments
    refused = {step: said[step] for step in said if step not in TOUR}
    assert refused.keys() == {f"{tool}, {name}" for tool, name in lacks}
    for step, error in refused.items():
        tool, _, name = step.partition(", ")
        assert type(error) is ArgumentsError
        assert (error.tool, error.outcome) == (tool, "not_sent")
        assert error.problems == (f"unknown to this server @ $.{name}",)
        assert str(error).startswith(
            f"{tool}: unknown to this server @ $.{name} (the server calls itself hindsight-mcp-server "
        )


def test_every_argument_that_some_version_lacks_is_tried() -> None:
    """Ours: what is tried is all that any version lacks, so no argument of ours is dropped silently by any of them."""
    ours = {
        (tool, name)
        for tool in TOOLS
        for name in inspect.signature(getattr(Bank, tool)).parameters
        if name not in ("self", "timeout")
    }
    lacked = {argument for subject in TOURED for argument in ours - facts(subject).arguments}
    assert lacked == {(tool, name) for tool in NEWER for name in NEWER[tool]}


ANSWERS = {"observation": "get_memory"} | {tool: tool for tool in TOOLS}


@each_version
def test_nothing_is_invented(subject: str) -> None:
    """Hindsight 0.4.14 to 1.1.0: what a version does not send is None, or empty where the type says so."""
    said = replay(subject, "tour")
    told = [each for each in exchanges(path(subject, "tour")) if each.call[0] and each.layer() == "none"]
    for step, tool in ANSWERS.items():
        assert any(each.call[0] == tool and says(said[step], each.result) for each in told), step


@each_version
def test_a_field_that_a_version_lacks_is_none(subject: str) -> None:
    """Hindsight 0.4.14 to 1.1.0, by the fields that each sent on its tour."""
    said = replay(subject, "tour")
    lacks = version_table.lacking(subject, "fields")
    for value in said.values():
        for part in parts(value):
            for name in (name for owner, name in lacks if owner == type(part).__name__):
                assert getattr(part, name) is None, name


def parts(value: Any) -> Iterator[Any]:
    """Yield the objects of a result, itself first."""
    if attrs.has(type(value)):
        yield value
        for field in attrs.fields(type(value)):
            yield from parts(getattr(value, field.name))
    elif isinstance(value, tuple | dict):
        for each in value.values() if isinstance(value, dict) else value:
            yield from parts(each)


@each_version
def test_connecting_asks_nothing_that_could_make_a_bank(subject: str) -> None:
    """Hindsight up to 0.7.2 makes a bank in get_bank; a list_memories without `tags` is how to tell."""
    asked = [each.call[0] for each in exchanges(path(subject, "tour")) if each.bank == "nobody" and each.call[0]]
    assert asked == ["get_bank" if ("list_memories", "tags") in facts(subject).arguments else "list_memories"]


@pytest.mark.parametrize("file", version_table.FILES, ids=lambda file: file.name)
def test_the_tables_say_what_the_cassettes_do(file: Path) -> None:
    """Ours: `make versions` writes them from nothing else."""
    assert version_table.written(file) == file.read_text("utf-8")


def test_every_version_has_its_cassettes_and_no_cassette_lies_idle() -> None:
    """Ours: each is replayed above, to its end."""
    files = {path(subject, kind) for subject in TOURED for kind in KINDS}
    assert set((CASSETTES / "versions").iterdir()) == files
    assert all(file.stat().st_size < 60_000 for file in files)
