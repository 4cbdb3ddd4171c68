"""What users record and replay with: what is compared, what is written down, and when a cassette fails."""

import gzip
import importlib
import json
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest
import vcr
import yaml
from conftest import Serve
from conversations import CASSETTES
from examples import ROOT, fences
from hypothesis import given, settings
from hypothesis import strategies as st
from vcr.errors import CannotOverwriteExistingCassetteException
from vcr.request import Request as Made
from wire_server import ANSWERS, GENERATIONS, Generation, Hindsight, Request, WireServer, encoded, http, tool_result

import hindsight_bank.testing
from hindsight_bank import Bank, RetainReceipt, ToolError
from hindsight_bank.testing import bank_vcr, cassette, played
from hindsight_bank.testing.matchers import bank_body, bank_headers, bank_uri
from hindsight_bank.testing.script import Script
from hindsight_bank.testing.scrubbers import hide, local, secrets

pytest_plugins = ["pytester"]

KEY = 'sk-"quoted"/key'
URL = "http://localhost:8888"
Talk = Callable[[Bank], Any]


def record(path: Path, server: WireServer, talk: Talk = Bank.get_bank, **options: Any) -> Any:
    with cassette(path, record_mode="once"), Bank(server.url, "alice", **options) as bank:
        return talk(bank)


def replay(path: Path, talk: Talk = Bank.get_bank, url: str = URL, **options: Any) -> Any:
    with cassette(path), Bank(url, "alice", **options) as bank:
        return talk(bank)


def retain_and_get(bank: Bank) -> Any:
    return bank.retain("Ольга sang «La Paloma» 🎶\u2028\x85\r\n"), bank.get_bank()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "cassettes" / "tea.yaml"


# -- recording and replaying -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("generation", GENERATIONS)
def test_what_was_recorded_is_replayed_without_a_server(serve: Serve, path: Path, generation: Generation) -> None:
    """Ours: every generation of the protocol can be recorded."""
    server = serve(Hindsight(generation))
    recorded = record(path, server, retain_and_get)
    asked = len(server.requests)
    assert replay(path, retain_and_get) == recorded
    assert replay(path, retain_and_get, server.url) == recorded
    assert len(server.requests) == asked
    assert type(recorded[0]) is RetainReceipt


def test_the_suffix_may_be_left_out_and_folders_are_made(serve: Serve, tmp_path: Path) -> None:
    """Ours: a cassette is named as the test is."""
    record(tmp_path / "one" / "two" / "tea", serve(Hindsight()))
    assert replay(tmp_path / "one" / "two" / "tea.yaml").name == "alice"


def test_once_records_once(serve: Serve, path: Path) -> None:
    """VCR.py, record mode once: what is recorded is not recorded again, nor added to."""
    server = serve(Hindsight())
    record(path, server)
    written = path.read_bytes()
    asked = len(server.requests)
    record(path, server)
    assert (path.read_bytes(), len(server.requests)) == (written, asked)
    with pytest.raises(CannotOverwriteExistingCassetteException):
        record(path, server, retain_and_get)
    assert (path.read_bytes(), len(server.requests)) == (written, asked)


def test_all_records_again_and_forgets_the_rest(serve: Serve, path: Path) -> None:
    """VCR.py 8.4, record mode all: earlier versions keep what should be replaced."""
    server = serve(Hindsight())
    record(path, server, retain_and_get)
    with cassette(path, record_mode="all"), Bank(server.url, "alice") as bank:
        bank.get_bank()
    assert replay(path).name == "alice"


def test_a_conversation_that_ends_in_an_exception_is_not_recorded(serve: Serve, path: Path) -> None:
    """Ours: half a conversation proves nothing."""

    def fail(bank: Bank) -> None:
        bank.get_bank()
        raise LookupError

    with pytest.raises(LookupError):
        record(path, serve(Hindsight()), fail)
    assert not path.exists()


def test_a_caught_error_is_part_of_the_conversation(serve: Serve, path: Path) -> None:
    """Ours: errors of a tool are answers too."""

    def miss(bank: Bank) -> str:
        with pytest.raises(ToolError) as caught:
            bank.get_memory("tea")
        return str(caught.value)

    answers: dict[str, Any] = {"get_memory": {"error": "Invalid memory_id: 'tea' is not a valid UUID"}}
    assert record(path, serve(Hindsight(answers=answers)), miss) == replay(path, miss)


