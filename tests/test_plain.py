"""Results as plain data."""

import json
from datetime import datetime, timedelta, timezone
from typing import Any

import attrs
import pytest
from test_answers import ANSWERS, FACT, every_tool, read, structured

from hindsight_bank import Bank, Health, to_dict


def plain(value: Any) -> bool:
    """Tell whether a value is made of nothing but what JSON has."""
    if type(value) is dict:
        return all(type(key) is str and plain(item) for key, item in value.items())
    return all(map(plain, value)) if type(value) is list else value is None or type(value) in (str, int, float, bool)


RICH: dict[str, dict[str, Any]] = {
    "recall": {
        "results": [FACT | {"mentioned_at": "2025-03-02T10:00:00.020000+05:30", "tags": ["a"], "scores": None}],
        "entities": {"Alice": {"entity_id": "e", "canonical_name": "Alice", "observations": []}},
        "chunks": {"c": {"chunk_text": "t", "chunk_index": 0, "truncated": False}},
        "source_facts": {"f": FACT},
    },
    "reflect": {
        "based_on": {"world": [FACT], "mental-models": [], "directives": [{"id": "d", "name": "n", "content": "c"}]},
        "structured_output": {"a": [{"b": 1.5}]},
        "usage": {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3},
    },
    "get_memory": {"observation_scopes": [["a"], "b"], "metadata": {"n": [1, None]}, "history": [{"x": 1}]},
}


@pytest.mark.parametrize("other", [5, "x", None, {"a": 1}, [], (), Bank("http://localhost", "alice"), Bank])
def test_what_is_no_result_is_refused(other: Any) -> None:
    """Ours: what it takes is said, and never came back as it was."""
    with pytest.raises(TypeError, match=r"^to_dict takes one result of a Bank, or one part of it such as a Fact, not "):
        to_dict(other)


@every_tool
@pytest.mark.parametrize("changes", [{}, RICH], ids=["least", "most"])
def test_a_result_becomes_what_json_has(tool: str, changes: dict[str, Any]) -> None:
    """Ours: dicts, lists and scalars, keys as the attributes are named; nothing of the decoder's own."""
    built = read(tool, structured(tool, **changes.get(tool, {})))
    data = to_dict(built)
    assert plain(data)
    assert list(data) == [field.name for field in attrs.fields(type(built)) if field.name != "error"]
    assert json.loads(json.dumps(data, allow_nan=False)) == data


def test_health_holds_the_profile_as_plain_data_too() -> None:
    """Ours: it is what a method returned, whatever room it is of."""
    profile = read("get_bank", structured("get_bank"))
    data = to_dict(Health(bank=profile, seconds=0.5, server="hindsight 1", protocol="2026-07-28"))
    assert plain(data)
    assert data == {"bank": to_dict(profile), "seconds": 0.5, "server": "hindsight 1", "protocol": "2026-07-28"}


def test_a_time_is_written_with_its_offset() -> None:
    """Public report: hindsight #1568: no time without a zone."""
    built = read("recall", structured("recall", **RICH["recall"]))
    moment = built.results[0].mentioned_at
    assert moment == datetime(2025, 3, 2, 10, microsecond=20000, tzinfo=timezone(timedelta(hours=5, minutes=30)))
    written = to_dict(built)["results"][0]["mentioned_at"]
    assert datetime.fromisoformat(written) == moment
    assert written[-6:] in ("+05:30", "+00:00")


def test_a_part_of_a_result_can_be_written_alone() -> None:
    """Ours: any object that a method returned, or a part of one."""
    fact = read("recall", structured("recall")).results[0]
    assert to_dict(fact)["text"] == ANSWERS["recall"]["results"][0]["text"]
    assert to_dict(fact)["metadata"] == {}


def test_names_that_the_wire_spells_otherwise_are_the_attributes() -> None:
    """Ours: `mental-models` is mental_models here and in to_dict."""
    based_on = read("reflect", structured("reflect", **RICH["reflect"])).based_on
    assert set(to_dict(based_on)) == {"world", "experience", "opinion", "observation", "mental_models", "directives"}
