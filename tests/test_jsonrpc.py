"""One JSON-RPC message: what is taken, what is refused, and how ours are written."""

import json
import math
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import UNSET, Raw

from hindsight_bank import answers, jsonrpc
from hindsight_bank.errors import ProtocolError
from hindsight_bank.jsonrpc import Message

DEEP = 100_000


def message(members: str) -> bytes:
    return b'{"jsonrpc":"2.0",' + members.encode() + b"}"


@pytest.mark.parametrize(
    ("written", "ours"),
    [
        ("1", True),
        ("01", None),
        ('"1"', False),
        ('"01"', False),
        ("1.0", False),
        ("1e0", False),
        ("true", False),
        ("2", False),
        ("-1", False),
        ("null", False),
        ('""', False),
        ("9" * 30, False),
        ("[1]", None),
        ('{"id":1}', None),
    ],
)
def test_only_the_same_integer_is_our_id(written: str, ours: bool | None) -> None:
    """Public report: mcp python-sdk #1720, #2428 ("0" versus 0). None: no JSON-RPC message at all."""
    text = message(f'"id":{written},"result":{{}}')
    if ours is None:
        with pytest.raises(ProtocolError):
            jsonrpc.decode(text)
    else:
        assert jsonrpc.decode(text).answers(1) is ours


def test_a_response_without_an_id_is_not_ours() -> None:
    """JSON-RPC 2.0, section 5: a response has an id."""
    assert not jsonrpc.decode(message('"result":{}')).answers(1)


@pytest.mark.parametrize(
    ("members", "stray"),
    [
        ('"id":null,"error":{"code":-32600,"message":"Missing session ID"}', True),  # mcp 2
        ('"id":"server-error","error":{"code":-32600,"message":"Missing session ID"}', True),  # mcp 1
        ('"error":{"code":-32700}', True),
        ('"id":true,"error":{"code":-32700}', True),
        ('"id":2,"error":{"code":-32600}', False),  # an answer to another request
        ('"id":null,"result":{}', False),
        ('"id":"x","method":"ping","error":{"code":1}', False),
    ],
)
def test_an_error_that_names_no_request_is_known_as_such(members: str, stray: bool) -> None:
    """Public reports: helidon-mcp #65, mcp java-sdk #506 (an error with a null or placeholder id)."""
    assert jsonrpc.decode(message(members)).is_stray_error() is stray


@pytest.mark.parametrize("member", ['"result":{}', '"error":{"code":1}', '"params":{}'])
def test_a_method_makes_a_request_of_it_whatever_its_id(member: str) -> None:
    """FastMCP: ids of the server's requests collide with ours; presence of `method` decides."""
    decoded = jsonrpc.decode(message(f'"id":1,"method":"elicitation/create",{member}'))
    assert not decoded.answers(1)
    assert not decoded.is_stray_error()


BROKEN = {
    "empty": b"",
    "white space": b" \r\n",
    "truncated": message('"id":1,"result":{"a":[1,2'),
    "cut inside a string": b'{"jsonrpc":"2.0","id":1,"result":{"text":"Alice pref',
    "trailing bytes": message('"id":1,"result":{}') + b" {}",
    "two messages": message('"id":1,"result":{}') * 2,
    "NaN": message('"id":1,"result":NaN'),
    "NaN inside": message('"id":1,"result":{"score":NaN}'),
    "Infinity": message('"id":1,"result":-Infinity'),
    "surrogate in the id": message('"id":"\\ud83d","result":{}'),
    "surrogate in a key": message('"id":1,"\\udc00":1'),
    "surrogate in the result": message('"id":1,"result":{"text":"\\ud83d"}'),
    "not UTF-8": b'{"jsonrpc":"2.0","id":1,"method":"\xff"}',
    "a byte order mark": b"\xef\xbb\xbf" + message('"id":1,"result":{}'),
    "UTF-16": message('"id":1,"result":{}').decode().encode("utf-16"),
    "deep result": message('"id":1,"result":' + "[" * DEEP + "]" * DEEP),
    "deep and unclosed": message('"id":1,"result":' + '{"a":' * DEEP),
    "deep data of an error": message('"id":1,"error":{"code":1,"data":' + "[" * DEEP + "]" * DEEP + "}"),
    "an id of 5000 digits": message(f'"id":{"9" * 5000},"result":{{}}'),
    "a code of 5000 digits": message(f'"id":1,"error":{{"code":{"9" * 5000}}}'),
    "data beyond a double": message('"id":1,"error":{"code":1,"data":1e999}'),
    "single quotes": b"{'jsonrpc':'2.0'}",
    "a comment": b'{"jsonrpc":"2.0",/**/"id":1}',
    "a trailing comma": b'{"jsonrpc":"2.0","id":1,}',
    "an array": b"[]",
    "a batch": b"[" + message('"id":1,"result":{}') + b"]",
    "null": b"null",
    "a string": b'"Internal Server Error"',
    "a sentence": b"Internal Server Error",
    "HTML": b"<html><body>502</body></html>",
    "no version": b'{"id":1,"result":{}}',
    "another version": b'{"jsonrpc":"1.0","id":1,"result":{}}',
    "a version as a number": b'{"jsonrpc":2.0,"id":1,"result":{}}',
    "a version and a line end": b'{"jsonrpc":"2.0\\n","id":1,"result":{}}',
    "an error that is a string": message('"id":1,"error":"boom"'),
    "neither, but a null": message('"id":1,"error":null,"method":5'),
    "a code beyond all reason": message(f'"id":1,"error":{{"code":{"9" * 4000}}}'),
    "a number beyond a double that nobody reads": message('"id":1,"_meta":{"x":[-1E+999]},"result":{}'),
    "the same in a result": message('"id":1,"result":{"x":1e400}'),
    "the same in many digits": message(f'"id":1,"result":{{"x":{"9" * 400}}}'),
    "a code that is text": message('"id":1,"error":{"code":"-32600"}'),
    "a code that is a fraction": message('"id":1,"error":{"code":-32600.0}'),
    "no code": message('"id":1,"error":{"message":"x"}'),
    "a message that is null": message('"id":1,"error":{"code":1,"message":null}'),
    "a method that is a number": message('"id":1,"method":5'),
}