def test_an_invalid_record_mode_is_refused(path: Path) -> None:
    """VCR.py, record modes: there are four."""
    with pytest.raises(ValueError, match="record_mode"), cassette(path, record_mode="sometimes"):
        pass


# -- when a cassette fails ---------------------------------------------------------------------------------------------


def test_no_cassette_and_a_request(path: Path) -> None:
    """VCR.py, record mode none: a request that is not recorded fails."""
    with pytest.raises(CannotOverwriteExistingCassetteException):
        replay(path)


def test_an_empty_cassette_is_none(path: Path, serve: Serve) -> None:
    """Ours: an empty file has nothing to replay, and may be recorded."""
    path.parent.mkdir()
    path.write_text("\n", "utf-8")
    with pytest.raises(CannotOverwriteExistingCassetteException):
        replay(path)
    record(path, serve(Hindsight()))
    assert replay(path).name == "alice"


def test_no_cassette_and_no_request(path: Path) -> None:
    """Ours: a misspelt name must not pass for a test."""
    with pytest.raises(AssertionError, match=f"there is no cassette {path}, and no request was made"), cassette(path):
        pass


def test_what_is_left_is_named(serve: Serve, path: Path) -> None:
    """Ours: a call that is no longer made is a change of behaviour, and said by name."""
    record(path, serve(Hindsight()), retain_and_get)
    with pytest.raises(AssertionError) as caught:
        replay(path, lambda bank: bank.connect())
    assert str(caught.value) == (
        f"2 of 4 requests in {path} were not made:\n"
        f"  POST {URL}/mcp/alice/ tools/call retain\n"
        f"  POST {URL}/mcp/alice/ tools/call get_bank\n"
        "if it is meant so, record the conversation again from a server, with record_mode='all'"
    )


def test_an_exception_of_the_test_is_not_covered_up(serve: Serve, path: Path) -> None:
    """Ours: the first failure is the one to read."""
    record(path, serve(Hindsight()))
    with pytest.raises(LookupError), cassette(path):
        raise LookupError


def test_a_request_too_many_fails(serve: Serve, path: Path) -> None:
    """Public report: kevin1024/vcrpy #533: each recording plays once."""

    def twice(bank: Bank) -> None:
        bank.get_bank()
        bank.get_bank()

    record(path, serve(Hindsight()))
    with pytest.raises(CannotOverwriteExistingCassetteException):
        replay(path, twice)


def test_played_takes_the_cassettes_of_any_vcr(serve: Serve, path: Path) -> None:
    """Ours: users have a VCR of their own."""
    server = serve(Hindsight())
    other = vcr.VCR(record_mode="once", match_on=["method", "path"])
    with played(other.use_cassette(str(path))), Bank(server.url, "alice") as bank:
        bank.get_bank()
    with pytest.raises(AssertionError, match="3 of 3 requests"), played(other.use_cassette(str(path))):
        pass


def test_a_cassette_decorates_a_test(serve: Serve, path: Path) -> None:
    """VCR.py: a cassette is a context manager and a decorator."""
    record(path, serve(Hindsight()))

    @cassette(path)
    def test() -> str:
        with Bank(URL, "alice") as bank:
            return bank.get_bank().name

    assert [test(), test()] == ["alice", "alice"]


def test_a_vcr_has_a_library_and_takes_what_vcr_takes(serve: Serve, path: Path) -> None:
    """VCR.py: what `vcr.VCR` takes, `bank_vcr` takes."""
    record(path, serve(Hindsight()))
    tapes = bank_vcr(path.parent, inject_cassette=True, match_on=["method"])
    assert tapes.match_on == ["method"]
    assert tapes.inject_cassette
    with played(tapes.use_cassette("tea")) as tape, Bank(URL, "bob") as bank:
        bank.get_bank()
    assert tape.play_count == 3


# -- what is written down ----------------------------------------------------------------------------------------------


def noisy(server: Hindsight) -> Callable[[Request], bytes]:
    """Let a server add what no cassette should hold, and repeat what it was sent."""
    told = server.told

    def tell(request: Request, value: dict[str, Any], headers: Any = None) -> bytes:
        noise = {"set-cookie": "sid=cookie-of-mine", "date": "Mon, 30 Nov 2026", "server": "uvicorn", "x-node": "n7"}
        return told(request, value, {**noise, **(headers or {})})

    def echo(request: Request) -> Any:
        said = f"{request.headers.get('authorization')} {request.session} http://{request.headers['host']}/"
        return told(request, tool_result({**ANSWERS["get_bank"], "mission": said}))

    server.told = tell  # type: ignore[method-assign]
    server.answers["get_bank"] = echo
    return server  # type: ignore[return-value]


