"""The public face of a bank: six verbs as their schemas have them, and what is made of them. No network."""

import copy
import inspect
import itertools
import json
import math
import pickle
import re
import socket
import ssl
import tracemalloc
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from test_answers import ANSWERS, CLASSES, every_tool, read, structured

from hindsight_bank import (
    AgentBank,
    AnswerError,
    ArgumentsError,
    Bank,
    ClosedError,
    ProtocolError,
    PutSearchBank,
    SettingsError,
)
from hindsight_bank.deadline import Deadline
from hindsight_bank.transport import Limits

SCHEMAS = Path(__file__).parent.parent / "schemas/tools"
POSITIONAL = {"content", "query", "memory_id"}
NEEDED = {"retain": ("c",), "recall": ("q",), "reflect": ("q",), "get_memory": ("m",)}


class Stub:
    """What a Bank asks of its connection: plays answers, and keeps what it was asked."""

    def __init__(self, play: Any = None) -> None:
        self.play = play or (lambda tool, _: read(tool, structured(tool)))
        self.calls: list[tuple[str, dict[str, Any], Deadline]] = []
        self.opened: list[Deadline] = []
        self.closed = 0

    def call(self, tool: str, given: dict[str, Any], deadline: Deadline) -> Any:
        self.calls.append((tool, given, deadline))
        return self.play(tool, given)

    def open(self, deadline: Deadline) -> Any:
        self.opened.append(deadline)
        return SimpleNamespace(server="hindsight-mcp-server 1.1.0", endpoint=SimpleNamespace(revision="2026-07-28"))

    def close(self) -> None:
        self.closed += 1


def bank_on(stub: Stub, **options: Any) -> Bank:
    bank = Bank("http://localhost:8888", "alice", **options)
    bank._connection = stub  # type: ignore[assignment]
    return bank


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every attempt to reach anything fail the test."""
    for name in ("socket", "create_connection", "getaddrinfo"):
        monkeypatch.setattr(socket, name, lambda *_, **__: pytest.fail("I/O"))


# -- the six tools -----------------------------------------------------------------------------------------------------


@every_tool
def test_a_method_takes_what_its_tool_takes(tool: str) -> None:
    """schemas/tools/: names, order and requiredness; the subject positional, None for all that is unset."""
    schema = json.loads((SCHEMAS / f"{tool}.json").read_text())["inputSchema"]
    *own, timeout = list(inspect.signature(getattr(Bank, tool)).parameters.values())[1:]
    assert [p.name for p in own] == list(schema.get("properties", {}))
    assert [p.name for p in own if p.default is p.empty] == schema.get("required", [])
    assert {p.name for p in own if p.kind is p.POSITIONAL_OR_KEYWORD} == POSITIONAL & {p.name for p in own}
    assert all(p.kind is p.KEYWORD_ONLY and p.default is None for p in own if p.name not in POSITIONAL)
    assert (timeout.name, timeout.kind, timeout.default) == ("timeout", timeout.KEYWORD_ONLY, None)


@pytest.mark.parametrize("method", [*ANSWERS, "iter_memories", "health", "connect", "__init__"])
def test_every_argument_is_documented_in_the_order_it_has(method: str) -> None:
    """Ours: public docstrings tell each argument; the class documents the constructor."""
    function = getattr(Bank, method)
    told = inspect.getdoc(Bank if method == "__init__" else function) or ""
    arguments = told.partition("Args:\n")[2].split("\n\n")[0]
    names = re.findall(r"^    (\w+): ", arguments, re.MULTILINE)
    assert names == list(inspect.signature(function).parameters)[1:]
    if method in ANSWERS:
        assert "Returns:\n" in told
        assert "Raises:\n" in told


@every_tool
def test_a_method_hands_down_what_it_was_given_and_hands_back_the_answer(tool: str) -> None:
    """Ours: bind arguments, hand down, hand back; every argument reaches the tool of the method's name."""
    stub = Stub()
    names = [p.name for p in inspect.signature(getattr(Bank, tool)).parameters.values()][1:-1]
    given = {name: object() for name in names if name != "response_schema"}
    answer = getattr(bank_on(stub), tool)(**given)
    [(called, handed, deadline)] = stub.calls
    assert (called, deadline.operation) == (tool, tool)
    assert {name: value for name, value in handed.items() if value is not None} == given
    assert set(handed) == set(names)
    assert type(answer).__name__ == CLASSES[tool]


