"""The whole public API as users write it: the type checker reads this file, nothing runs it."""

import math
import ssl
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, assert_type

import hindsight_bank
from hindsight_bank import (
    Agent,
    AgentBank,
    AgentFact,
    AgentGround,
    AgentList,
    AgentReceipt,
    AgentSearchResult,
    AgentThought,
    AnswerError,
    AnswerLostError,
    ArgumentsError,
    BackingOffError,
    Bank,
    BankError,
    BankProfile,
    BasedOn,
    Binding,
    Chunk,
    ClosedError,
    CredentialsError,
    DeadlineError,
    Directive,
    Disposition,
    Entity,
    EntityObservation,
    Fact,
    Health,
    IncompatibleServer,
    LLMCall,
    Memory,
    MemoryItem,
    MemoryPage,
    NotFoundError,
    ProtocolError,
    PutReceipt,
    PutSearchBank,
    PutSearchFact,
    PutSearchResult,
    RecallResult,
    ReconnectRequired,
    ReflectResult,
    RetainReceipt,
    RPCError,
    Scores,
    SettingsError,
    SourceMemory,
    StatusError,
    ToolCall,
    ToolError,
    UnauthorizedError,
    UnreachableError,
    Usage,
    forget_key,
    store_key,
    stored_key,
    to_dict,
)

version: str = hindsight_bank.__version__
key: str | None = stored_key("https://memory.example.com", "alice")

store_key("https://memory.example.com", "alice", "sesame")
assert_type(forget_key("https://memory.example.com", "alice"), bool)

binding = Binding("http://localhost:8888", "alice")
assert_type((binding.server_url, binding.bank_id, binding.endpoint), tuple[str, str, str])
assert_type(binding.save(Path("binding.json")), Path)
assert_type(Binding.location(), Path)
assert_type(Binding.remove("binding.json"), Path)
try:
    assert_type(Binding.load(), Binding)
except ReconnectRequired as error:
    assert_type((error.path, error.found), tuple[str, tuple[str, ...]])
bank = Bank.from_binding(binding, api_key=key, timeout=5, allow_new_bank=True)
bank = Bank.from_binding("binding.json")
bank = Bank.from_binding(tiemout=5)  # type: ignore[call-arg]  # options are known by name
bank = Bank.from_environment(backoff="raise")

bank = Bank("http://localhost:8888", "alice")
bank = Bank(
    server_url="https://memory.example.com",
    bank_id="alice",
    api_key=key,
    timeout=math.inf,
    connect_timeout=5,
    max_request_bytes=2**20,
    max_response_bytes=2**25,
    backoff="raise",
    allow_new_bank=True,
    ssl_context=ssl.create_default_context(),
    proxy="http://proxy:3128",
)
with bank as entered:
    assert_type(entered, Bank)
assert_type(bank.connect(timeout=3), Bank)
bank.close()
assert_type((bank.server_url, bank.bank_id), tuple[str, str])

receipt = bank.retain("Alice prefers tea.")
receipt = bank.retain(
    content="Alice prefers tea.",
    context="chat",
    timestamp=datetime.now(UTC),
    tags=("user:alice",),
    metadata={"source": "chat"},
    document_id="doc",
    strategy="exact",
    update_mode="append",
    timeout=60,
)
bank.retain("x", timestamp="2026-01-01T00:00:00Z", tags=["a"])
assert_type(receipt, RetainReceipt)
assert_type(receipt.status, Literal["accepted"])
assert_type((receipt.message, receipt.operation_id), tuple[str, str | None])

recalled = bank.recall("What does Alice drink?")
recalled = bank.recall(
    query="What does Alice drink?",
    max_tokens=1000,
    budget="mid",
    types=["world", "experience"],
    prefer_observations=True,
    tags=["user:alice"],
    tags_match="any_strict",
    query_timestamp="2026-01-01T00:00:00Z",
    min_scores={"final": 0.2, "semantic": None},
    temporal_window={"start": "2026-01-01T00:00:00Z"},
    include_chunks=True,
    max_chunk_tokens=1,
    include_entities=True,
    max_entity_tokens=1,
    include_source_facts=True,
    max_source_facts_tokens=1,
    timeout=10.5,
)
bank.recall("q", tag_groups=[{"and": [{"tags": ["a"], "match": "any"}]}])
assert_type(recalled, RecallResult)
assert_type(recalled.results, tuple[Fact, ...])
assert_type(recalled.entities, dict[str, Entity] | None)
assert_type(recalled.chunks, dict[str, Chunk] | None)
assert_type(recalled.source_facts, dict[str, Fact] | None)
for fact in recalled.results:
    assert_type((fact.id, fact.text, fact.fact_type), tuple[str, str, str])
    assert_type((fact.context, fact.document_id, fact.chunk_id), tuple[str | None, str | None, str | None])
    assert_type((fact.mentioned_at, fact.occurred_start), tuple[datetime | None, datetime | None])
    assert_type(
        (fact.entities, fact.tags, fact.source_fact_ids), tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]
    )
    assert_type(fact.metadata, dict[str, str])
    assert_type(fact.scores, Scores | None)
    if fact.scores is not None:
        assert_type((fact.scores.final, fact.scores.reranker), tuple[float, float | None])
