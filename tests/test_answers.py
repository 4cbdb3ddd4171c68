"""What a tool's result means: a typed answer, what the tool said of its failure, or what broke."""

import copy
import json
import pickle
import re
from typing import Any

import pytest

from hindsight_bank import answers
from hindsight_bank.endpoint import Endpoint
from hindsight_bank.errors import (
    BankError,
    IncompatibleServer,
    NotFoundError,
    ProtocolError,
    ToolError,
)
from hindsight_bank.session import Client
from hindsight_bank.transport import Limits, Transport

UNSET_DATES = dict.fromkeys(["occurred_start", "occurred_end", "mentioned_at"])
UNSET_LINKS = dict.fromkeys(["document_id", "chunk_id"])
MEMORY = {"id": "959daf67-4474-4f04-ac2f-4e978e1f66c5", "text": "Alice prefers tea.", **UNSET_DATES, **UNSET_LINKS}
FACT = MEMORY | {"fact_type": "world"} | dict.fromkeys(["context", "entities", "metadata", "tags", "source_fact_ids"])
ANSWERS: dict[str, dict[str, Any]] = {
    "retain": {"status": "accepted", "message": "queued"},
    "recall": {"results": [FACT], **dict.fromkeys(["trace", "entities", "chunks", "source_facts"])},
    "reflect": {"text": "Tea.", "structured_output": None, "usage": None},
    "list_memories": {"items": [], "total": 0, "limit": 100, "offset": 0},
    "get_memory": MEMORY | {"context": "", "date": "", "type": "world", "entities": [], "tags": []},
    "get_bank": {
        "bank_id": "alice",
        "name": "alice",
        "mission": "",
        "disposition": {"skepticism": 3, "literalism": 3, "empathy": 3},
    },
}
CLASSES = {
    "retain": "RetainReceipt",
    "recall": "RecallResult",
    "reflect": "ReflectResult",
    "list_memories": "MemoryPage",
    "get_memory": "Memory",
    "get_bank": "BankProfile",
}
every_tool = pytest.mark.parametrize("tool", ANSWERS)
SILENT = "the tool failed without saying why"


def read(tool: str, result: Any) -> Any:
    """Return what the client makes of a result, given as JSON text or as a value."""
    text = result if isinstance(result, str) else json.dumps(result)
    message = answers.decoder(tool)(f'{{"jsonrpc":"2.0","id":1,"result":{text}}}'.encode())
    return answers.answer(tool, message.result, str)


def text(*texts: str) -> list[dict[str, str]]:
    return [{"type": "text", "text": one} for one in texts]


def structured(tool: str, **changes: Any) -> dict[str, Any]:
    return {"structuredContent": ANSWERS[tool] | changes}


def failure(tool: str, result: Any, kind: type[BankError]) -> Any:
    with pytest.raises(BankError) as caught:
        read(tool, result)
    assert type(caught.value) is kind
    return caught.value


# -- where the answer is -----------------------------------------------------------------------------------------------


@every_tool
@pytest.mark.parametrize(
    "place",
    [
        lambda a: {"structuredContent": a, "content": text(json.dumps(a)), "isError": False},
        lambda a: {"structuredContent": a},
        lambda a: {"structuredContent": a, "content": [], "isError": None, "resultType": "complete", "_meta": {}},
        lambda a: {"structuredContent": a, "content": text("another thing"), "new_key": [1]},
        lambda a: {"structuredContent": a, "content": None},
        lambda a: {"structuredContent": a, "content": [{"type": "resource_link", "uri": "x"}, {"type": "hologram"}, 5]},
        lambda a: {"content": text(json.dumps(a))},
        lambda a: {"content": text(json.dumps(a, indent=2)), "structuredContent": None},
        lambda a: {"content": [{"type": "image", "data": "", "mimeType": "x"}, *text(json.dumps(a), "and more")]},
        lambda a: {"content": [{"type": "text", "text": None}, *text(json.dumps(a))]},
    ],
)
def test_the_answer_is_taken_from_structured_content_else_from_the_first_text(tool: str, place: Any) -> None:
    """Public reports: action_mcp #181, mcp python-sdk #3345. Every Hindsight since 0.4.10 sends both, alike."""
    built = read(tool, place(ANSWERS[tool]))
    assert type(built).__name__ == CLASSES[tool]
    assert built == read(tool, structured(tool))