@every_tool
@pytest.mark.parametrize(
    ("of_bank", "of_call", "seconds"),
    [
        (None, None, {"reflect": 330.0}),
        (2, None, {}),
        (2, 0.5, {}),
        (None, 7, {}),
        (2, math.inf, {}),
        (math.inf, 3, {}),
    ],
)
def test_the_timeout_of_a_call_beats_the_banks_which_beats_the_tools(
    tool: str, of_bank: float | None, of_call: float | None, seconds: dict[str, float]
) -> None:
    """Public reports: hindsight #3590 (a timeout read, never used), oh-my-pi #6125 (reflect outlives 300 s)."""
    stub = Stub()
    getattr(bank_on(stub, timeout=of_bank), tool)(*NEEDED.get(tool, ()), timeout=of_call)
    expected = of_call or of_bank or seconds.get(tool, 60.0)
    assert [deadline.seconds for _, _, deadline in stub.calls] == [expected]


def test_structured_output_is_checked_only_if_it_was_asked_for_and_came() -> None:
    """Hindsight 0.10.0: a failed structured output is null, with structured_output_error."""
    schema = {"type": "object", "required": ["drink"]}
    none = bank_on(Stub())
    assert none.reflect("q", response_schema=schema).structured_output is None
    empty = bank_on(Stub(lambda tool, _: read(tool, structured(tool, structured_output={}))))
    assert empty.reflect("q").structured_output == {}
    with pytest.raises(AnswerError, match="breaks the response_schema: breaks 'required' @ \\$"):
        empty.reflect("q", response_schema=schema)


# -- made of them ------------------------------------------------------------------------------------------------------


def page(ids: list[int], total: int = 10**6) -> Any:
    """Return a page as list_memories gives it, of items as small as can be."""
    items = tuple(SimpleNamespace(id=str(number), text=f"memory {number}") for number in ids)
    return SimpleNamespace(items=items, total=total, limit=len(ids), offset=0)


def paged(*pages: list[int]) -> Stub:
    left = iter(pages)
    return Stub(lambda *_: page(next(left)))


def test_browsing_asks_for_a_page_only_when_it_is_needed() -> None:
    """Ours: lazily; the filters go with every page, the offset is where the last page ended."""
    stub = paged([1, 2], [3], [])
    memories = bank_on(stub).iter_memories(type="world", q="tea", tags=["a"], tags_match="all", page_size=2, timeout=9)
    assert stub.calls == []
    assert [next(memories).id, next(memories).id, len(stub.calls)] == ["1", "2", 1]
    assert [memory.id for memory in memories] == ["3"]
    filters = {"type": "world", "q": "tea", "tags": ["a"], "tags_match": "all", "limit": 2}
    assert [given for _, given, _ in stub.calls] == [filters | {"offset": offset} for offset in (0, 2, 3)]
    assert {deadline.seconds for _, _, deadline in stub.calls} == {9}


@pytest.mark.parametrize(
    ("pages", "ids"),
    [
        ([[]], ""),
        ([[1], []], "1"),
        ([[1, 2], [2, 3], [3, 4], []], "1234"),  # one was stored before each page
        ([[1, 2], [1, 2], []], "12"),  # two were
        ([[1, 2], [4], []], "124"),  # one was deleted: one is skipped
        ([[1, 2], [3], [4], []], "1234"),  # a short page is not the end
        ([[3, 1], [2], []], "312"),
    ],
)
def test_what_the_page_before_had_is_dropped_and_an_empty_page_is_the_end(pages: list[list[int]], ids: str) -> None:
    """Ours: pages are cut by position, so that writes in between push memories back."""
    stub = paged(*pages)
    assert "".join(memory.id for memory in bank_on(stub).iter_memories(page_size=2)) == ids
    assert len(stub.calls) == len(pages)


def test_what_is_stored_between_counting_and_reading_is_no_fault_of_the_server() -> None:
    """Hindsight 1.1.0 counts first and reads the page then: behind the last memory there may be one pushed back."""
    pages = iter([([1, 2], 2), ([2], 2), ([2], 3), ([], 4)])
    stub = Stub(lambda *_: page(*next(pages)))
    assert [memory.id for memory in bank_on(stub).iter_memories(page_size=2)] == ["1", "2"]


