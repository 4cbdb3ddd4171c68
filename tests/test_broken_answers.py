"""Answers that break their tool's schema: named by path and type, never coerced, never quoted."""

import json
from contextlib import nullcontext
from datetime import UTC, datetime
from typing import Any

import pytest
from test_answers import ANSWERS, FACT, MEMORY, every_tool, failure, read, structured, text

from hindsight_bank import answers
from hindsight_bank.errors import AnswerError, BankError, ProtocolError

ITEM: dict[str, Any] = MEMORY | {"fact_type": "world", "entities": "", "context": "", "date": "", "tags": []}


def recalled(**changes: Any) -> dict[str, Any]:
    return structured("recall", results=[FACT | changes])


@pytest.mark.parametrize(
    ("tool", "result", "problem"),
    [
        ("recall", recalled(id=None), "Expected `str`, got `null` @ $.results[0].id"),
        ("recall", recalled(id=5), "Expected `str`, got `int` @ $.results[0].id"),
        ("recall", recalled(text=["a"]), "Expected `str`, got `array` @ $.results[0].text"),
        ("recall", recalled(tags="abc"), "Expected `array | null`, got `str` @ $.results[0].tags"),
        ("recall", recalled(tags=[1]), "Expected `str`, got `int` @ $.results[0].tags[0]"),
        ("recall", recalled(metadata={"k": None}), "Expected `str`, got `null` @ $.results[0].metadata[...]"),
        ("recall", recalled(metadata={"n": 3}), "Expected `str`, got `int` @ $.results[0].metadata[...]"),
        ("recall", recalled(metadata=[]), "Expected `object | null`, got `array` @ $.results[0].metadata"),
        ("recall", recalled(scores={}), "Object missing required field `final` @ $.results[0].scores"),
        ("recall", recalled(mentioned_at=0), "Expected `datetime | null`, got `int` @ $.results[0].mentioned_at"),
        ("recall", recalled(mentioned_at="2026-03-24T20:10:58"), "timezone component @ $.results[0].mentioned_at"),
        ("recall", structured("recall", source_facts_truncated="false"), "got `str` @ $.source_facts_truncated"),
        ("recall", structured("recall", source_facts_truncated=1), "got `int` @ $.source_facts_truncated"),
        ("recall", structured("recall", results=None), "Expected `array`, got `null` @ $.results"),
        ("recall", structured("recall", results={}), "Expected `array`, got `object` @ $.results"),
        ("recall", structured("recall", results=[None]), "Expected `object`, got `null` @ $.results[0]"),
        ("recall", {"structuredContent": {"result": "{}"}}, "Object missing required field `results` @ $"),
        ("recall", {"structuredContent": []}, "Expected `object`, got `array` @ $"),
        ("recall", {"structuredContent": "boom"}, "Expected `object`, got `str` @ $"),
        ("retain", structured("retain", status="weird"), "Expected 'accepted' @ $.status"),
        ("retain", structured("retain", status="stored"), "Expected 'accepted' @ $.status"),
        ("retain", structured("retain", status=None), "got `null` @ $.status"),
        ("reflect", structured("reflect", text=None), "Expected `str`, got `null` @ $.text"),
        ("reflect", structured("reflect", structured_output="x"), "got `str` @ $.structured_output"),
        ("reflect", structured("reflect", based_on={"world": [1]}), "got `int` @ $.based_on.world[0]"),
        ("reflect", structured("reflect", based_on={"mental-models": 1}), "got `int` @ $.based_on.mental-models"),
        ("reflect", structured("reflect", based_on={"directives": [FACT]}), "`name` @ $.based_on.directives[0]"),
        ("list_memories", structured("list_memories", items=None), "Expected `array`, got `null` @ $.items"),
        ("list_memories", structured("list_memories", total="7"), "Expected `int`, got `str` @ $.total"),
        ("list_memories", structured("list_memories", total=7.0), "Expected `int`, got `float` @ $.total"),
        ("list_memories", structured("list_memories", total=True), "Expected `int`, got `bool` @ $.total"),
        ("list_memories", structured("list_memories", items=[ITEM | {"proof_count": 1.9}]), "@ $.items[0].proof_count"),
        ("get_memory", structured("get_memory", entities="Alice, Bob"), "got `str` @ $.entities"),
        ("get_memory", structured("get_memory", edited_at="never"), "@ $.edited_at"),
        ("get_bank", structured("get_bank", disposition={"skepticism": 3}), "`literalism` @ $.disposition"),
        ("get_bank", structured("get_bank", name=False), "Expected `str`, got `bool` @ $.name"),
    ],
)
@pytest.mark.parametrize("place", ["structured", "text"])
def test_an_answer_of_the_wrong_type_is_refused_with_its_path(tool: str, result: Any, problem: str, place: str) -> None:
    """Public reports: cattrs #26, #49, #316: no coercion, no text "None"."""
    if place == "text":
        result = {"content": text(json.dumps(result["structuredContent"]))}
    error = failure(tool, result, AnswerError)
    assert error.tool == tool
    assert len(error.problems) == 1
    assert error.problems[0].endswith(problem)
    assert str(error) == f"{tool}: the answer breaks the schema: {error.problems[0]}"
    assert error.outcome == "unknown"


