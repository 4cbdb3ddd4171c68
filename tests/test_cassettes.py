"""What a real Hindsight 1.1.0 answered, replayed: each conversation ends in exactly this result or error.

The answers are the server's, as `make record` heard it.
"""

import random
import re
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml
from attrs import evolve
from conversations import CASSETTES, CONVERSATIONS, KEY, URL, WRONG_KEY, Server, cassettes
from examples import PAGES, tape
from tour import KINDS, TOURED, path
from vcr.errors import CannotOverwriteExistingCassetteException

from hindsight_bank import (
    Bank,
    BankProfile,
    Chunk,
    Disposition,
    Entity,
    Fact,
    IncompatibleServer,
    Memory,
    MemoryItem,
    MemoryPage,
    NotFoundError,
    RecallResult,
    ReflectResult,
    RetainReceipt,
    Scores,
    SourceMemory,
    ToolCall,
    ToolError,
    UnauthorizedError,
    Usage,
)
from hindsight_bank.cli import demo
from hindsight_bank.testing import bank_vcr, cassette

ALL: tuple[Server, ...] = ("modern", "legacy", "keyed", "subset")
FILES = [path for _, _, path in cassettes(*ALL)]
VERSIONS = [path(subject, kind) for subject in TOURED for kind in KINDS]
SHOWN = [tape(page) for page in PAGES if tape(page).exists()]
SHIPPED = Path(demo.__file__).with_name("demo.yaml")
both = pytest.mark.parametrize("generation", ["modern", "legacy"])


def replay(name: str, generation: str = "modern", hold: Callable[[str], Any] | None = None) -> Any:
    with cassette(CASSETTES / generation / name):
        return (hold or CONVERSATIONS[name].hold)(URL)


def uuid(number: int) -> str:
    return f"00000000-0000-4000-8000-{number:012}"


# -- what the bank "alice" holds ---------------------------------------------------------------------------------------

SAID = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
RECORDED = datetime(2026, 6, 1, tzinfo=UTC)
ANSWER = (
    "From 5 memories: Alice prefers tea over coffee. Alice works at the harbour library. I booked a table for Alice on"
)
ACCEPTED = RetainReceipt(status="accepted", message="Memory storage initiated", operation_id=uuid(101))

TEA = Fact(
    id=uuid(4),
    text="Alice prefers tea over coffee.",
    fact_type="world",
    entities=(),
    context="general",
    occurred_start=None,
    occurred_end=None,
    mentioned_at=SAID,
    document_id="notes",
    metadata={"source": "chat"},
    chunk_id="alice_notes_0",
    tags=("user:alice",),
    source_fact_ids=(),
    scores=None,
)
LIBRARY = evolve(
    TEA, id=uuid(5), text="Alice works at the harbour library.", mentioned_at=SAID.replace(microsecond=10_000)
)
SUMMARY = evolve(
    LIBRARY,
    id=uuid(2),
    text="Alice prefers tea over coffee; Alice works at the harbour library.",
    fact_type="observation",
    entities=("Alice",),
    context=None,
    document_id=None,
    metadata={},
    chunk_id=None,
)
TABLE = evolve(
    TEA,
    id=uuid(1),
    text="I booked a table for Alice on 4 May 2026.",
    fact_type="experience",
    mentioned_at=SAID.replace(microsecond=20_000),
    occurred_start=datetime(2026, 5, 4, 0, 0, 0, 20_000, tzinfo=UTC),
    occurred_end=datetime(2026, 5, 4, 23, 59, 59, 20_000, tzinfo=UTC),
)
ITEM = MemoryItem(
    id=TEA.id,
    text=TEA.text,
    context="general",
    date="2026-03-02T09:00:00+00:00",
    fact_type="world",
    document_id="notes",
    mentioned_at=SAID,
    occurred_start=None,
    occurred_end=None,
    entities="Alice",
    chunk_id="alice_notes_0",
    proof_count=1,
    tags=("user:alice",),
    metadata={"source": "chat"},
    consolidated_at=RECORDED,
    state="valid",
    updated_at=RECORDED,
    source_memory_ids=(),
)
MEMORY = Memory(
    id=TEA.id,
    text=TEA.text,
    context="general",
    date="2026-03-02T09:00:00+00:00",
    type="world",
    mentioned_at=SAID,
    occurred_start=None,
    occurred_end=None,
    entities=("Alice",),
    document_id="notes",
    chunk_id="alice_notes_0",
    tags=("user:alice",),
    metadata={"source": "chat"},
    state="valid",
    consolidated_at=RECORDED,
)
PROFILE = BankProfile(
    bank_id="alice", name="alice", disposition=Disposition(skepticism=3, literalism=3, empathy=3), mission=""
)