def test_browsing_needs_no_more_memory_the_more_there_is() -> None:
    """Ours: two pages at a time, whatever the size of the bank."""

    def peak(pages: int) -> int:
        numbers = iter(range(pages))
        stub = Stub(lambda *_: page([n * 50 + k for k in range(50)] if (n := next(numbers, None)) is not None else []))
        stub.calls = SimpleNamespace(append=lambda _: None)  # type: ignore[assignment]
        tracemalloc.start()
        assert sum(1 for _ in bank_on(stub).iter_memories(page_size=50)) == pages * 50
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most

    peak(3)
    assert peak(300) < peak(10) * 1.5


@pytest.mark.parametrize(
    ("pages", "total", "asked"),
    [
        ([[1, 2, 3]], 3, 3),  # the whole bank, again and again
        ([[1, 2]], 5, 5),  # always the first page: the rest cannot be reached
        ([[1, 2], [3, 4]], 2, 4),  # in turns, so that something is always fresh
        ([[1]], 0, 4),
    ],
)
def test_a_server_that_ignores_the_offset_is_found_out(pages: list[list[int]], total: int, asked: int) -> None:
    """Ours: what has no end is neither waited for nor taken for the whole."""
    turns = itertools.cycle(pages)
    stub = Stub(lambda *_: page(next(turns), total))
    with pytest.raises(ProtocolError, match="no end of pages"):
        list(bank_on(stub).iter_memories(page_size=2))
    assert len(stub.calls) == asked


@pytest.mark.parametrize("size", [0, -1, True, "10", 1.0, None])
def test_a_page_has_at_least_one_memory(size: Any) -> None:
    """Ours: refused at once, before anything is asked."""
    stub = Stub()
    with pytest.raises(ArgumentsError, match="page_size is a whole number, at least 1"):
        bank_on(stub).iter_memories(page_size=size)
    assert stub.calls == []


def test_health_tells_what_answered_and_how_long_it_took() -> None:
    """Ours: one deadline for connecting and asking; server and protocol as reported."""
    stub = Stub()
    health = bank_on(stub, timeout=5).health()
    assert (health.bank.bank_id, health.server, health.protocol) == (
        "alice",
        "hindsight-mcp-server 1.1.0",
        "2026-07-28",
    )
    assert 0 <= health.seconds < 60
    assert [(tool, given) for tool, given, _ in stub.calls] == [("get_bank", {})]
    assert stub.opened[0] is stub.calls[0][2]
    assert (stub.opened[0].operation, stub.opened[0].seconds) == ("health", 5)


# -- life --------------------------------------------------------------------------------------------------------------


def test_a_with_block_connects_and_closes_whatever_happens() -> None:
    """Public reports: hindsight #1387, #1547 (clients that could not be closed)."""
    stub = Stub()
    with pytest.raises(ZeroDivisionError), (bank := bank_on(stub)) as entered:
        len(stub.opened) / (entered is not bank)
    assert (len(stub.opened), stub.closed) == (1, 1)
    assert bank.connect(timeout=3) is bank
    assert (stub.opened[1].operation, stub.opened[1].seconds) == ("connect", 3)


@pytest.mark.usefixtures("offline")
def test_a_bank_that_was_never_used_closes_silently_and_stays_closed() -> None:
    """Ours: nothing happens at construction, so nothing has to be ended; closing twice is fine."""
    bank = Bank("https://memory.example.com", "alice", api_key="k", proxy="http://user:pw@proxy:3128")
    bank.close()
    bank.close()
    for use in (bank.get_bank, bank.connect, bank.health, lambda: next(bank.iter_memories())):
        with pytest.raises(ClosedError, match="open another"):
            use()