@pytest.mark.parametrize(("tool", "key"), [(tool, key) for tool, answer in ANSWERS.items() for key in answer])
def test_every_required_field_is_required(tool: str, key: str) -> None:
    """Ours: required is information. What every version sends cannot be missing."""
    payload = {name: value for name, value in ANSWERS[tool].items() if name != key}
    error = failure(tool, {"structuredContent": payload}, AnswerError)
    assert error.problems == (f"Object missing required field `{key}` @ $",)


@every_tool
def test_unknown_fields_are_ignored_at_every_depth(tool: str) -> None:
    """Public reports: cattrs #101, screamingface #783: servers grow; about twenty keys since 0.4.14."""

    def grown(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: grown(item) for key, item in value.items()} | {"brand_new": [{"x": None}], "": 1}
        return [grown(item) for item in value] if isinstance(value, list) else value

    assert read(tool, {"structuredContent": grown(ANSWERS[tool])}) == read(tool, structured(tool))


@pytest.mark.parametrize(
    ("time", "microseconds"),
    [
        *((f"2026-03-24T20:10:58{offset}", 0) for offset in ("Z", "z", "+00:00", "+0000", "-00:00")),
        *((f"2026-03-24T20:10:58.{digits}Z", value) for digits, value in (("1", 100_000), ("123456789", 123_457))),
        *(("2026-03-24 20:10:58Z", 0), ("2026-03-24t20:10:58Z", 0), ("2026-03-24T22:10:58+02:00", 0)),
    ],
)
def test_a_time_is_read_in_every_spelling_of_rfc_3339(time: str, microseconds: int) -> None:
    """RFC 3339, 5.6; public reports: linkml #2096, md2conf #172. A tenth of a microsecond is rounded."""
    read_as = read("recall", recalled(mentioned_at=time)).results[0].mentioned_at
    assert read_as == datetime(2026, 3, 24, 20, 10, 58, microseconds, tzinfo=UTC)
    assert read_as.utcoffset() is not None


@pytest.mark.parametrize(
    "time", ["", "2026-03-24", "2026-03-24T20:10:58", "1774383058", "2026-03-24T20:10Z", "yesterday"]
)
def test_what_is_no_time_with_its_offset_is_refused(time: str) -> None:
    """RFC 3339, 5.6; public report: hindsight #1568 (unlabelled UTC read as local time)."""
    error = failure("recall", recalled(mentioned_at=time), AnswerError)
    assert error.problems[0].endswith("@ $.results[0].mentioned_at")


@pytest.mark.parametrize("kind", ["opinion", "mental_model", "brand_new", ""])
def test_kinds_of_memory_are_an_open_set(kind: str) -> None:
    """Public reports: hindsight #1893, #2447 (one kind removed, one renamed)."""
    assert read("recall", recalled(fact_type=kind)).results[0].fact_type == kind
    listed = structured("list_memories", items=[ITEM | {"fact_type": kind, "proof_count": 1}])
    assert read("list_memories", listed).items[0].fact_type == kind
    assert read("get_memory", structured("get_memory", type=kind)).type == kind


def test_null_reads_as_empty_where_a_list_or_map_is_optional() -> None:
    """Public reports: hindsight #674, cattrs #49."""
    fact = read("recall", recalled()).results[0]
    assert (fact.entities, fact.metadata, fact.tags, fact.source_fact_ids) == ((), {}, (), ())
    assert (fact.context, fact.occurred_start, fact.document_id, fact.scores) == (None, None, None, None)
    assert "'None'" not in repr(fact)


