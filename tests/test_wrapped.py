"""Answers of the older generations: what their servers sent, and every way to say it."""

import json
from pathlib import Path
from typing import Any, Final

import pytest
from msgspec import Raw

from hindsight_bank import (
    AgentReceipt,
    AgentSearchResult,
    AgentThought,
    AnswerError,
    BankError,
    IncompatibleServer,
    NotFoundError,
    ProtocolError,
    PutReceipt,
    PutSearchResult,
    ToolError,
)
from hindsight_bank.censor import Censor
from hindsight_bank.toolset import AGENTS, PUT_SEARCH, Toolset

CAPTURED = json.loads((Path(__file__).parent / "captured/older.json").read_text())["results"]
STORED: Final = "Fact stored successfully"
FACT = {"id": "1", "text": "t", "type": "world", "context": None, "event_date": None, "document_id": None}


def read(tool: str, result: Any, toolset: Toolset = PUT_SEARCH) -> Any:
    """Return what a result comes to."""
    try:
        return toolset.answer(tool, Raw(json.dumps(result).encode()), Censor(None).clean)
    except BankError as error:
        return error


def text(said: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": said}]}


def wrapped(said: str) -> dict[str, Any]:
    return text(said) | {"structuredContent": {"result": said}}


@pytest.mark.parametrize(
    ("capture", "kind"),
    [
        ("git-31a53c087/put", PutReceipt),
        ("git-31a53c087/put_missing", ToolError),
        ("git-31a53c087/search", PutSearchResult),
        ("git-31a53c087/search_empty", PutSearchResult),
        ("git-31a53c087/search_unknown_arg", ToolError),
        ("git-31a53c087/unknown_tool", IncompatibleServer),
        ("0.0.16-relaunched/put", ToolError),
        ("0.0.16-relaunched/put_missing", ToolError),
        ("0.0.16-relaunched/search", ToolError),
        ("0.0.16-relaunched/search_empty", PutSearchResult),
        ("0.0.16-relaunched/search_unknown_arg", ToolError),
        ("0.0.16-relaunched/unknown_tool", IncompatibleServer),
    ],
)
def test_what_a_real_server_said_is_a_typed_result_or_the_right_error(capture: str, kind: type) -> None:
    """Hindsight at the commit 31a53c087, and 0.0.16 with its launcher mended."""
    case = next(case for case in CAPTURED if case["capture"] == capture)
    tool = case["tool"] if case["tool"] in PUT_SEARCH.tools else "hindsight_put"
    assert type(read(tool, case["result"])) is kind


def test_every_captured_result_is_told_above() -> None:
    """Ours: the file is not thinned out by accident."""
    assert len(CAPTURED) == 12


def test_a_captured_search_says_what_the_server_said() -> None:
    """Hindsight at the commit 31a53c087."""
    case = next(case for case in CAPTURED if case["capture"] == "git-31a53c087/search")
    said = json.loads(case["result"]["structuredContent"]["result"])["results"]
    found = read("hindsight_search", case["result"]).results
    assert [(f.id, f.text, f.type, f.context, f.document_id) for f in found] == [
        (s["id"], s["text"], s["type"], s["context"], None) for s in said
    ]
    assert [f.event_date.isoformat() for f in found] == [s["event_date"] for s in said]


def test_what_pydantic_quotes_of_the_arguments_is_left_out() -> None:
    """Hindsight at the commit 31a53c087: a refused call is quoted back. Ours: no error tells a memory's text."""
    case = next(case for case in CAPTURED if case["capture"] == "git-31a53c087/put_missing")
    assert "'content': 'x'" in json.dumps(case["result"])
    assert "'content': 'x'" not in str(read("hindsight_put", case["result"]))


@pytest.mark.parametrize(
    "result",
    [
        wrapped(json.dumps({"results": [FACT]})),
        text(json.dumps({"results": [FACT]})),
        {"content": [], "structuredContent": {"results": [FACT]}},
        wrapped(json.dumps({"results": [FACT]})) | {"structuredContent": None},
    ],
    ids=["wrapped", "text", "object", "null"],
)
def test_an_answer_is_the_same_however_it_is_wrapped(result: Any) -> None:
    """MCP, Tools, "Structured Content": older frameworks send the text alone, newer ones wrap it or send the object."""
    (fact,) = read("hindsight_search", result).results
    assert (fact.id, fact.text, fact.type, fact.context) == ("1", "t", "world", None)


@pytest.mark.parametrize("result", [wrapped(STORED), text(STORED)], ids=["wrapped", "text"])
def test_a_sentence_of_success_is_a_receipt(result: Any) -> None:
    """Hindsight at the commit 31a53c087: the tool returns a sentence."""
    assert read("hindsight_put", result) == PutReceipt(result=STORED)


def test_text_is_unwrapped_once_only() -> None:
    """Ours: what is wrapped twice is no answer of any documented tool."""
    twice = json.dumps({"result": json.dumps({"results": []})})
    error = read("hindsight_search", wrapped(twice))
    assert (type(error), error.outcome) == (AnswerError, "unknown")


@pytest.mark.parametrize("said", ["", "Saved", "fact stored successfully", "{}", '{"success": true}', "null", "[]"])
def test_a_put_that_says_anything_else_may_have_happened(said: str) -> None:
    """Ours: only the server's own word of success is one, and only its word of failure another."""
    error = read("hindsight_put", wrapped(said))
    assert (type(error), error.outcome) == (AnswerError, "unknown")
    assert said not in str(error) or len(said) < 3


@pytest.mark.parametrize(
    "said",
    [
        "Error: no connection",
        '{"error": "no connection"}',
        '{"error": "no connection", "results": []}',
        '{"error": {"code": "INTERNAL_ERROR", "message": "no connection"}}',
        '{"status": "error", "message": "no connection"}',
    ],
)
@pytest.mark.parametrize("form", [wrapped, text])
@pytest.mark.parametrize("tool", PUT_SEARCH.tools)
def test_what_a_tool_says_of_its_failure_is_never_a_result(tool: str, form: Any, said: str) -> None:
    """Hindsight 0.0.16, relaunched, and the documentation of both generations: not marked as errors."""
    error = read(tool, form(said))
    assert (type(error), error.outcome, error.tool) == (ToolError, "refused", tool)
    assert "no connection" in str(error)


@pytest.mark.parametrize(
    ("code", "kind"), [("NOT_FOUND", NotFoundError), ("INVALID_PARAMS", ToolError), ("INTERNAL_ERROR", ToolError)]
)
@pytest.mark.parametrize("message", ["Memory bank 'unknown-agent' not found", "no"])
@pytest.mark.parametrize("tool", AGENTS.tools)
def test_the_documented_code_decides_what_kind_of_failure_it_is(
    tool: str, message: str, code: str, kind: type[ToolError]
) -> None:
    """Hindsight 0.0.8 to 0.0.16, API reference, "Error Responses"."""
    fault = {"error": {"code": code, "message": message}}
    for result in (wrapped(json.dumps(fault)), {"content": [], "structuredContent": fault}):
        for marked in (False, True):
            error = read(tool, result | {"isError": marked}, AGENTS)
            assert (type(error), error.code, error.message) == (kind, code, message)
            assert kind is ToolError or error.what == "bank"


@pytest.mark.parametrize(
    ("tool", "said", "kind"),
    [
        ("hindsight_search", {"results": [{"text": "t", "weight": 0.95, "fact_type": "world"}]}, AgentSearchResult),
        (
            "hindsight_think",
            {"text": "t", "based_on": [{"text": "t", "weight": 0.95}], "new_opinions": []},
            AgentThought,
        ),
        ("hindsight_store", {"success": True, "message": "Memory stored successfully"}, AgentReceipt),
    ],
)
def test_the_documented_answers_are_typed(tool: str, said: Any, kind: type) -> None:
    """Hindsight 0.0.8 to 0.0.16, API reference, "Available Tools"."""
    assert type(read(tool, wrapped(json.dumps(said)), AGENTS)) is kind


def test_a_name_with_a_space_gets_an_underscore() -> None:
    """Hindsight 0.0.8 to 0.0.16, API reference: `hindsight_agents` answers with `memory banks`."""
    said = {"memory banks": [{"agent_id": "default"}, {"agent_id": "assistant"}]}
    listed = read("hindsight_agents", wrapped(json.dumps(said)), AGENTS)
    assert [agent.agent_id for agent in listed.memory_banks] == ["default", "assistant"]


def test_a_receipt_without_success_is_the_tools_failure() -> None:
    """Ours: `success` false is no receipt."""
    error = read("hindsight_store", wrapped('{"success": false, "message": "full"}'), AGENTS)
    assert (type(error), error.message) == (ToolError, "full")


@pytest.mark.parametrize("kind", ["input_required", "task", ""])
def test_a_result_that_is_not_complete_is_no_answer(kind: str) -> None:
    """MCP 2026-07-28, Overview, "ResultType": whatever it holds."""
    assert type(read("hindsight_put", wrapped(STORED) | {"resultType": kind})) is ProtocolError


@pytest.mark.parametrize("result", [{}, {"content": []}, {"content": [{"type": "image"}]}, {"resultType": "odd"}, []])
def test_a_result_that_says_nothing_is_no_answer(result: Any) -> None:
    """MCP, Tools: a result has content."""
    assert type(read("hindsight_search", result)) is ProtocolError