@pytest.mark.usefixtures("offline")
@pytest.mark.parametrize(
    ("setting", "value"),
    [
        *(("timeout", value) for value in (0, -1, math.nan, "5", True)),
        *(("connect_timeout", value) for value in (0, -1, math.nan, "5", True)),
        *(("max_request_bytes", value) for value in (0, -1, 1.5, "5", True, None)),
        *(("max_response_bytes", value) for value in (0, -1, 1.5, "5", True, None)),
        *(("backoff", value) for value in ("", "never", None, True, 5)),
        *(("allow_new_bank", value) for value in ("False", "", None, 0, 1)),
        *(("ssl_context", value) for value in (True, False, 1, "ca.pem")),
        *(
            ("proxy", value)
            for value in ("", "s3cret", "socks5://s3cret@h", "ftp://h", "http://", "//h", 5, b"http://h")
        ),
    ],
)
def test_a_setting_that_breaks_its_rule_is_refused_before_any_io(setting: str, value: Any) -> None:
    """Ours: settings rules are checked at construction; a proxy's password is not quoted."""
    with pytest.raises(SettingsError) as caught:
        Bank("http://localhost", "alice", **{setting: value})
    assert "s3cret" not in f"{caught.value!r}"


@pytest.mark.usefixtures("offline")
@pytest.mark.parametrize("kind", [Bank, PutSearchBank, AgentBank])
def test_every_setting_arrives_where_it_is_used(kind: type[Bank | PutSearchBank | AgentBank]) -> None:
    """Public report: hindsight #3590 (a setting that was read, and never used): of a bank of every generation."""
    context = ssl.create_default_context()
    given: dict[str, Any] = {"api_key": "k", "backoff": "raise", "ssl_context": context, "proxy": "http://proxy:1"}
    given |= {"connect_timeout": 1.5, "max_request_bytes": 11, "max_response_bytes": 12}
    connection = kind("https://h", "alice", **given)._connection
    route = connection._options.reach("https://h/")._pool._route
    assert (route.tls, route.proxy) == (context, ("proxy", 1, []))
    assert connection._options.key == "k"
    assert connection._options.limits == Limits(connect=1.5, request=11, response=12)
    assert connection._backoff._manner == "raise"


@pytest.mark.usefixtures("offline")
def test_arguments_are_judged_before_any_io() -> None:
    """Ours: a call that cannot be right costs no connection."""
    bank = Bank("http://localhost", "alice")
    with pytest.raises(ArgumentsError, match="max_tokens"):
        bank.recall("q", max_tokens=0)
    with pytest.raises(ArgumentsError, match="exclude each other"):
        bank.recall("q", tags=["a"], tag_groups=[{}])
    with pytest.raises(ArgumentsError, match="timeout"):
        bank.recall("q", timeout=0)
    with pytest.raises(ArgumentsError, match=r"response_schema"):
        bank.reflect("q", response_schema={"type": "no such type"})
    with pytest.raises(ArgumentsError, match=r"a \$ref leads outside of the schema @ \$\.response_schema"):
        bank.reflect("q", response_schema={"properties": {"a": {"anyOf": [{"$ref": "http://localhost/x"}]}}})
    nested: dict[str, Any] = {}
    for _ in range(5000):
        nested = {"not": nested}
    with pytest.raises(ArgumentsError, match=r"less nesting @ \$\.response_schema"):
        bank.reflect("q", response_schema=nested)
    with pytest.raises(ArgumentsError, match=r"response_schema"):
        bank.reflect("q", response_schema={1: "not JSON"})  # type: ignore[dict-item]


def test_a_bank_can_do_what_is_written_here_and_nothing_else() -> None:
    """Ours: six tools, six methods; what deletes, clears or rewrites has no method."""
    assert [name for name in dir(Bank) if not name.startswith("_")] == sorted(
        [
            *(*ANSWERS, "iter_memories", "health", "connect", "close", "bank_id", "server_url"),
            *("from_binding", "from_environment"),
        ]
    )
    bank = Bank("http://LOCALHOST:80/", "alice")
    assert all(name.startswith("_") for name in vars(bank))
    assert (bank.server_url, bank.bank_id) == ("http://localhost", "alice")
    with pytest.raises(AttributeError):
        bank.bank_id = "bob"  # type: ignore[misc]


def test_the_key_is_in_no_repr_and_a_bank_is_neither_pickled_nor_copied() -> None:
    """Public report: openai-python #1196 (an error tracker stored an object's repr)."""
    bank = Bank("http://localhost:8888", "alice", api_key="s3cret", proxy="http://user:s3cret@proxy:1")
    assert repr(bank) == "Bank('http://localhost:8888', 'alice')"
    assert "s3cret" not in f"{vars(bank)} {vars(bank._connection)}"
    for refuse in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="make one in each process"):
            refuse(bank)