def unscored(fact: Fact) -> Fact:
    return evolve(fact, scores=None)


# -- the six tools, and what is made of them ---------------------------------------------------------------------------


@both
def test_retain(generation: str) -> None:
    """Hindsight 1.1.0: the receipt of one text."""
    assert replay("retain", generation) == ACCEPTED


def test_retain_with_everything() -> None:
    """Hindsight 1.1.0: every argument is taken."""
    assert replay("retain_with_everything") == ACCEPTED


@both
def test_retain_makes_the_bank(generation: str) -> None:
    """Hindsight 1.1.0: a retain into a missing bank makes it."""
    assert replay("retain_makes_the_bank", generation) == ACCEPTED


@both
def test_recall(generation: str) -> None:
    """Hindsight 1.1.0: every fact, best first, and no parts that were not asked for."""
    found: RecallResult = replay("recall", generation)
    assert unscored(found.results[0]) == TEA
    assert sorted(fact.id for fact in found.results) == [uuid(number) for number in range(1, 6)]
    scores = [fact.scores.final for fact in found.results if fact.scores is not None]
    assert len(scores) == 5
    assert scores == sorted(scores, reverse=True)
    assert evolve(found, results=()) == RecallResult(
        results=(), trace=None, entities=None, chunks=None, source_facts=None
    )


def test_recall_with_everything() -> None:
    """Hindsight 1.1.0: entities, chunks and source facts, once asked for."""
    found: RecallResult = replay("recall_with_everything")
    tea, summary = found.results[:2]
    assert tea == evolve(TEA, entities=("Alice",), scores=tea.scores)
    assert tea.scores == Scores(
        final=pytest.approx(1.05034, abs=1e-5),  # type: ignore[arg-type]  # compares like a float
        reranker=None,
        semantic=pytest.approx(0.52541, abs=1e-5),  # type: ignore[arg-type]
        keyword=pytest.approx(0.2),  # type: ignore[arg-type]
    )
    assert evolve(summary, scores=None, source_fact_ids=()) == SUMMARY
    assert sorted(summary.source_fact_ids) == [TEA.id, LIBRARY.id]
    assert {fact.fact_type for fact in found.results} == {"world", "observation"}
    assert found.entities is not None
    assert found.entities["Alice"] == Entity(
        entity_id=found.entities["Alice"].entity_id, canonical_name="Alice", observations=()
    )
    assert found.chunks == {
        "alice_notes_0": Chunk(
            chunk_text=f"{TEA.text} {LIBRARY.text} {TABLE.text}",
            chunk_index=0,
            truncated=False,
        )
    }
    assert found.source_facts == {TEA.id: TEA, LIBRARY.id: LIBRARY, TABLE.id: TABLE}
    assert found.source_facts_truncated is False


def test_recall_finds_nothing() -> None:
    """Hindsight 1.1.0: no results are an empty list."""
    assert replay("recall_finds_nothing") == RecallResult(
        results=(), trace=None, entities=None, chunks=None, source_facts=None
    )


@both
def test_reflect(generation: str) -> None:
    """Hindsight 1.1.0: the text and what it cost; no grounds unless asked for."""
    answer: ReflectResult = replay("reflect", generation)
    assert answer == ReflectResult(
        text=f"{ANSWER} 4 May 2026.",
        structured_output=None,
        usage=Usage(input_tokens=11892, output_tokens=264, total_tokens=12156, cached_tokens=0, thoughts_tokens=0),
    )


def test_reflect_on_grounds() -> None:
    """Hindsight 1.1.0: `based_on` and the traces, once asked for."""
    answer: ReflectResult = replay("reflect_on_grounds")
    grounds = answer.based_on
    assert grounds is not None
    assert (grounds.world, grounds.experience) == ((TEA, LIBRARY), (TABLE,))
    assert SUMMARY in grounds.observation
    assert (grounds.opinion, grounds.mental_models, grounds.directives) == ((), (), ())
    assert [(call.tool, call.iteration, call.duration_ms) for call in answer.tool_trace] == [
        ("search_observations", 1, 1),
        ("recall", 2, 1),
    ]
    assert isinstance(answer.tool_trace[0], ToolCall)
    assert answer.tool_trace[1].input["query"] == "What does Alice drink?"
    assert [call.scope for call in answer.llm_trace] == ["agent_1", "agent_2", "agent_3", "closing_done"]


def test_reflect_structured() -> None:
    """Hindsight 1.1.0: `response_schema` gives structured output."""
    answer: ReflectResult = replay("reflect_structured")
    assert answer.structured_output == {"drink": f"{TEA.text} {LIBRARY.text} {TABLE.text}"}
    assert answer.structured_output_error is None