@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN)
def test_what_is_no_message_is_a_protocol_error_and_nothing_else(text: bytes) -> None:
    """JSON-RPC 2.0 and RFC 8259; public report: mcp python-sdk #3385 (bare NaN). Ours: surrogates too."""
    with pytest.raises(ProtocolError) as caught:
        jsonrpc.decode(text)
    assert caught.value.__cause__ is None
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize(
    "text", ['"1e999"', '"\\"1e999"', "1e308", "1e-999", "-1.5E+300", '"99e9999', '{"e999":1}', "9" * 308]
)
def test_a_number_that_a_double_holds_and_a_string_that_is_none_are_read(text: str) -> None:
    """RFC 8259, section 6: what overflows is no number to agree on; all else is."""
    closed = text + '"' if text == '"99e9999' else text
    assert jsonrpc.decode(message(f'"id":1,"result":{closed}')).answers(1)


def test_an_error_of_null_beside_a_result_is_none() -> None:
    """JSON-RPC 2.0, section 5, leaves it out; widespread servers write null, and mean success."""
    decoded = jsonrpc.decode(message('"id":1,"result":{},"error":null'))
    assert decoded.error is None
    assert decoded.result == Raw(b"{}")


@pytest.mark.parametrize("data", ["[" * 400 + "]" * 400, f'"{"x" * 20_000}"', "[" + "[]," * 9000 + "0]"])
def test_data_beyond_all_reason_are_not_built(data: str) -> None:
    """Ours: an error is raised whatever its sender adds; deep or large additions are left out."""
    error = jsonrpc.decode(message(f'"id":1,"error":{{"code":-1,"message":"boom","data":{data}}}')).error
    assert isinstance(error, jsonrpc.Error)
    assert error.message == "boom"
    assert error.data is None or len(data) < 2000


@pytest.mark.parametrize("value", ["[]", "{}", '{"a":1}', "1", '""', "[[]]", '"\\\\"', "null"])
def test_json_that_is_many_times_its_size_in_memory_is_refused_unbuilt(value: str) -> None:
    """Ours: a list takes 56 bytes of memory and two of text; what is bounded is the memory."""
    bomb = message(f'"id":1,"result":[{",".join([value] * (2**21 // len(value)))}]')
    for decode in (jsonrpc.decode, answers.decoder("recall")):
        with pytest.raises(ProtocolError, match="smaller values"):
            decode(bomb)
    with pytest.raises(ProtocolError, match="smaller values"):
        list(jsonrpc.unbatched([f"[{bomb.decode()}]".encode()]))


@pytest.mark.parametrize("text", ["[{,]" * 2**19, "\\\\" * 2**20, '\\",[[[[' * 2**18])
def test_brackets_and_commas_in_a_text_weigh_nothing(text: str) -> None:
    """Ours: memories may be source code."""
    large = message(f'"id":1,"result":"{text}"')
    assert len(large) > 2**20
    assert jsonrpc.decode(large).answers(1)


def test_weight_in_a_part_of_an_answer_is_found_wherever_it_is() -> None:
    """Ours: it is told by a sample, at places that the sender cannot know; this misses once in 10¹⁴ runs."""
    light, heavy = '"' + "x" * 1021 + '",', "[]," * 150_000
    for before in (0, 700, 1400):
        bomb = message(f'"id":1,"result":[{light * before}{heavy}{light * (1400 - before)}0]')
        assert len(heavy) * 4 < len(bomb)
        with pytest.raises(ProtocolError, match="smaller values"):
            jsonrpc.decode(bomb)


