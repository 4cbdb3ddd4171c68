"""Keys, session ids, memories and queries: planted everywhere, told nowhere."""

import copy
import html
import itertools
import logging
import pickle
import traceback
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import attrs
import pytest
from attrs.exceptions import NotAnAttrsClassError
from conftest import OpenBank, Serve, calls
from wire_server import (
    ANSWERS,
    EVENTS,
    GENERATIONS,
    JSON,
    NO_FACTS,
    Generation,
    Hindsight,
    Move,
    Play,
    Request,
    encoded,
    error,
    http,
    result,
    tool_result,
)

from hindsight_bank import Bank, BankError, CredentialsError, SettingsError

# A quote and a backslash, which JSON spells in another way.
KEY = 'canary-key"\\/<&>'
TEXT = "canary-text \u2028 ☕"
QUOTED = f"1 validation error for call[x]\ny\n  Bad [type=x, input_value='{TEXT}', input_type=str]"


class Planted(Hindsight):
    """A Hindsight whose session ids are canaries."""

    def _open(self, kind: str) -> str:
        if kind == "session":
            return super()._open("canary-session")
        self.sessions.add("canary-orphan")
        return "canary-orphan"


@pytest.fixture
def logged() -> Iterator[list[str]]:
    """Collect all that is logged, of every logger, at every level."""
    records: list[str] = []

    class Everything(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            records.append(f"{self.format(record)} {vars(record)}")

    root, handler = logging.getLogger(), Everything()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    yield records
    root.setLevel(level)
    root.removeHandler(handler)


def told_by(error: BaseException) -> Iterator[str]:
    """Yield all that an error and what hangs on it tells, but for the frames of this file, the caller's own."""
    chain = [error]
    for link in chain:
        chain += [other for other in (link.__cause__, link.__context__) if other is not None and other not in chain]
        yield f"{link} {link!r} {link.args!r} {vars(link)!r} {getattr(link, '__notes__', '')}"
        frames = traceback.TracebackException.from_exception(link, capture_locals=True, lookup_lines=False).stack
        yield from (f"{frame.name} {frame.locals}" for frame in frames if frame.filename != __file__)
    yield repr(pickle.dumps(error))
    yield repr(vars(pickle.loads(pickle.dumps(error))))  # noqa: S301 - our own


def hidden(texts: list[str]) -> bool:
    return not [text for text in texts if "canary" in text]


def use(bank: Bank) -> list[BankError]:
    """Call every tool with planted texts and return what went wrong."""
    given: dict[str, Callable[..., Any]] = calls(bank) | {
        "retain": lambda: bank.retain(TEXT, context=TEXT, tags=[TEXT], metadata={TEXT: TEXT}, document_id=TEXT),
        "recall": lambda: bank.recall(TEXT, tags=[TEXT]),
        "reflect": lambda: bank.reflect(TEXT, context=TEXT),
        "iter_memories": lambda: list(bank.iter_memories(q=TEXT, page_size=1)),
        "health": bank.health,
    }
    errors = []
    for call in given.values():
        try:
            call()
        except BankError as error:
            errors.append(error)
    return errors


FACT = {
    **dict.fromkeys(("entities", "context", "occurred_start", "occurred_end", "mentioned_at", "document_id")),
    **dict.fromkeys(("metadata", "chunk_id", "tags", "source_fact_ids")),
    "id": "1",
    "text": TEXT,
    "fact_type": "world",
}


@pytest.mark.parametrize("generation", GENERATIONS)
def test_a_success_is_not_logged(generation: Generation, serve: Serve, open_bank: OpenBank, logged: list[str]) -> None:
    """Public report: openai/openai-python #1196. Ours: nothing is logged, and httpcore, which would, has no part."""
    answers: dict[str, Any] = {
        "recall": {**NO_FACTS, "results": [FACT]},
        "reflect": {**ANSWERS["reflect"], "text": TEXT},
    }
    bank = open_bank(server := serve(Planted(generation, answers)), api_key=KEY)
    assert use(bank) == []
    assert bank.recall(TEXT).results[0].text == TEXT
    bank.close()
    assert logged == []
    logging.getLogger("httpcore.http11").debug("heard")
    assert len(logged) == 1
    assert "DELETE" in server.log or generation != "stateful"


def echo(request: Request) -> dict[str, Any]:
    """Return what a server might say of a request: its key and its session id, in values and names."""
    return {"session": request.session, "said": [KEY, {str(request.session): request.headers.get("authorization")}]}


def echoed(request: Request, status: int, kind: str) -> bytes:
    orphan = "canary-orphan" if request.label == "initialize" else ""
    told = [orphan, "canary-refused"]
    body = encoded([*told, echo(request)]) if kind == JSON else f"{KEY} {request.session} {told}".encode()
    headers = {"www-authenticate": KEY, "x-session": str(request.session), "mcp-session-id": "canary-refused"}
    return http(body, kind, status=status, headers=headers)


def refused_with_a_session(request: Request) -> bytes:
    headers = {"mcp-session-id": "canary-opened"} if request.label == "initialize" else {}
    return http(encoded(error(-32602, f"bad {headers}", request.id, **headers)), headers=headers)


ENDINGS: dict[str, Callable[[Request], Play]] = {
    **{
        f"{status} {kind}": partial(echoed, status=status, kind=kind)
        for status in (400, 401, 403, 404, 409, 429, 500)
        for kind in (JSON, "text/plain")
    },
    "RPC error": lambda request: http(encoded(error(-32602, f"bad {KEY}", request.id, **echo(request)))),
    "RPC error, session": refused_with_a_session,
    "RPC error, refused": lambda request: http(encoded(error(-32602, KEY, None, **echo(request))), status=422),
    "tool error": lambda request: http(encoded(result(request, tool_result({"error": f"bad {KEY}"})))),
    "tool says no": lambda request: http(encoded(result(request, {"content": [said(KEY)], "isError": True}))),
    "pydantic says no": lambda request: http(encoded(result(request, {"content": [said(QUOTED)], "isError": True}))),
    "web page": lambda request: http(
        f"<title>{html.escape(f'{KEY} {request.session}')}".encode(), "text/html", status=400
    ),
    "redirect": lambda _: http(status=302, headers={"location": f"//u:canary@h/{KEY}?x=canary#canary"}),
    "cut": lambda _: [http(encoded({"text": TEXT}))[:-4], Move.CLOSE],
    "reset": lambda _: [http(encoded({"text": TEXT}))[:-4], Move.RESET],
    "cut events": lambda _: [http(f"data: {TEXT}".encode(), EVENTS, framing="close"), Move.CLOSE],
    "not JSON": lambda _: http(TEXT.encode()),
    "not JSON-RPC": lambda _: http(encoded({"jsonrpc": TEXT, "id": TEXT, "method": [TEXT]})),
    "foreign id": lambda _: http(encoded({"jsonrpc": "2.0", "id": TEXT, "result": TEXT})),
    "no result": lambda request: http(encoded(result(request, TEXT))),
    "broken schema": lambda request: http(encoded(result(request, tool_result({"results": [{"text": [TEXT]}]})))),
    "unknown kind": lambda request: http(encoded(result(request, {"resultType": "input_required", "x": TEXT}))),
    "not HTTP": lambda _: [f"{TEXT}\r\n\r\n".encode(), Move.CLOSE],
    "bad header": lambda _: [b"HTTP/1.1 200 OK\r\nmcp-session-id : canary-session-2\r\n\r\n", Move.CLOSE],
    "bad chunk": lambda _: [http(b"{", framing="chunked").replace(b"0\r\n\r\n", b"canary-text\r\n"), Move.CLOSE],
    "wrong type": lambda _: http(TEXT.encode(), "text/html"),
    "compressed": lambda _: http(TEXT.encode(), headers={"content-encoding": "gzip"}),
    "not UTF-8": lambda _: http(b"canary\xff"),
    "too large": lambda _: http(b"canary" * 50_000),
    "silence": lambda _: [Move.HANG],
}


def said(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}


@pytest.mark.parametrize(
    ("generation", "label"),
    [
        ("modern", "call"),
        *(
            ("stateful", label)
            for label in ("tools/list", "get_bank", "call", "initialize", "notifications/initialized")
        ),
    ],
)
@pytest.mark.parametrize("ending", ENDINGS)
def test_no_error_and_no_log_tells_a_secret(
    ending: str, generation: Generation, label: str, serve: Serve, open_bank: OpenBank, logged: list[str]
) -> None:
    """Public reports: openai/openai-python #1196, kubernetes-client/python #656; at whatever step it happens."""
    fake = Planted(generation, {"list_memories": {"items": [], "total": 1, "limit": 1, "offset": 0}})
    bank = open_bank(serve(fake), api_key=KEY, timeout=0.1 if ending == "silence" else None, max_response_bytes=2**18)
    bank._connection._backoff._sleep = lambda _: None
    bank._connection._backoff._now = itertools.count(0, 100).__next__
    if label == "call":
        bank.connect(timeout=20)
    for each in ("retain", "recall", "reflect", "list_memories", "get_bank") if label == "call" else [label]:
        fake.answers[each] = ENDINGS[ending]
    errors = use(bank) if label == "call" else use(bank)[:2]
    bank.close()
    assert errors or label == "notifications/initialized"  # whose answer, if it is one, is not looked at
    assert hidden(logged)
    assert hidden([text for error in errors for text in told_by(error)])


def test_a_page_that_fails_does_not_tell_the_one_before(serve: Serve, open_bank: OpenBank) -> None:
    """Ours: a frame of ours that lives on while the caller iterates."""
    item = dict.fromkeys(("mentioned_at", "occurred_start", "occurred_end", "chunk_id"))
    item |= {"id": "1", "text": TEXT, "context": "", "date": "", "fact_type": "world", "entities": "", "proof_count": 1}
    pages = iter([{"items": [{**item, "tags": []}], "total": 2, "limit": 1, "offset": 0}])
    fake = Hindsight("modern", {"list_memories": lambda _: next(pages, None) or http(status=500)})
    memories = open_bank(serve(fake)).iter_memories(q=TEXT)
    assert next(memories).text == TEXT
    with pytest.raises(BankError) as caught:
        next(memories)
    assert hidden(list(told_by(caught.value)))


@pytest.mark.parametrize("key", [f"{KEY}\n", f" {KEY}", f"{KEY}\r\nX: y", f"{KEY}\0", f"{KEY}é", KEY.encode()])
def test_a_key_that_is_none_is_not_told(key: Any) -> None:
    """Public report: kubernetes-client/python #656."""
    with pytest.raises(CredentialsError) as caught:
        Bank("http://localhost:1", "alice", api_key=key)
    assert hidden(list(told_by(caught.value)))


@pytest.mark.parametrize(
    "url",
    ["http://u:canary@localhost", "https://h/?token=canary", "https://h/#canary", "https://h/canary", "canary://h"],
)
def test_a_url_that_is_none_is_not_told(url: str) -> None:
    """Public report: encode/httpx #568."""
    with pytest.raises(SettingsError) as caught:
        Bank(url, "alice", api_key=KEY, proxy=None)
    assert hidden(list(told_by(caught.value)))


@pytest.mark.parametrize("wrong", [{TEXT}, {"x": TEXT}, [[TEXT]], TEXT.encode(), TEXT + "\ud83d"])
def test_arguments_that_are_refused_are_not_told(wrong: Any, serve: Serve, open_bank: OpenBank) -> None:
    """Ours: a problem says path and expected type, not the value."""
    bank = open_bank(serve(Hindsight()))
    for call in (lambda: bank.retain(wrong), lambda: bank.recall(TEXT, tags=wrong), lambda: bank.get_memory(wrong)):
        with pytest.raises(BankError) as caught:
            call()
        assert hidden(list(told_by(caught.value)))


def test_a_request_that_is_too_large_is_not_told(serve: Serve, open_bank: OpenBank) -> None:
    """Ours: an error says sizes, never contents."""
    bank = open_bank(serve(Hindsight()), max_request_bytes=1000)
    with pytest.raises(BankError) as caught:
        bank.retain(TEXT * 1000)
    assert hidden(list(told_by(caught.value)))


def test_a_bank_shows_no_secret_and_cannot_be_copied(serve: Serve, open_bank: OpenBank) -> None:
    """Public report: openai/openai-python #1196 (what an error tracker stored)."""
    bank = open_bank(serve(Planted("stateful")), api_key=KEY, proxy=None).connect()
    connection = bank._connection
    assert connection._link is not None
    parts = [bank, connection, connection._options, connection._link, connection._link.endpoint]
    parts += [
        connection._link.endpoint._era,
        connection._link.endpoint._peer,
        connection._link.endpoint._peer._transport,
    ]
    assert hidden([repr(part) for part in parts])
    assert hidden([repr(vars(part)) for part in (bank, connection, connection._link)])
    for duplicate in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="holds connections"):
            duplicate(bank)
    with pytest.raises(NotAnAttrsClassError):
        attrs.asdict(bank)  # type: ignore[arg-type]  # as a crash reporter might