@both
def test_list_memories(generation: str) -> None:
    """Hindsight 1.1.0: a page of one item, with what was asked."""
    assert replay("list_memories", generation) == MemoryPage(items=(ITEM,), total=1, limit=10, offset=0)


def test_iter_memories() -> None:
    """Hindsight 1.1.0: pages follow each other, the latest first."""
    items: list[MemoryItem] = replay("iter_memories")
    assert items == [
        evolve(
            ITEM,
            id=LIBRARY.id,
            text=LIBRARY.text,
            date="2026-03-02T09:00:00.010000+00:00",
            mentioned_at=LIBRARY.mentioned_at,
        ),
        ITEM,
    ]


@both
def test_get_memory(generation: str) -> None:
    """Hindsight 1.1.0: one memory, in its own shape."""
    assert replay("get_memory", generation) == MEMORY


def test_get_observation() -> None:
    """Hindsight 1.1.0: an observation names its sources."""
    memory: Memory = replay("get_observation")
    assert sorted(memory.source_memory_ids) == [TEA.id, LIBRARY.id]
    assert memory == Memory(
        id=SUMMARY.id,
        text=SUMMARY.text,
        context="",
        date="2026-03-02T09:00:00+00:00",
        type="observation",
        mentioned_at=SUMMARY.mentioned_at,
        occurred_start=None,
        occurred_end=None,
        entities=("Alice",),
        document_id=None,
        chunk_id=None,
        tags=("user:alice",),
        metadata={},
        state="valid",
        history=(),
        source_memory_ids=memory.source_memory_ids,
        source_memories=tuple(
            SourceMemory(
                id=fact.id,
                text=fact.text,
                type="world",
                context="general",
                occurred_start=None,
                mentioned_at=fact.mentioned_at,
            )
            for fact in (LIBRARY, TEA)
        ),
    )


@both
def test_get_bank(generation: str) -> None:
    """Hindsight 1.1.0: the profile of a bank."""
    assert replay("get_bank", generation) == PROFILE


@pytest.mark.parametrize(("generation", "protocol"), [("modern", "2026-07-28"), ("legacy", "2025-11-25")])
def test_health_is_get_bank_and_tells_the_protocol(generation: str, protocol: str) -> None:
    """Hindsight 1.1.0: both generations say server and version."""

    def hold(url: str) -> Any:
        with Bank(url, "alice") as bank:
            return bank.health()

    health = replay("get_bank", generation, hold)
    assert (health.bank, health.server, health.protocol) == (PROFILE, "hindsight-mcp-server 1.1.0", protocol)


# -- refusals ----------------------------------------------------------------------------------------------------------


@both
def test_bank_missing(generation: str) -> None:
    """Hindsight 1.1.0: `get_bank` answers with an in-band error."""
    with pytest.raises(
        NotFoundError, match=r"^get_bank: Bank 'nobody' not found; check the bank id, or .*allow_new_bank=True"
    ) as caught:
        replay("bank_missing", generation)
    assert (caught.value.what, caught.value.tool, caught.value.outcome) == ("bank", "get_bank", "not_sent")


@both
def test_memory_missing(generation: str) -> None:
    """Hindsight 1.1.0: `get_memory` answers with an in-band error."""
    with pytest.raises(NotFoundError, match=rf"^get_memory: Memory '{uuid(0)}' not found$") as caught:
        replay("memory_missing", generation)
    assert (caught.value.what, caught.value.outcome) == ("memory", "refused")


@pytest.mark.parametrize(
    ("name", "tool", "message"),
    [
        ("memory_id_invalid", "get_memory", "Invalid memory_id: 'tea' is not a valid UUID"),
        (
            "fact_type_invalid",
            "recall",
            "Operation validation failed: Invalid fact type(s): rumour. Must be one of: experience, observation, world",
        ),
        ("tag_groups_invalid", "recall", "4 validation errors for list[union[TagGroupLeaf,"),
        ("question_empty", "reflect", "Reflect requires a non-empty query."),
        ("limit_beyond_64_bits", "list_memories", f"invalid input for query argument $2: {2**63} (value out of int64"),
    ],
)
def test_what_a_tool_refuses_raises(name: str, tool: str, message: str) -> None:
    """Hindsight 1.1.0: refusals come in-band, with isError false."""
    with pytest.raises(ToolError) as caught:
        replay(name)
    assert type(caught.value) is ToolError
    assert (caught.value.tool, caught.value.outcome) == (tool, "refused")
    assert caught.value.message.startswith(message)