@every_tool
@pytest.mark.parametrize(
    "result",
    [
        {},
        {"content": []},
        {"content": None},
        {"content": "text"},
        {"content": text("")},
        {"content": [{"type": "image", "data": ""}]},
        {"content": [{"text": "untyped"}]},
        {"structuredContent": None, "content": [], "isError": False},
    ],
)
def test_a_result_with_no_answer_in_it_is_a_protocol_error(tool: str, result: Any) -> None:
    """MCP, Tools, "Tool result"; never None, never an empty answer."""
    error = failure(tool, result, ProtocolError)
    assert "neither structuredContent nor a text" in str(error)


@pytest.mark.parametrize(
    "result",
    [
        "null",
        "[]",
        '"boom"',
        '{"isError":"false"}',
        '{"isError":0}',
        '{"isError":"true","content":[]}',
        '{"resultType":null}',
        '{"resultType":["complete"]}',
        '{"structuredContent":5,"structuredContent":' + json.dumps(ANSWERS["recall"]) + "}",  # we would take the last
    ],
)
def test_what_is_no_tool_result_is_a_protocol_error(result: str) -> None:
    """MCP, Tools, "Tool result"; public report: omi #7808 (isError read loosely)."""
    assert "no tool result" in str(failure("recall", result, ProtocolError))


@pytest.mark.parametrize(
    ("kind", "says"),
    [("input_required", "asks for input"), ("task", "'task'"), ("", "''"), ("x" * 999, "x" * 40)],
)
@pytest.mark.parametrize("extra", [structured("recall"), {"isError": True}, {"structuredContent": {"no": "answer"}}])
def test_a_result_that_is_not_complete_is_no_answer(kind: str, says: str, extra: dict[str, Any]) -> None:
    """MCP 2026-07-28, Overview, "ResultType": absent means complete; what we did not announce is invalid."""
    error = failure("recall", {"resultType": kind, **extra}, ProtocolError)
    assert says in str(error)
    assert len(str(error)) < 200


@pytest.mark.parametrize("more", [{}, {"operation_id": None}, {"operation_id": "o1"}])
def test_a_receipt_says_accepted_and_never_stored(more: dict[str, Any]) -> None:
    """Public report: NousResearch/hermes-agent #64326. Hindsight before 0.4.15 sends no operation_id."""
    receipt = read("retain", structured("retain", **more))
    assert (receipt.status, receipt.operation_id) == ("accepted", more.get("operation_id"))
    assert "accepted" in repr(receipt)
    assert "stored" not in repr(receipt)


# -- what the tool says of its failure ---------------------------------------------------------------------------------

IN_BAND: dict[str, list[dict[str, Any]]] = {
    "retain": [{"status": "error", "message": "boom"}, {"error": "boom"}],
    "recall": [{"error": "boom", "results": []}, {"error": "boom"}, ANSWERS["recall"] | {"error": "boom"}],
    "reflect": [{"error": "boom", "text": ""}, {"error": "boom"}, ANSWERS["reflect"] | {"error": "boom", "text": ""}],
    "list_memories": [{"error": "boom"}, ANSWERS["list_memories"] | {"error": "boom"}],
    "get_memory": [{"error": "boom"}],
    "get_bank": [{"error": "boom"}, {"status": "error", "message": "boom"}],
}


@pytest.mark.parametrize(("tool", "payload"), [(tool, payload) for tool, ways in IN_BAND.items() for payload in ways])
@pytest.mark.parametrize(
    "place",
    [
        lambda p: {"structuredContent": p, "content": text(json.dumps(p)), "isError": False},
        lambda p: {"structuredContent": p},
        lambda p: {"content": text(json.dumps(p))},
        lambda p: {"structuredContent": p, "isError": True},
        lambda p: {"structuredContent": None, "content": text(json.dumps(p)), "isError": True},
        lambda p: {"structuredContent": p, "content": text("Error calling tool"), "isError": True},
    ],
)
def test_a_failure_told_inside_a_result_is_raised_with_its_sentence(tool: str, payload: Any, place: Any) -> None:
    """Public reports: hindsight #888, #2695; mcp-ts-core #241 (an error judged by the schema of success)."""
    error = failure(tool, place(payload), ToolError)
    assert (error.tool, error.message, error.outcome) == (tool, "boom", "refused")