@pytest.mark.parametrize("generation", ["modern", "stateful"])
def test_keys_sessions_hosts_and_noise_stay_out(serve: Serve, path: Path, generation: Generation) -> None:
    """Public report: andrew-blake/melcloudhome #223: filter_headers covers requests only, and no bodies."""
    server = serve(noisy(Hindsight(generation)))
    mission = record(path, server, api_key=KEY).mission
    assert KEY in mission
    text = path.read_text("utf-8")
    for secret in ("sk-", "quoted", "cookie", "Nov 2026", "uvicorn", "n7", str(server.port), "127.0.0.1", "orphan-"):
        assert secret not in text, secret
    assert "hindsight-bank/" not in text
    expected = f"Bearer KEY {'session-2' if generation == 'stateful' else None} {URL}/"
    assert replay(path).mission == expected
    assert replay(path, api_key="sk-another").mission == expected


def test_only_few_headers_are_kept(serve: Serve, path: Path) -> None:
    """Public report: betamaxpy/betamax #42. Ours: a list of what stays, not of what goes."""
    record(path, serve(noisy(Hindsight("stateful"))), api_key=KEY)
    headers = [
        (side, *interaction[side]["headers"])
        for interaction in yaml.safe_load(path.read_text("utf-8"))["interactions"]
        for side in ("request", "response")
    ]
    assert {name for names in headers for name in names} == {
        *("request", "response", "content-type", "mcp-method", "mcp-protocol-version", "mcp-session-id"),
    }


def test_a_key_within_a_memory_is_hidden_and_still_matched(serve: Serve, path: Path) -> None:
    """Ours: a key may stand in a body, and the body is matched."""

    def tell(key: str) -> Talk:
        return lambda bank: bank.retain(f"The key is {key}.")

    record(path, serve(Hindsight()), tell(KEY), api_key=KEY)
    assert "The key is KEY." in path.read_text("utf-8")
    assert replay(path, tell(KEY), api_key=KEY).status == "accepted"
    assert replay(path, tell("KEY")).status == "accepted"
    with pytest.raises(CannotOverwriteExistingCassetteException):
        replay(path, tell("another"), api_key=KEY)


def test_a_dummy_key_that_is_a_word_of_the_request_changes_nothing(serve: Serve, path: Path) -> None:
    """Ours: the key of a replay need not be the real one."""
    record(path, serve(Hindsight()), retain_and_get, api_key=KEY)
    assert replay(path, retain_and_get, api_key="sang")[0].status == "accepted"


def test_the_text_of_a_memory_can_be_read(serve: Serve, path: Path) -> None:
    """Ours: cassettes are reviewed by people."""
    record(path, serve(Hindsight()), lambda bank: bank.retain("Ольга sang «La Paloma» 🎶"))
    assert '"arguments":{"content":"Ольга sang «La Paloma» 🎶"}' in path.read_text("utf-8")


def test_tools_are_listed_in_brief(serve: Serve, path: Path) -> None:
    """Hindsight 1.1.0: tools/list has 66 KB. Ours: only what the client reads is kept."""
    script = Hindsight("stateful")
    script.tools = [
        {**tool, "description": "At length.", "title": "T", "annotations": {"readOnlyHint": True}, "outputSchema": {}}
        for tool in [*script.tools, {"name": "delete_bank", "inputSchema": {"type": "object"}}]
    ]
    server = serve(script)
    record(path, server)
    text = path.read_text("utf-8")
    assert "description" not in text
    assert "delete_bank" not in text
    assert "outputSchema" not in text
    with cassette(path), Bank(URL, "alice") as bank:
        replayed = bank._connection._link
        bank.get_bank()
    with Bank(server.url, "alice") as bank:
        live = bank._connection._link
    assert replayed is not None
    assert live is not None
    assert {name: tool.names for name, tool in replayed.tools.items()} == {
        name: tool.names for name, tool in live.tools.items()
    }


def test_sessions_are_numbered_after_those_that_have_a_number() -> None:
    """Ours: a cassette that is added to keeps its numbers."""
    headers: list[dict[str, list[str]]] = [{"Mcp-Session-Id": [name]} for name in ("a1", "session-2", "b2", "a1", "c3")]
    assert secrets([{}, *headers]) == {
        "a1": "session-1",
        "session-2": "session-2",
        "b2": "session-3",
        "c3": "session-4",
    }