@pytest.mark.parametrize("name", ["key_missing", "key_wrong"])
def test_a_key_that_is_missing_or_wrong_is_unauthorized(name: str) -> None:
    """Hindsight 1.1.0: its ApiKeyTenantExtension answers 401 to both."""
    with pytest.raises(UnauthorizedError, match=r"Authentication failed: Invalid API key") as caught:
        replay(name)
    assert (caught.value.status, caught.value.outcome) == (401, "not_sent")
    assert WRONG_KEY not in str(caught.value)


def test_key_right() -> None:
    """Hindsight 1.1.0: a Bearer key that ApiKeyTenantExtension knows."""
    assert replay("key_right") == PROFILE


def test_tools_missing() -> None:
    """Hindsight 1.1.0: MCP_ENABLED_TOOLS hides tools from tools/list."""
    with pytest.raises(IncompatibleServer) as caught:
        replay("tools_missing")
    assert caught.value.missing == ("reflect", "list_memories", "get_memory", "get_bank")
    assert caught.value.server == "hindsight-mcp-server 1.1.0"


def test_session_lost() -> None:
    """Hindsight 1.1.0: 404 to a session that is gone; a new one is made."""
    assert replay("session_lost", "legacy") == PROFILE


# -- that replaying proves something -----------------------------------------------------------------------------------


def test_every_conversation_has_its_cassette_and_every_cassette_its_conversation() -> None:
    """Ours: no cassette lies idle."""
    assert sorted(CASSETTES.rglob("*.*")) == sorted([*FILES, *VERSIONS, *SHOWN])


def test_every_conversation_is_replayed_here() -> None:
    """Ours: what is recorded proves something."""
    source = Path(__file__).read_text("utf-8")
    assert [name for name in CONVERSATIONS if f'"{name}"' not in source] == []


def test_cassettes_stay_small() -> None:
    """Ours: cassettes are read by people and shipped in the sdist."""
    assert sum(path.stat().st_size for path in FILES) < 300_000


def test_a_changed_argument_fails() -> None:
    """Public report: mampfes/hacs_waste_collection_schedule #7102: the body is matched too."""

    def hold(url: str) -> Any:
        with Bank(url, "alice") as bank:
            return bank.list_memories(
                type="world", q="tea", limit=11, offset=0, tags=["user:alice"], tags_match="exact"
            )

    with pytest.raises(CannotOverwriteExistingCassetteException, match=r'-\s+"limit": 10,\s+\+\s+"limit": 11,'):
        replay("list_memories", hold=hold)


@pytest.mark.parametrize(
    "arguments",
    [{}, {"q": "tea", "type": "world"}, {"q": "Tea", "type": "observation"}, {"type": "observation", "limit": 100}],
)
def test_an_argument_more_or_less_fails(arguments: dict[str, Any]) -> None:
    """Public report: mampfes/hacs_waste_collection_schedule #7102 (replays that stayed green)."""

    def hold(url: str) -> Any:
        with Bank(url, "alice") as bank:
            return bank.list_memories(**arguments)

    with pytest.raises(CannotOverwriteExistingCassetteException):
        replay("get_observation", hold=hold)


def test_the_order_of_keys_is_no_difference() -> None:
    """RFC 8259, 4: an object is an unordered collection."""

    def hold(url: str) -> Any:
        with Bank(url, "alice") as bank:
            given = {"tags_match": "exact", "tags": ("user:alice",), "offset": 0, "limit": 10, "q": "tea"}
            return bank.list_memories(**given, type="world")  # type: ignore[arg-type]

    assert replay("list_memories", hold=hold).items == (ITEM,)


def test_swapped_calls_fail() -> None:
    """Public report: ultimate-notion/ultimate-notion #367: by vcrpy's defaults each got the other's answer."""

    def hold(url: str) -> Any:
        with Bank(url, "alice") as bank:
            bank.get_memory(SUMMARY.id)
            return bank.list_memories(type="observation", q="tea")

    with pytest.raises(CannotOverwriteExistingCassetteException):
        replay("get_observation", hold=hold)


def test_another_bank_fails() -> None:
    """Ours: the bank is in the path, and the path is matched."""

    def hold(url: str) -> Any:
        with Bank(url, "alices") as bank:
            return bank.get_bank()

    with pytest.raises(CannotOverwriteExistingCassetteException, match=r"/mcp/alices/, recorded was "):
        replay("get_bank", hold=hold)