@every_tool
@pytest.mark.parametrize("place", [lambda t: {"isError": True, "content": t}, lambda t: {"content": t}])
def test_a_sentence_where_the_answer_should_be_is_what_the_tool_says(tool: str, place: Any) -> None:
    """Public reports: pyaedt-mcp #120, mcp-gsc #53 ("Error: ..." with isError false); Hindsight 0.4.14 to 1.1.0."""
    assert failure(tool, place(text("Error: x")), ToolError).message == "Error: x"


@every_tool
@pytest.mark.parametrize(
    "result",
    [
        {"isError": True},
        {"isError": True, "content": []},
        {"isError": True, "content": text("")},
        {"isError": True, "content": [{"type": "image"}]},
        {"isError": True, "content": "boom"},
        {"structuredContent": {"error": ""}},
        {"structuredContent": {"status": "error"}},
        {"structuredContent": {"status": "error", "message": None}},
        {"structuredContent": {"status": "error", "message": ["boom"]}},
    ],
)
def test_a_failure_without_a_sentence_still_raises(tool: str, result: Any) -> None:
    """Public report: gemini-cli #6194; isError with empty content."""
    assert failure(tool, result, ToolError).message == SILENT


@every_tool
def test_is_error_wins_over_an_answer_that_fits(tool: str) -> None:
    """MCP, Tools, "Error handling": isError marks the whole result."""
    result = structured(tool) | {"isError": True, "content": text("quota exceeded")}
    assert failure(tool, result, ToolError).message == "quota exceeded"


@every_tool
@pytest.mark.parametrize("broken", [{"used": 7}, "7 of 7", []])
def test_is_error_wins_over_an_answer_that_breaks_the_schema(tool: str, broken: Any) -> None:
    """Public report: mcp-ts-core #241: the schema of success says nothing of a failure."""
    result = {"structuredContent": broken, "isError": True, "content": text("quota exceeded")}
    assert failure(tool, result, ToolError).message == "quota exceeded"


def test_an_error_with_a_code_keeps_it() -> None:
    """The documented errors of the older tools: `{"code", "message"}`."""
    error = failure("recall", structured("recall", error={"code": "INTERNAL_ERROR", "message": "ä"}), ToolError)
    assert (error.code, error.message) == ("INTERNAL_ERROR", "ä")


@pytest.mark.parametrize(("fault", "said"), [({"code": "E1"}, '{"code": "E1"}'), (7, "7"), (False, "false")])
def test_an_error_that_is_no_string_is_raised_as_its_json(fault: Any, said: str) -> None:
    """Ours: any value but null under `error` is a failure."""
    assert failure("recall", structured("recall", error=fault), ToolError).message == said


@every_tool
def test_an_error_of_null_is_no_failure(tool: str) -> None:
    """Ours: null says nothing; servers that always send the key stay readable."""
    built = read(tool, structured(tool, error=None))
    assert built == read(tool, structured(tool))
    assert " error=" not in repr(built)


@pytest.mark.parametrize(
    ("sentence", "what"),
    [
        ("Memory '00000000-0000-0000-0000-000000000000' not found", "memory"),
        ("Bank 'cap-main' not found", "bank"),
        ("Operation validation failed: Bank 'cap-main' not found", "bank"),
        ("bank cap-main does not exist", "bank"),
        ("Bank 'memory' not found", "bank"),
        ("Bank not found", "bank"),
        ("Bank 'a b' not found.", "bank"),
    ],
)
@pytest.mark.parametrize("place", [lambda s: {"structuredContent": {"error": s}}, lambda s: {"content": text(s)}])
def test_a_missing_bank_and_a_missing_memory_are_not_found(sentence: str, what: str, place: Any) -> None:
    """Public reports: hindsight #888, #4456; sentences of 0.4.14 to 1.1.0 and near relatives."""
    error = failure("get_memory", place(sentence), NotFoundError)
    assert (error.what, error.message, error.tool) == (what, sentence, "get_memory")