@pytest.mark.parametrize("key", [KEY, "plain", "back\\slash", "a\\\\b", '"', "a b"])
def test_a_key_is_found_however_it_is_spelt(key: str) -> None:
    """RFC 8259, 7, and RFC 3986, 2.1: the escapes of JSON, and of JSON within JSON, and of URLs."""
    for text in (key, json.dumps(key)[1:-1], json.dumps(json.dumps(key))[3:-3], quote(key), key.replace("/", "\\/")):
        assert hide(f"<{text}>", {key: "KEY"}) == "<KEY>"
        assert hide(f"<{text}>".encode(), {key: "KEY"}) == b"<KEY>"
    assert hide(None, {key: "KEY"}) is None


@pytest.mark.parametrize(("key", "text"), [("k", "tokens, lack k1"), ("token", "max_tokens"), ("2", "2.0 is 20")])
def test_a_short_key_is_hidden_as_a_word_only(key: str, text: str) -> None:
    """Ours: the rest of the text stays as it is."""
    assert hide(f"{text} {key}", {key: "KEY"}) == f"{text.replace('2.0', 'KEY.0')} KEY"


def test_a_short_dummy_key_spoils_no_recording(serve: Serve, path: Path) -> None:
    """Ours: keys of tests are often one letter."""
    recorded = record(path, serve(Hindsight("stateful")), retain_and_get, api_key="k")
    assert replay(path, retain_and_get, api_key="k") == replay(path, retain_and_get) == recorded


def test_of_two_secrets_the_longer_is_found() -> None:
    """Ours: else the rest of the longer one would be told."""
    assert hide("abc ab", {"ab": "1", "abc": "2"}) == "2 1"


@pytest.mark.parametrize("result", [{}, {"tools": None}, {"tools": [{"title": "nameless"}]}, {"tools": [1]}])
def test_a_broken_list_of_tools_stays_as_it_is(result: Any) -> None:
    """Ours: what a broken server says is recorded as it was said."""
    answer = encoded({"jsonrpc": "2.0", "id": 1, "result": result}).decode()
    request = '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}'
    assert written(answer, request)["response"]["body"]["string"] == answer
    assert written("data: not JSON", request)["response"]["body"]["string"] == "data: not JSON"


def test_other_services_are_recorded_beside_the_bank(serve: Serve, path: Path) -> None:
    """Ours: a test of an agent talks to more than its memory."""
    packed = http(gzip.compress(b'{"answer": "tea"}'), headers={"content-encoding": "gzip", "set-cookie": "a=b"})
    server, other = serve(Hindsight()), serve(lambda _: packed)

    def talk(bank: Bank) -> Any:
        bank.get_bank()
        return httpx.post(f"{other.url}/chat?n=1", headers={"x-api-key": KEY}, content=b"say \xff").json()

    assert record(path, server, talk) == replay(path, talk) == {"answer": "tea"}
    text = path.read_text("utf-8")
    assert f"{other.url}/chat?n=1" in text
    assert KEY not in text
    assert "a=b" not in text
    assert len(other.requests) == 1


def written(answer: str, request: str = "", uri: str = "http://127.0.0.1:1/mcp/alice/") -> Any:
    """Return an interaction after writing and reading."""
    interaction = {
        "request": {"method": "POST", "uri": uri, "headers": {}, "body": request},
        "response": {"status": {"code": 200, "message": "OK"}, "headers": {}, "body": {"string": answer}},
    }
    return Script.deserialize(Script.serialize({"version": 1, "interactions": [interaction]}))["interactions"][0]


@settings(deadline=None, database=None, derandomize=True)
@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_any_text_comes_back_as_it_was(text: str) -> None:
    """YAML 1.2, 7 and 8: whatever the text, it is written so that it reads the same."""
    there = "http://elsewhere.example/"
    for spread in (text, f"{text}\n{text * 20}"):
        assert written(spread, spread, there)["response"]["body"]["string"] == spread
        assert written(spread, spread, there)["request"]["body"] == spread


def test_the_line_ends_of_an_event_stream_become_plain(serve: Serve, path: Path) -> None:
    """HTML standard, 9.2.5: CRLF and LF end a line alike. Ours: the one that people can read."""
    record(path, serve(Hindsight("stateful")))
    assert '\n        event: message\n        data: {"jsonrpc"' in path.read_text("utf-8")