@pytest.mark.parametrize(
    ("place", "fault"),
    [
        *itertools.product(["httpx.HTTPTransport.handle_request"], [MemoryError, KeyboardInterrupt, SystemExit]),
        *itertools.product(
            ["hindsight_bank.reply.Reply.messages"], [MemoryError, RuntimeError, KeyboardInterrupt, SystemExit]
        ),
    ],
)
def test_a_fault_of_ours_tells_its_lines_and_no_secret(
    place: str, fault: type[BaseException], serve: Serve, open_bank: OpenBank, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Public report: openai/openai-python #1196: a crash report of a traceback with locals, whatever crashed."""
    bank = open_bank(serve(Planted("stateful")), api_key=KEY).connect()
    monkeypatch.setattr(place, Mock(side_effect=fault))
    for call in (*calls(bank).values(), bank.health):
        with pytest.raises(fault) as caught:
            call()
        assert hidden(list(told_by(caught.value)))
        files = {Path(frame.filename).name for frame in traceback.extract_tb(caught.value.__traceback__)}
        assert {"bank.py", "connection.py", "endpoint.py"} <= files


def test_a_misspelt_argument_does_not_tell_the_key() -> None:
    """Ours: Python's own refusal of a call passes through us."""
    with pytest.raises(TypeError, match="typo") as caught:
        Bank("http://localhost:1", "alice", typo=KEY)  # type: ignore[call-arg]
    assert hidden(list(told_by(caught.value)))


def test_a_bank_that_was_never_made_can_be_shown() -> None:
    """Ours: crash reports show `self` of a constructor that failed."""
    bank = Bank.__new__(Bank)
    assert repr(bank) == "Bank(of unusable settings)"
    with pytest.raises(SettingsError):
        bank.__init__("nowhere", "alice", api_key=KEY)  # type: ignore[misc]
    assert repr(bank) == "Bank(of unusable settings)"