@pytest.mark.parametrize(
    "sentence",
    [
        "Invalid memory_id: 'x' is not a valid UUID",
        "bank 'alice': relation \"memory_units\" does not exist",
        "Memory engine failed: column c does not exist",
        "memory_units not found",
        "The embedder for bank 'alice' was asked for a model that does not exist",
        "Banking not found",
        "bank " * 200_000,  # in linear time
    ],
)
def test_another_fault_is_not_mistaken_for_a_missing_bank(sentence: str) -> None:
    """Ours: NotFoundError is what `allow_new_bank` lets through."""
    failure("recall", {"structuredContent": {"error": sentence}}, ToolError)


@pytest.mark.parametrize("sentence", ["Unknown tool: reflect", "Unknown tool: 'reflect'"])
def test_a_tool_that_is_gone_is_an_incompatible_server(sentence: str) -> None:
    """Hindsight 0.4.14 and 1.1.0 with MCP_ENABLED_TOOLS: hidden after we connected."""
    error = failure("reflect", {"isError": True, "content": text(sentence)}, IncompatibleServer)
    assert (error.missing, error.outcome) == (("reflect",), "refused")


def test_a_sentence_of_the_server_is_bounded_one_line_and_without_secrets() -> None:
    """Public reports: hindsight #1007, rhesis #1570: bounded, redacted excerpts."""
    endpoint = Endpoint(Transport("http://localhost/", Limits()), Client("test", "1"), Limits(), "k3y-value")
    sentence = "key k3y-value\r\n\x1b[31m\u2028\u202e " + "x" * 9999
    result = {"isError": True, "content": text(sentence)}
    message = answers.decoder("recall")(json.dumps({"jsonrpc": "2.0", "id": 1, "result": result}).encode())
    with pytest.raises(ToolError, match=r"^recall: key \*\*\* \[31m +xxx") as caught:
        answers.answer("recall", message.result, endpoint.clean)
    assert len(str(caught.value)) < 350
    assert caught.value.args == (str(caught.value),)


# -- large results -----------------------------------------------------------------------------------------------------

TWICE = {"content": text("what the structured content says")}


def outcome(members: str) -> Any:
    """Return what becomes of a message: an object, or the kind and the words of an error."""
    try:
        message = answers.decoder("recall")(b'{"jsonrpc":"2.0",%s}' % members.encode())
        if message.error is None and message.answers(1):
            return answers.answer("recall", message.result, str)
        return repr((message.id, message.method, message.error and message.error.message))
    except BankError as error:
        return type(error), re.sub(r"byte \d+", "byte N", str(error))


@pytest.mark.parametrize(
    "result",
    [
        structured("recall"),
        structured("recall", results=[FACT | {"text": '" \\ é \ud83c\udf75'}] * 2),
        structured("recall", unknown=[[1.5, {"a": None}]]),
        structured("recall", results="none"),
        structured("recall", error="boom"),
        structured("recall", status="error", message="boom"),
        structured("recall") | {"isError": True},
        structured("recall") | {"isError": None},
        structured("recall") | {"isError": "no"},
        structured("recall") | {"resultType": "complete"},
        structured("recall") | {"resultType": "input_required"},
        structured("recall") | {"resultType": 1},
        {"structuredContent": None},
        {"structuredContent": None, "content": text(json.dumps(ANSWERS["recall"]))},
        {"structuredContent": []},
        {"structuredContent": {"error": "boom"}},
        {},
    ],
)
@pytest.mark.parametrize(
    "more", ["", ',"error":null', ',"error":{"code":-1,"message":"boom"}', ',"method":"ping"', "}"]
)
def test_a_large_result_is_judged_as_a_small_one(result: dict[str, Any], more: str) -> None:
    """Ours: of a large one, the text that says it again is left out first, and nothing that matters."""
    small, large = TWICE | result, TWICE | {"_meta": {"padding": "x" * 2**20}} | result
    assert outcome(f'"id":1,"result":{json.dumps(large)}{more}') == outcome(
        f'"id":1,"result":{json.dumps(small)}{more}'
    )