def test_the_sample_is_large_enough() -> None:
    """Chernoff's bound, on a sample of what weighs twice too much, all in as few pieces as can hold it."""
    full = jsonrpc._BRACKET  # of a byte, at most
    expected = jsonrpc._PIECES * 2 / jsonrpc._LEAST_A_VALUE / full
    passing = jsonrpc._PIECES / jsonrpc._LEAST_SAMPLED / full
    assert math.exp(-((1 - passing / expected) ** 2) * expected / 2) < 1e-14


def test_an_answer_like_any_is_told_by_a_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: to count in all of it would take a good part of the time that decoding takes."""
    weighed = 0
    weight = jsonrpc._weight

    def weigh(text: bytes | bytearray) -> int:
        nonlocal weighed
        weighed += len(text)
        return weight(text)

    monkeypatch.setattr(jsonrpc, "_weight", weigh)
    fact = '{"text":"Alice prefers tea over coffee, and plays the viola on Sundays, as a rule.","tags":["a"]}'
    large = message('"id":1,"result":[' + ",".join([fact] * 30_000) + "]")
    assert jsonrpc.decode(large).answers(1)
    assert weighed < len(large) / 4


@given(st.binary() | st.text().map(str.encode))
@settings(max_examples=300, deadline=None)
def test_any_bytes_are_a_message_or_a_protocol_error(text: bytes) -> None:
    """Ours: nothing that a server can send escapes as an exception of a library."""
    with suppress(ProtocolError):
        jsonrpc.decode(text)


@pytest.mark.parametrize(
    "text",
    [
        b'{"jsonrpc":"sk-secret","id":1}',
        message('"id":1,"error":{"code":"sk-secret"}'),
        message('"id":1,"result":"sk-secret'),
        message('"method":["sk-secret"]'),
        b"sk-secret",
    ],
)
def test_a_broken_message_is_never_quoted(text: bytes) -> None:
    """Ours: a broken answer's content is never put into the error."""
    with pytest.raises(ProtocolError) as caught:
        jsonrpc.decode(text)
    assert "sk-" not in str(caught.value)


@pytest.mark.parametrize("text", [message('"id":1,"result":{"a":"'), message('"id":1,"result":{"a":1')])
def test_truncated_json_is_named_as_truncated(text: bytes) -> None:
    """Ours: a cut answer is told from nonsense."""
    with pytest.raises(ProtocolError, match="truncated"):
        jsonrpc.decode(text)


def test_unknown_members_are_ignored_and_the_last_of_a_double_one_counts() -> None:
    """JSON-RPC 2.0 extends freely; RFC 8259 leaves duplicates open, and msgspec takes the last."""
    decoded = jsonrpc.decode(message('"id":7,"_meta":{"x":[1.5]},"id":1,"result":{"a":1}'))
    assert decoded.answers(1)
    assert decoded.method is UNSET
    assert decoded.error is None


@pytest.mark.parametrize(
    "result", ["null", "[]", '{"a":"1"}', '{"a":1e999}', '{"a":' + "[" * DEEP, "{", "", '{"a":1}}']
)
def test_a_result_of_another_shape_is_a_protocol_error(result: str) -> None:
    """MCP, Lifecycle and Tools: what we read of a result has a known shape."""
    undecoded = Message("2.0", id=1, result=Raw(result.encode()))
    with pytest.raises(ProtocolError):
        jsonrpc.result(undecoded, dict[str, int])


def test_a_result_of_the_right_shape_is_built() -> None:
    """MCP, Tools: `decode` leaves the result as text, `result` builds it."""
    assert jsonrpc.result(jsonrpc.decode(message('"id":1,"result":{"a":1}')), dict[str, int]) == {"a": 1}


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (jsonrpc.request(1, "tools/list", {}), {"id": 1, "method": "tools/list", "params": {}}),
        (jsonrpc.notification("notifications/initialized"), {"method": "notifications/initialized"}),
        (jsonrpc.notification("n", {"requestId": 3}), {"method": "n", "params": {"requestId": 3}}),
        (jsonrpc.response("x", result={}), {"id": "x", "result": {}}),
        (jsonrpc.response(2, error={"code": -32601}), {"id": 2, "error": {"code": -32601}}),
    ],
)
def test_our_messages_say_what_they_must_and_no_more(written: bytes, read: dict[str, Any]) -> None:
    """JSON-RPC 2.0, sections 4 and 5: a notification has no id, absent params are absent."""
    assert json.loads(written) == {"jsonrpc": "2.0", **read}


def test_text_goes_out_as_utf8_not_as_escapes() -> None:
    """Hindsight 1.1.0 (mcp 2.3) takes 4 MiB: escapes would double CJK and Cyrillic."""
    assert "моя заметка 🍵".encode() in jsonrpc.request(1, "m", {"q": "моя заметка 🍵"})


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_numbers_that_json_lacks_do_not_go_out(value: float) -> None:
    """Public report: apify-client-python #87; arguments are judged before, this is the second fence."""
    with pytest.raises(ValueError, match="not JSON compliant"):
        jsonrpc.request(1, "m", {"x": value})