def test_a_partly_played_cassette_fails() -> None:
    """Ours: a call that is no longer made is a change of behaviour."""

    def hold(url: str) -> Any:
        with Bank(url, "alice") as bank:
            return bank.list_memories(type="observation", q="tea")

    with pytest.raises(AssertionError, match=r"1 of 4 requests in .*get_observation\.yaml .*\n.* get_memory\n"):
        replay("get_observation", hold=hold)


def test_an_unused_cassette_fails() -> None:
    """Ours: a test that talks to nobody proves nothing."""
    with pytest.raises(AssertionError, match="3 of 3 requests in "):
        replay("get_bank", hold=lambda _: None)


def test_a_session_that_is_not_ended_fails() -> None:
    """MCP 2025-11-25, Transports, "Session Management": a client that is done sends DELETE."""
    with pytest.raises(AssertionError, match=r"1 of 8 requests in .*\n  DELETE http://localhost:8888/mcp/alice/\n"):
        replay("get_bank", "legacy", lambda url: Bank(url, "alice").get_bank())


def test_a_conversation_can_be_replayed_with_any_server_url_and_any_key() -> None:
    """Ours: a replay needs neither the server nor the key of the recording."""

    def hold(_: str) -> Any:
        with Bank("https://memory.example.com", "alice", api_key="sk-mine") as bank:
            return bank.get_bank()

    assert replay("get_bank", hold=hold) == PROFILE
    assert replay("get_bank", "legacy", hold) == PROFILE


def test_an_older_or_newer_client_replays_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: a release of this package is no reason to record again."""
    monkeypatch.setattr("hindsight_bank.connected.__version__", "99.0.0")
    assert replay("get_bank") == PROFILE
    assert replay("get_bank", "legacy") == PROFILE


def test_replaying_writes_nothing(tmp_path: Path) -> None:
    """Ours: record_mode none, so that no run of the tests changes a cassette."""
    before = {path: path.stat().st_mtime_ns for path in FILES}
    assert bank_vcr(tmp_path).record_mode == "none"
    replay("get_bank")
    with pytest.raises(AssertionError):
        replay("get_bank", hold=lambda _: None)
    assert {path: path.stat().st_mtime_ns for path in FILES} == before


@pytest.mark.parametrize("how", ["alone", "shuffled"])
def test_the_order_of_tests_is_no_matter(how: str) -> None:
    """Public report: kevin1024/vcrpy #533 (repeated requests). Ours: ids restart with each client."""
    here = test_the_order_of_tests_is_no_matter.__name__
    tests = [name for name in globals() if re.match(f"test_(?!a_cassette_|{here[5:]})", name)]
    order = ["test_get_observation"] if how == "alone" else random.sample(tests, len(tests))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--no-cov"]
    nodes = [f"{__file__}::{name}" for name in order]
    ran = subprocess.run([*command, *nodes], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, f"{order}\n{ran.stdout}"


# -- what is in them ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path", [*FILES, *VERSIONS, *SHOWN, SHIPPED], ids=lambda path: f"{path.parent.name}/{path.stem}"
)
def test_a_cassette_holds_nothing_that_it_should_not(path: Path) -> None:
    """Public reports: andrew-blake/melcloudhome #223, betamaxpy/betamax #42 (headers and bodies leaked)."""
    text = path.read_text("utf-8")
    for secret in (KEY, WRONG_KEY, "Bearer", "authorization", "cookie", "user-agent", "date:", "server:"):
        assert secret.lower() not in text.lower(), secret
    assert set(re.findall(r"https?://[^/\"'\\ ]+", text)) - {"https://errors.pydantic.dev"} == {URL}
    assert re.findall(r"\b(?:\d{1,3}\.){3}\d{1,3}\b|/(?:work|home|root|tmp|usr)/|localhost(?!:8888)", text) == []
    assert set(re.findall(r"[0-9a-f]{32}|session-id: \[(?!session-\d\])", text)) == set()
    for interaction in yaml.safe_load(text)["interactions"]:
        for side in ("request", "response"):
            assert set(interaction[side]["headers"]) <= {
                "content-type",
                "mcp-method",
                "mcp-name",
                "mcp-protocol-version",
                "mcp-session-id",
            }


@pytest.mark.parametrize(
    "path", [*FILES, *VERSIONS, *SHOWN, SHIPPED], ids=lambda path: f"{path.parent.name}/{path.stem}"
)
def test_a_cassette_written_again_is_the_same(path: Path, tmp_path: Path) -> None:
    """Ours: recording an unchanged server changes no byte."""
    again = tmp_path / "again.yaml"
    tape = bank_vcr(record_mode="new_episodes").use_cassette(str(path))
    with tape as loaded:
        loaded._path = str(again)
        loaded.dirty = True
    assert again.read_bytes() == path.read_bytes()