# -- what is compared --------------------------------------------------------------------------------------------------


def made(body: Any = b"", uri: str = f"{URL}/mcp/alice/", **headers: str) -> Made:
    return Made("POST", uri, body, {name.replace("_", "-"): value for name, value in headers.items()})


@contextmanager
def differing(what: str) -> Iterator[None]:
    with pytest.raises(AssertionError, match=what):
        yield


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (b'{"a":1,"b":[{"c":null}]}', b'{ "b": [{"c": null}], "a": 1 }'),
        (b"", None),
        (b"no JSON", b"no JSON"),
        (b"\xff", b"\xff"),
        (b'{"params":{"clientInfo":{"version":"1"}}}', b'{"params":{"clientInfo":{"version":"2"}}}'),
        ("{}", b"{}"),
    ],
)
def test_equal_bodies(one: Any, other: Any) -> None:
    """RFC 8259, 4: order and space do not count. Ours: nor does the version of the client."""
    bank_body(made(one), made(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (b'{"a":1}', b'{"a":true}'),
        (b'{"a":1}', b'{"a":1.0}'),
        (b'{"a":1}', b'{"a":"1"}'),
        (b'{"a":null}', b"{}"),
        (b"[1,2]", b"[2,1]"),
        (b"", b"{}"),
        (b"\xff", b"\xfe"),
        (b'{"params":{"version":"1"}}', b'{"params":{"version":"2"}}'),
        (b'{"params":{"clientInfo":{"name":"a"}}}', b'{"params":{"clientInfo":{"name":"b"}}}'),
        (b'{"id":1}', b'{"id":2}'),
    ],
)
def test_different_bodies(one: Any, other: Any) -> None:
    """Public report: mampfes/hacs_waste_collection_schedule #7102; and ``1 == True`` in Python only."""
    with differing("--- recorded\n\\+\\+\\+ made"):
        bank_body(made(one), made(other))


def test_headers_of_mcp_are_compared_and_others_are_not() -> None:
    """MCP 2026-07-28, Streamable HTTP, "Request Metadata": these say what is asked."""
    ours = {"mcp_method": "tools/call", "mcp_name": "recall", "mcp_protocol_version": "2026-07-28"}
    bank_headers(made(**ours), made(**ours, authorization="Bearer k", user_agent="x"))
    for name, other in (("mcp_method", "x"), ("mcp_name", "reflect"), ("mcp_protocol_version", "2025-11-25")):
        with differing(f"{name.replace('_', '-')}: {ours[name]}, recorded was {other}"):
            bank_headers(made(**ours), made(**{**ours, name: other}))
    with differing("mcp-name: recall, recorded was None"):
        bank_headers(made(**ours), made(mcp_method="tools/call", mcp_protocol_version="2026-07-28"))


def test_of_a_session_only_its_presence_is_compared() -> None:
    """MCP 2025-11-25, Transports, "Session Management": each session has its own id."""
    bank_headers(made(mcp_session_id="a"), made(mcp_session_id="session-1"))
    with differing("mcp-session-id"):
        bank_headers(made(mcp_session_id="a"), made())
    with differing("mcp-session-id"):
        bank_headers(made(), made(mcp_session_id="session-1"))


def test_the_server_of_a_bank_is_no_difference_but_the_bank_is() -> None:
    """Ours: a replay needs no server, but the right bank."""
    bank_uri(made(uri="https://memory.example.com/mcp/alice/"), made())
    with differing("/mcp/bob/, recorded was "):
        bank_uri(made(uri=f"{URL}/mcp/bob/"), made())
    with differing("https://api.example.com/v1, recorded was "):
        bank_uri(made(uri="https://api.example.com/v1"), made(uri=f"{URL}/v1"))


# -- as users meet it --------------------------------------------------------------------------------------------------

(EXAMPLE,) = (fence.code for fence in fences(ROOT / "docs" / "testing.md") if fence.title)


def outcome(pytester: pytest.Pytester, code: str, url: str = URL) -> dict[str, int]:
    pytester.makepyfile(test_tea=code.replace(URL, url))
    return pytester.runpytest_inprocess("-p", "no:cacheprovider").parseoutcomes()


def test_the_module_shows_the_example_of_the_page() -> None:
    """Ours: docs/testing.md, said once."""
    shown = textwrap.indent(EXAMPLE[EXAMPLE.index("@pytest") :], "    ")
    assert shown in (hindsight_bank.testing.__doc__ or "")