@pytest.mark.parametrize("depth", [10, 10_000])
def test_a_large_result_may_be_nested(depth: int) -> None:
    """Ours: nested too deeply is an error wherever it is, and whatever the size."""
    nested = '{"x":' + "[" * depth + "]" * depth + "}"
    large = json.dumps(TWICE | structured("recall") | {"_meta": {"padding": "x" * 2**20}})
    found = outcome(f'"id":1,"result":{large[:-1]},"deep":{nested}}}')
    assert (found == (ProtocolError, "the answer is nested too deeply")) is (depth > 1000)


@every_tool
def test_an_answer_pickles_and_copies_equal(tool: str) -> None:
    """Ours: results go through queues and caches."""
    built = read(tool, structured(tool))
    assert pickle.loads(pickle.dumps(built)) == copy.deepcopy(built) == built  # noqa: S301


@every_tool
@pytest.mark.parametrize("status", ['"error"', '"err\\u006fr"', ' "error" '])
@pytest.mark.parametrize("with_text", [True, False])
def test_a_complete_answer_that_calls_itself_an_error_is_one(tool: str, status: str, *, with_text: bool) -> None:
    """Public report: hindsight #2695: `status` says it, beside an answer that would be a success."""
    whole = json.dumps(ANSWERS[tool] | {"status": "S", "message": "boom"}).replace('"S"', status)
    content = json.dumps(text(whole)) if with_text else "[]"
    assert failure(tool, f'{{"structuredContent":{whole},"content":{content}}}', ToolError).message == "boom"
    assert failure(tool, {"content": text(whole)}, ToolError).message == "boom"


@pytest.mark.parametrize("tool", sorted(ANSWERS.keys() - {"retain"}))
@pytest.mark.parametrize("status", [None, "ok", "errors", "", 5, ["error"], {"error": 1}, "Error"])
def test_another_status_is_a_key_like_any_other(tool: str, status: Any) -> None:
    """Ours: keys of tomorrow are ignored; only Hindsight's own word for a failure is one."""
    assert read(tool, structured(tool, status=status)) == read(tool, structured(tool))


@every_tool
@pytest.mark.parametrize(
    "broken",
    [
        '\ufeff{"text": "s3cret"}',
        '\ufeff{"text": "s3cret',
        '```json\n{"text": "s3cret"}\n```',
        "```\ns3cret\n```",
        '({"text": "s3cret"})',
        ')]}\'\n["s3cret"]',
        'Here it is: {"text": "s3cret"}',
        'text": "s3cret", "id": "1"}',
        '"s3cret',
        "'{s3cret'",
        "<html>s3cret</html>\ufeff{",
        "([s3cret])",
    ],
)
def test_an_answer_that_is_broken_json_is_not_quoted(tool: str, broken: str) -> None:
    """Ours: a broken answer's content is never put into the error."""
    error = failure(tool, {"content": text(broken)}, ProtocolError)
    assert "s3cret" not in str(error)
    assert error.outcome == "unknown"


@every_tool
@pytest.mark.parametrize(
    ("flag", "outcome"), [({"isError": True}, "refused"), ({}, "unknown"), ({"isError": False}, "unknown")]
)
def test_only_is_error_proves_that_a_sentence_is_a_refusal(tool: str, flag: dict[str, Any], outcome: str) -> None:
    """Ours: a retain answered by "Fact stored" must not be repeated; public report: mcp-gsc #53."""
    for sentence in ("Fact stored successfully", "Error: x", "Bank 'x' not found", "Unknown tool: 'x'"):
        with pytest.raises(BankError) as caught:
            read(tool, {"content": text(sentence)} | flag)
        assert caught.value.outcome == outcome


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ('{"code":' + "[" * 500 + "]" * 500 + ',"message":"boom"}', "boom"),
        ("[" + "[]," * 5000 + "0]", SILENT),
        ('"' + "x" * 5000 + '"', "x" * 5000),
        ('{"message":5}', '{"message": 5}'),
    ],
)
def test_an_error_is_read_no_further_than_it_helps(fault: str, said: str) -> None:
    """Ours: what a server puts where a sentence should be is not built without bound."""
    assert failure("get_bank", '{"structuredContent":{"error":' + fault + "}}", ToolError).message == said