for entity in (recalled.entities or {}).values():
    assert_type(entity.observations, tuple[EntityObservation, ...])

reflected = bank.reflect("What should I serve Alice?")
reflected = bank.reflect(
    query="What should I serve Alice?",
    context="dinner",
    budget="low",
    max_tokens=500,
    response_schema={"type": "object"},
    tags=["a"],
    tags_match="exact",
    apply_all_directives=False,
    include_based_on=True,
    include_trace=True,
    timeout=330,
)
assert_type(reflected, ReflectResult)
assert_type(reflected.text, str)
assert_type(reflected.structured_output, dict[str, Any] | None)
assert_type(reflected.usage, Usage | None)
assert_type(reflected.based_on, BasedOn | None)
assert_type(reflected.tool_trace, tuple[ToolCall, ...])
assert_type(reflected.llm_trace, tuple[LLMCall, ...])
assert_type(reflected.directives_applied, tuple[Directive, ...])
if reflected.based_on is not None:
    assert_type(reflected.based_on.mental_models, tuple[Fact, ...])

page = bank.list_memories()
page = bank.list_memories(type="world", q="tea", limit=10, offset=20, tags=["a"], tags_match="all", timeout=1)
assert_type(page, MemoryPage)
assert_type(page.items, tuple[MemoryItem, ...])
assert_type((page.total, page.limit, page.offset), tuple[int, int, int])
memories = bank.iter_memories(type="world", q="tea", tags=["a"], tags_match="all", page_size=50, timeout=1)
assert_type(memories, Iterator[MemoryItem])
for item in memories:
    assert_type((item.id, item.entities, item.proof_count), tuple[str, str, int])
    assert_type(item.updated_at, datetime | None)
    assert_type(item.metadata, dict[str, Any] | None)

memory = bank.get_memory("959daf67-4474-4f04-ac2f-4e978e1f66c5", timeout=1)
assert_type(memory, Memory)
assert_type(memory.entities, tuple[str, ...])
assert_type(memory.source_memories, tuple[SourceMemory, ...])
profile = bank.get_bank(timeout=1)
assert_type(profile, BankProfile)
assert_type(profile.disposition, Disposition)
health = bank.health(timeout=1)
assert_type(health, Health)
assert_type((health.bank, health.seconds, health.server, health.protocol), tuple[BankProfile, float, str, str])
assert_type(to_dict(memory), dict[str, Any])

older = PutSearchBank("http://localhost:8888", "alice@example.com", path="/mcp", timeout=5)
assert_type(older.hindsight_put("content", "context", explanation="why"), PutReceipt)
found = older.hindsight_search("query", max_tokens=100)
assert_type(found, PutSearchResult)
assert_type(found.results, tuple[PutSearchFact, ...])
assert_type(found.results[0].event_date, datetime | None)

with AgentBank("http://localhost:8888", "alice") as agent:
    assert_type(agent, AgentBank)
    assert_type(agent.hindsight_store("content", context="context"), AgentReceipt)
    assert_type(agent.hindsight_search("query", top_k=3), AgentSearchResult)
    assert_type(agent.hindsight_search("query").results, tuple[AgentFact, ...])
    thought = agent.hindsight_think("query", budget="high")
    assert_type(thought, AgentThought)
    assert_type(thought.based_on, tuple[AgentGround, ...])
    agents = agent.hindsight_agents()
    assert_type(agents, AgentList)
    assert_type(agents.memory_banks, tuple[Agent, ...])

try:
    bank.get_bank()
except (ArgumentsError, AnswerError) as error:
    assert_type((error.tool, error.problems), tuple[str, tuple[str, ...]])
except SettingsError as error:
    as_value_error: ValueError = error
except CredentialsError as error:
    assert_type(error.source, str)
except BackingOffError as error:
    assert_type(error.retry_after, float)
except DeadlineError as error:
    as_timeout: TimeoutError = error
    assert_type((error.seconds, error.operation), tuple[float, str])
except UnauthorizedError as error:
    as_status: StatusError = error
except StatusError as error:
    assert_type((error.status, error.retry_after), tuple[int, float | None])
except RPCError as error:
    assert_type((error.code, error.message, error.data), tuple[int, str, object])
except IncompatibleServer as error:
    assert_type((error.missing, error.server), tuple[tuple[str, ...], str])
except NotFoundError as error:
    assert_type((error.what, error.tool), tuple[str, str])
except ToolError as error:
    assert_type((error.message, error.code), tuple[str, str | None])
except (ClosedError, UnreachableError, AnswerLostError, ProtocolError):
    raise
except BankError as error:
    assert_type(error.outcome, Literal["not_sent", "refused", "unknown"])

# What the type checker must refuse:
Bank("http://localhost")  # type: ignore[call-arg]
Bank("http://localhost", "alice", "k")  # type: ignore[call-arg]
Bank("http://localhost", "alice", backoff="never")  # type: ignore[arg-type]
bank.recall("q", budget="medium")  # type: ignore[arg-type]
bank.recall("q", limit=5)  # type: ignore[call-arg]
bank.recall("q", 100)  # type: ignore[call-arg]
bank.retain("c", metadata={"n": 1})  # type: ignore[dict-item]
bank.get_memory()  # type: ignore[call-arg]
recalled.results = ()  # type: ignore[misc]