def test_the_example_replays_and_fails_where_it_should(pytester: pytest.Pytester) -> None:
    """Ours: docs/testing.md; an example is run before it is shown."""
    tape = pytester.mkdir("cassettes") / "test_alice_is_served_tea.yaml"
    tape.write_bytes((CASSETTES / "modern" / "recall.yaml").read_bytes())
    assert outcome(pytester, EXAMPLE) == {"passed": 1}
    assert outcome(pytester, EXAMPLE.replace("drink?", "eat?")) == {"failed": 1}
    assert outcome(pytester, EXAMPLE.replace("bank.recall", "bank.reflect")) == {"failed": 1}
    tape.unlink()
    assert outcome(pytester, EXAMPLE) == {"errors": 1}


def test_a_miss_is_told_once_with_what_differs_and_how_to_record_again(serve: Serve, path: Path) -> None:
    """Ours: of the advice that vcrpy gives, half would loosen what is compared."""
    record(path, serve(Hindsight()))

    def miss(talk: Talk) -> str:
        with pytest.raises(CannotOverwriteExistingCassetteException) as caught:
            replay(path, talk)
        return str(caught.value)

    asked = miss(lambda bank: bank.recall("What does Alice drink?"))
    assert asked.startswith(
        f"POST {URL}/mcp/alice/ tools/call recall is not in {path}: the nearest that was recorded is "
    )
    assert '"query": "What does Alice drink?"' in asked
    assert asked.endswith("record the conversation again from a server, with record_mode='all'")

    def ask_more(bank: Bank) -> None:
        bank.get_bank()
        bank.recall("What does Alice drink?")

    recorded = len(yaml.safe_load(path.read_text("utf-8"))["interactions"])
    assert f"all {recorded} recorded requests were played; this is one more\n" in miss(ask_more)
    path.unlink()
    assert miss(Bank.get_bank) == (
        f"POST {URL}/mcp/alice/ tools/list was asked of {path}\n"
        "there is no such cassette: record it from a server, with record_mode='once'"
    )


def test_after_a_miss_that_a_fixture_does_not_see_the_rest_is_not_told(serve: Serve, path: Path) -> None:
    """Ours: pytest ends a fixture as if nothing had happened, which would make a second error of one fault."""
    record(path, serve(Hindsight()), retain_and_get)
    with cassette(path), Bank(URL, "alice") as bank, pytest.raises(CannotOverwriteExistingCassetteException):
        bank.recall("x")


def test_the_example_records(serve: Serve, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: docs/testing.md; RECORD=once records."""
    server = serve(Hindsight(answers={"recall": lambda request: http(modern_recall(request))}))
    monkeypatch.setenv("RECORD", "once")
    assert outcome(pytester, EXAMPLE, server.url) == {"passed": 1}
    monkeypatch.delenv("RECORD")
    assert outcome(pytester, EXAMPLE) == {"passed": 1}


def modern_recall(request: Request) -> bytes:
    """Return the recorded answer to the example's question."""
    tape = yaml.safe_load((CASSETTES / "modern" / "recall.yaml").read_text("utf-8"))
    answer: str = tape["interactions"][-1]["response"]["body"]["string"]
    assert f'"id":{request.id},' in answer
    return answer.encode()


def test_without_vcrpy_the_import_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: vcrpy is an extra."""
    monkeypatch.setitem(sys.modules, "vcr", None)
    monkeypatch.delitem(sys.modules, "hindsight_bank.testing")
    with pytest.raises(ModuleNotFoundError, match=r"needs vcrpy: pip install 'hindsight-bank\[testing\]'$"):
        importlib.import_module("hindsight_bank.testing")


def test_the_package_does_not_load_vcrpy() -> None:
    """Ours: who does not test does not pay for it."""
    code = "import sys, hindsight_bank; hindsight_bank.Bank; assert not {'vcr', 'yaml'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("path", ["/mcp/alice/", "/mcp/alice/sse", "/mcp/mcp", "/mcp", "/mcp/sse", "/sse"])
def test_no_place_where_a_client_looks_tells_its_host(path: str) -> None:
    """Ours: a server of another kind is looked for beside a bank's endpoint, and its name is nobody's business."""
    assert local(f"https://db7.example.com:8443{path}") == f"http://localhost:8888{path}"