@pytest.mark.parametrize(
    "score",
    ["NaN", "-NaN", "Infinity", "-Infinity", "1e999", "-1e999", "9" * 5000, "0x1", "01", ".5", "5.", "+1", "1_000"],
)
@pytest.mark.parametrize(
    "template",
    [
        '{"structuredContent":{"text":"secret","structured_output":{"score":%s},"usage":null}}',
        '{"content":[{"type":"text","text":"{\\"text\\":\\"secret\\",\\"structured_output\\":{\\"score\\":%s},\\"usage\\":null}"}]}',
        json.dumps(recalled(scores={"final": "%s"}, text="secret")).replace('"%s"', "%s"),
    ],
    ids=["structured", "text", "typed"],
)
def test_a_number_that_json_or_a_double_lacks_is_a_protocol_error(score: str, template: str) -> None:
    """Public report: mcp python-sdk #3385; RFC 8259, 6. Ours: malformed JSON, wherever it stands."""
    with pytest.raises(ProtocolError) as caught:
        read("recall" if "results" in template else "reflect", template % score)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "payload",
    [
        '{"text":"secret',
        '{"text":"secret"',
        '{"text":"secret","structured_output":null,"usage":null} {}',
        '"secret',
        ' \n{"text":"secret"',
        '{"text":"secret\\ud83d","structured_output":null,"usage":null}',
        '{"text":"secret","usage":null,"structured_output":' + '{"a":' * 99_999,
        '{"text":"secret","usage":null,"structured_output":{"a":' + "[" * 99_999 + "]" * 99_999 + "}}",
    ],
)
def test_broken_json_in_the_text_is_a_protocol_error_that_does_not_quote_it(payload: str) -> None:
    """Ours: a broken answer's content is never put into the error; truncation is named."""
    error = failure("reflect", {"content": text(payload)}, ProtocolError)
    assert "secret" not in str(error)


@pytest.mark.parametrize(
    "result",
    [
        '{"structuredContent":{"text":"\\ud83d","structured_output":null,"usage":null}}',
        '{"structuredContent":{"text":"","structured_output":{"a":["\\udf75"]},"usage":null}}',
        '{"structuredContent":{"text":"","structured_output":{"\\ud83d":1},"usage":null}}',
        '{"structuredContent":{"text":"","structured_output":null,"usage":null,"new":"\\ud83d\\ud83d"}}',
        '{"isError":true,"content":[{"type":"text","text":"\\ud83d"}]}',
        '{"structuredContent":{"error":"\\ud83d"}}',
    ],
)
def test_an_unpaired_surrogate_is_a_protocol_error_wherever_it_stands(result: str) -> None:
    """RFC 8259, 8.2; public report: Router-Maestro #37. Ours: what comes in can be printed, logged and pickled."""
    failure("reflect", result, ProtocolError)


def test_a_memory_is_never_quoted_when_an_answer_breaks() -> None:
    """Public report: openai-python #1196; `error.problems` say path and type only."""
    secret = {"s3cret key": {"s3cret": "s3cret"}}
    for changes in ({"text": secret}, {"metadata": secret}, {"tags": ["s3cret", secret]}, {"mentioned_at": "s3cret"}):
        with pytest.raises(BankError) as caught:
            read("recall", recalled(**changes))
        assert "s3cret" not in repr(caught.value) + str(vars(caught.value))
        assert caught.value.__cause__ is None


SCHEMA = {"type": "object", "properties": {"drink": {"type": "string"}}, "required": ["drink"]}


@pytest.mark.parametrize(
    ("value", "schema", "problems"),
    [
        ({"drink": "tea"}, SCHEMA, ()),
        ({}, SCHEMA, ("breaks 'required' @ $",)),
        ({"drink": 5}, SCHEMA, ("breaks 'type' @ $.drink",)),
        ({"drink": "tea"}, {"type": "objekt"}, ("cannot be judged by the schema (UnknownType) @ $",)),
        ({"drink": "tea"}, {}, ()),
    ],
)
def test_structured_output_is_judged_by_the_schema_that_the_caller_gave(value: Any, schema: Any, problems: Any) -> None:
    """Ours: a schema known only at run time is jsonschema's."""
    with nullcontext() if not problems else pytest.raises(AnswerError) as caught:
        answers.conform(value, schema)
    if caught:
        assert (caught.value.tool, caught.value.problems) == ("reflect", problems)
