"""What a server says, made fit for an error."""

import threading
from typing import Any

import pytest
from conftest import OpenBank, Serve
from wire_server import EVENTS, JSON, Hindsight, Play, Request, encoded, error, http, result, sse

from hindsight_bank import Bank, BankError
from hindsight_bank.censor import Censor, texts, veiling

CONTENT = "Alice told Bob on the stairs that she will resign in May."


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (f"cannot store {CONTENT!r}: too sad", "cannot store '***': too sad"),
        (f"cannot store '{CONTENT[:30]}...' (57 characters)", "cannot store '***...' (57 characters)"),
        (f"…{CONTENT[10:]}", "…***"),
        (f"{CONTENT[:12]} and {CONTENT[-12:]}", f"{CONTENT[:12]} and {CONTENT[-12:]}"),
        ("Bank 'alice' not found", "Bank 'alice' not found"),
        ("user:carol is no tag", "*** is no tag"),
        ("unknown key source-url: first line\\nthe second", "unknown key ***: ***\\n***"),
        ("unknown key source-url: first line\nthe second", "unknown key ***: ***"),
        ("a", "a"),
        ("", ""),
    ],
)
def test_what_the_call_says_itself_is_veiled_whole_and_in_part(said: str, told: str) -> None:
    """Public report: rhesis #1570: error texts that repeat what was sent."""
    given = {"content": CONTENT, "tags": ["user:carol", "a"], "metadata": {"source-url": "first line\nthe second"}}
    with veiling(given):
        assert Censor(None).clean(said) == told
        assert Censor(None).veil([{said: said}, 1, None]) == [{told: told}, 1, None]


def test_only_the_call_of_this_thread_is_veiled_and_only_while_it_lasts() -> None:
    """Ours: calls share one connection, and what another one says is no word of this one."""
    censor = Censor("k3y-value")
    heard: list[str] = []
    with veiling({"query": CONTENT}):
        thread = threading.Thread(target=lambda: heard.append(censor.clean(f"k3y-value {CONTENT}")))
        thread.start()
        thread.join()
    assert heard == [f"*** {CONTENT}"]
    assert censor.clean(CONTENT) == CONTENT


def test_long_sentences_about_long_texts_are_cut_in_bounded_time() -> None:
    """Ours: an error is no place to spend a minute."""
    given = {"content": "".join(map(str, range(600_000)))}
    with veiling(given):
        told = Censor(None).clean("no: " + given["content"][1000:])
        assert told == "no: ***"
        assert len(Censor(None).clean("x" * 10**7)) < 310


def test_what_is_said_in_several_lines_stays_so_where_nothing_is_veiled() -> None:
    """Ours: the data of an error are the server's, untouched but for secrets."""
    assert Censor("k3y").veil({"trace": "a\nb\nk3y"}) == {"trace": "a\nb\n***"}


def test_texts_are_found_at_any_depth() -> None:
    """Ours: metadata are texts, by name and by value."""
    assert list(texts({"a": ["b", {"c": 1, "d": None}], "e": "f"})) == ["b", "c", "d", "f", "a", "e"]
    assert list(texts({"a": ["b", {"c": "d"}]}, names=False)) == ["b", "d"]


def _echoes(request: Request) -> dict[str, Play]:
    call = request.arguments
    fault = error(-32602, f"bad {call}", request.id, input=call, loc=[str(call)])
    blocks = [{"type": "text", "text": f"cannot: {call}"}]
    return {
        "400": http(encoded({"detail": [{"input": call, "msg": str(call)}]}), status=400),
        "422 text": http(str(call).encode(), "text/plain", status=422),
        "500": http(encoded({"detail": [call]}), status=500),
        "404": http(encoded({"detail": str(call)}), status=404),
        "RPC error": http(encoded(fault)),
        "RPC error, stray": http(encoded(fault | {"id": None}), JSON, status=400),
        "isError": http(encoded(result(request, {"content": blocks, "isError": True}))),
        "sentence": http(
            encoded(result(request, {"content": [{"type": "text", "text": f"no {list(call.values())}"}]}))
        ),
        "in band": http(sse(result(request, {"structuredContent": {"error": str(call)}})), EVENTS),
        "code": http(
            sse(result(request, {"structuredContent": {"error": {"message": "", "code": str(call)}}})), EVENTS
        ),
        "status": http(encoded(result(request, {"structuredContent": {"status": "error", "message": str(call)}}))),
    }


ECHOES = ("400", "422 text", "500", "404", "RPC error", "RPC error, stray", "isError", "sentence", "in band", "code")


def _fail(bank: Bank, tool: str) -> BankError:
    calls: dict[str, Any] = {
        "retain": lambda: bank.retain(CONTENT, context="very private", metadata={"secret-name": "secret-value"}),
        "recall": lambda: bank.recall(CONTENT, tags=["secret-tag"], tag_groups=None),
        "reflect": lambda: bank.reflect(CONTENT, context="very private"),
        "list_memories": lambda: bank.list_memories(q=CONTENT),
    }
    with pytest.raises(BankError) as caught:
        calls[tool]()
    return caught.value


@pytest.mark.parametrize("echo", [*ECHOES, "status"])
@pytest.mark.parametrize("tool", ["retain", "recall", "reflect", "list_memories"])
def test_no_error_repeats_the_callers_own_texts(echo: str, tool: str, serve: Serve, open_bank: OpenBank) -> None:
    """Public report: openai/openai-python #1196; a server may quote what it refuses in any error it has."""
    bank = open_bank(serve(Hindsight("modern", {tool: lambda request: _echoes(request)[echo]})))
    failed = _fail(bank, tool)
    told = f"{failed} {failed.args} {vars(failed)}"
    assert not [word for word in ("Alice", "resign", "private", "secret") if word in told], told


def test_an_id_that_is_asked_for_is_no_secret(serve: Serve, open_bank: OpenBank) -> None:
    """Hindsight 1.1.0 names the id that it does not find, and that helps."""
    missing = "Memory '00000000-0000-0000-0000-000000000009' not found"
    bank = open_bank(serve(Hindsight("modern", {"get_memory": {"error": missing}})))
    with pytest.raises(BankError, match=f"^get_memory: {missing}$"):
        bank.get_memory("00000000-0000-0000-0000-000000000009")
