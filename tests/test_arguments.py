"""Arguments judged before anything is sent: by our rules, then by what the server lists."""

import copy
import json
import math
from collections import ChainMap
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from enum import IntEnum, StrEnum
from types import MappingProxyType
from typing import Any

import pytest

from hindsight_bank import arguments, jsonrpc
from hindsight_bank.errors import ArgumentsError

NAIVE = datetime(2025, 3, 1, tzinfo=UTC).replace(tzinfo=None)


class Budget(StrEnum):
    LOW = "low"


class Size(IntEnum):
    SMALL = 5


def judged(tool: str, **given: Any) -> dict[str, Any]:
    """Return the arguments as they stand on the wire."""
    needed: dict[str, Any] = {"recall": {"query": "q"}, "reflect": {"query": "q"}, "retain": {"content": "c"}}
    body = json.loads(jsonrpc.request(1, "tools/call", arguments.judge(tool, needed.get(tool, {}) | given)))
    params: dict[str, Any] = body["params"]
    return {key: value for key, value in params.items() if key in given}


def problems(tool: str, **given: Any) -> tuple[str, ...]:
    with pytest.raises(ArgumentsError) as caught:
        judged(tool, **given)
    error = caught.value
    assert (error.tool, error.outcome) == (tool, "not_sent")
    assert str(error) == f"{tool}: {'; '.join(error.problems)}"
    return error.problems


def deep(levels: int) -> Any:
    value: Any = []
    for _ in range(levels):
        value = [value]
    return value


def cyclic() -> dict[str, Any]:
    value: dict[str, Any] = {}
    value["a"] = [value]
    return value


def test_what_is_none_is_not_sent() -> None:
    """Public reports: parcha-skills #130, claude-code #95239: explicit None equals unset, and null is refused."""
    given = {"query": "q", "budget": None, "tags": None, "tag_groups": None, "query_timestamp": None}
    assert arguments.judge("recall", given) == {"query": "q"}
    assert "null" not in jsonrpc.request(1, "m", arguments.judge("recall", given)).decode()


def test_the_callers_own_values_stay_as_they_are() -> None:
    """Ours: what is judged is copied, never changed in place."""
    metadata = MappingProxyType({"k": "v"})
    given = {"content": "c", "timestamp": datetime(2026, 1, 1, tzinfo=UTC), "metadata": metadata}
    before = copy.copy(given)
    sent = arguments.judge("retain", given)
    assert given == before
    assert sent["metadata"] is not metadata


@pytest.mark.parametrize(
    ("tool", "name", "value", "sent"),
    [
        ("recall", "budget", Budget.LOW, "low"),
        ("recall", "max_tokens", Size.SMALL, 5),
        ("recall", "max_tokens", 1, 1),
        ("recall", "tags", ("a", "b"), ["a", "b"]),
        ("recall", "tags", [], []),
        ("recall", "types", ["opinion"], ["opinion"]),
        ("list_memories", "type", "opinion", "opinion"),
        ("recall", "tag_groups", [MappingProxyType({"and": ({"tags": ["a"]},)})], [{"and": [{"tags": ["a"]}]}]),
        ("recall", "min_scores", {"final": 0.2}, {"final": 0.2}),
        ("recall", "min_scores", {"final": None}, {"final": None}),
        ("recall", "include_chunks", False, False),
        ("retain", "metadata", ChainMap({"k": "v"}), {"k": "v"}),
        (
            "recall",
            "temporal_window",
            {"start": datetime(2025, 3, 1, tzinfo=UTC)},
            {"start": "2025-03-01T00:00:00+00:00"},
        ),
        ("retain", "content", "a\x00b 🍵 моя \u2028", "a\x00b 🍵 моя \u2028"),
        ("retain", "update_mode", "append", "append"),
        ("list_memories", "limit", 0, 0),
        ("reflect", "response_schema", {"type": "object"}, {"type": "object"}),
        ("get_memory", "memory_id", "not-a-uuid", "not-a-uuid"),
    ],
)
def test_what_means_the_same_in_json_goes_out(tool: str, name: str, value: Any, sent: Any) -> None:
    """Ours: tuples, mappings and enums of strings are lists, objects and strings; the server judges the rest."""
    assert judged(tool, **{name: value})[name] == sent


@pytest.mark.parametrize(
    ("tool", "name", "value", "problem"),
    [
        ("recall", "max_tokens", 0, "Expected `int` >= 1 @ $.max_tokens"),
        ("recall", "max_tokens", -1, "Expected `int` >= 1 @ $.max_tokens"),
        ("recall", "max_tokens", True, "Expected `int`, got `bool` @ $.max_tokens"),
        ("recall", "max_tokens", "10", "Expected `int`, got `str` @ $.max_tokens"),
        ("recall", "max_tokens", 10.0, "Expected `int`, got `float` @ $.max_tokens"),
        ("recall", "max_tokens", 10**400, "Expected a finite number @ $.max_tokens"),
        ("recall", "budget", "medium", "Expected 'low' or 'mid' or 'high' @ $.budget"),
        ("recall", "budget", "LOW", "Expected 'low' or 'mid' or 'high' @ $.budget"),
        ("reflect", "budget", 1, "Expected `str`, got `int` @ $.budget"),
        ("reflect", "max_tokens", 0, "Expected `int` >= 1 @ $.max_tokens"),
        ("recall", "tags_match", "none", "'all_strict' or 'exact' @ $.tags_match"),
        ("retain", "update_mode", "upsert", "Expected 'replace' or 'append' @ $.update_mode"),
        ("retain", "content", " \n", "Expected text that is not blank @ $.content"),
        (
            "recall",
            "temporal_window",
            {"end": NAIVE},
            "its UTC offset @ $.temporal_window[...]",
        ),
        ("recall", "tags", "abc", "Expected `array`, got `str` @ $.tags"),
        ("recall", "tags", ["a", 5], "Expected `str`, got `int` @ $.tags[1]"),
        ("recall", "tags", [None], "Expected `str`, got `null` @ $.tags[0]"),
        ("recall", "tags", {"a"}, "Expected a JSON value (text, number, list, dict), got `set` @ $.tags"),
        (
            "recall",
            "tags",
            (c for c in "ab"),
            "Expected a JSON value (text, number, list, dict), got `generator` @ $.tags",
        ),
        ("recall", "tags", {"a": 1}, "Expected `array`, got `object` @ $.tags"),
        ("recall", "query", 5, "Expected `str`, got `int` @ $.query"),
        ("recall", "query", b"q", "Expected a JSON value (text, number, list, dict), got `bytes` @ $.query"),
        ("recall", "include_chunks", 1, "Expected `bool`, got `int` @ $.include_chunks"),
        ("recall", "min_scores", [], "Expected `object`, got `array` @ $.min_scores"),
        ("recall", "min_scores", {"final": math.nan}, "Expected a finite number @ $.min_scores[...]"),
        ("recall", "min_scores", {"final": -math.inf}, "Expected a finite number @ $.min_scores[...]"),
        ("recall", "min_scores", {"final": 10**5000}, "Expected a finite number @ $.min_scores[...]"),
        ("recall", "min_scores", {1: 0.5}, "Expected `str`, got `int` @ key in $.min_scores"),
        ("recall", "min_scores", {None: 0.5}, "Expected `str`, got `NoneType` @ key in $.min_scores"),
        ("recall", "temporal_window", {"start": date(2026, 1, 1)}, "got `date` @ $.temporal_window[...]"),
        ("recall", "tag_groups", [cyclic()], "Expected less nesting @ $.tag_groups"),
        ("recall", "tag_groups", [{"a": deep(5000)}], "Expected less nesting @ $.tag_groups"),
        ("recall", "tag_groups", [1], "Expected `object`, got `int` @ $.tag_groups[0]"),
        ("retain", "metadata", {"n": 1}, "Expected `str`, got `int` @ $.metadata[...]"),
        ("retain", "metadata", {"n": None}, "Expected `str`, got `null` @ $.metadata[...]"),
        ("retain", "metadata", [("k", "v")], "Expected `object`, got `array` @ $.metadata"),
        ("retain", "content", ["x"], "Expected `str`, got `array` @ $.content"),
        ("retain", "content", "a\ud83d", "Expected no unpaired surrogate @ $.content"),
        ("retain", "tags", ["a", "\udc00"], "Expected no unpaired surrogate @ $.tags[...]"),
        ("retain", "metadata", {"\ud800": "v"}, "Expected no unpaired surrogate @ key in $.metadata"),
        ("retain", "metadata", {"k": "\ud800"}, "Expected no unpaired surrogate @ $.metadata[...]"),
        ("list_memories", "limit", -1, "Expected `int` >= 0 @ $.limit"),
        ("list_memories", "offset", -1, "Expected `int` >= 0 @ $.offset"),
        ("list_memories", "q", "\ud83d", "Expected no unpaired surrogate @ $.q"),
        ("get_memory", "memory_id", 7, "Expected `str`, got `int` @ $.memory_id"),
    ],
)
def test_what_no_server_reads_alike_is_refused_here(tool: str, name: str, value: Any, problem: str) -> None:
    """Public reports: hindsight #4062, httpx #3655, apify-client-python #87. Servers coerce and drop silently."""
    found = problems(tool, **{name: value})
    assert len(found) == 1
    assert found[0].endswith(problem)


@pytest.mark.parametrize(
    "value", ["s3cret \ud83d", b"s3cret", {"s3cret": math.nan}, {"s3cret \ud83d": 1}, ["s3cret"], {"s3cret"}]
)
def test_a_refused_value_is_never_quoted(value: Any) -> None:
    """Ours: a problem says path and expected type, not the value."""
    assert "s3cret" not in "".join(problems("recall", budget=value))
    assert "s3cret" not in "".join(problems("recall", budget="s3cret"))


def test_all_faults_that_we_see_ourselves_are_told_at_once() -> None:
    """Ours: one sentence each."""
    found = problems("retain", timestamp="soon", tags=["\ud83d"], metadata={1: math.nan})
    assert [fault.rpartition(" @ ")[2] for fault in found] == [
        "$.timestamp",
        "$.tags[...]",
        "key in $.metadata",
        "$.metadata[...]",
    ]


def test_a_required_argument_cannot_be_none() -> None:
    """Ours: None is unset, and the tool requires it."""
    assert problems("recall", query=None) == ("Object missing required field `query` @ $",)
    assert problems("get_memory", memory_id=None) == ("Object missing required field `memory_id` @ $",)


@pytest.mark.parametrize("empty", [[], ["a"]])
def test_tags_and_tag_groups_exclude_each_other(empty: list[str]) -> None:
    """Public report: hindsight #1424; 1.1.0 says so in-band, we say it before."""
    assert problems("recall", tags=empty, tag_groups=[{"tags": ["a"]}]) == (
        "tags and tag_groups exclude each other @ $",
    )
    assert judged("recall", tags=None, tag_groups=[{"tags": ["a"]}]) == {"tag_groups": [{"tags": ["a"]}]}


class Clockless(tzinfo):
    """A time zone that does not know its offset."""

    def utcoffset(self, _: datetime | None) -> None:
        return None

    dst = utcoffset

    def tzname(self, _: datetime | None) -> str:
        return "nowhere"


@pytest.mark.parametrize(("tool", "name"), [("retain", "timestamp"), ("recall", "query_timestamp")])
@pytest.mark.parametrize(
    ("moment", "sent"),
    [
        (datetime(2026, 3, 24, 20, 10, 58, tzinfo=UTC), "2026-03-24T20:10:58+00:00"),
        (datetime(2026, 3, 24, 20, 10, tzinfo=timezone(timedelta(hours=5, minutes=30))), "2026-03-24T20:10:00+05:30"),
        (datetime(1, 1, 1, microsecond=20000, tzinfo=UTC), "0001-01-01T00:00:00.020000+00:00"),
        ("2026-03-24T20:10:58Z", "2026-03-24T20:10:58Z"),
        ("2026-03-24T20:10:58.123-08:00", "2026-03-24T20:10:58.123-08:00"),
        ("2026-03-24 20:10:58+00:00", "2026-03-24 20:10:58+00:00"),
    ],
)
def test_a_time_goes_out_with_the_offset_it_has(tool: str, name: str, moment: Any, sent: str) -> None:
    """Public report: hindsight #1568 (unlabelled UTC read as local time). Ours: the offset is kept."""
    assert judged(tool, **{name: moment}) == {name: sent}


@pytest.mark.parametrize(("tool", "name"), [("retain", "timestamp"), ("recall", "query_timestamp")])
@pytest.mark.parametrize(
    ("moment", "problem"),
    [
        (datetime(2026, 3, 24), "Expected a time with its UTC offset"),  # noqa: DTZ001 - naive on purpose
        (datetime(2026, 3, 24, tzinfo=Clockless()), "Expected a time with its UTC offset"),
        ("2026-03-24T20:10:58", "Expected a time with its UTC offset"),
        ("2026-03-24", "Expected a time with its UTC offset"),
        ("yesterday", "Expected an ISO 8601 time"),
        ("", "Expected an ISO 8601 time"),
        ("2026-03-24T20:10:58+00:00\n", "Expected an ISO 8601 time"),
        ("2026-02-30T00:00:00Z", "Expected an ISO 8601 time"),
        ("2026-01-01x10:00+00:00", "Expected an ISO 8601 time"),
        ("2026-01-01\n10:00+00:00", "Expected an ISO 8601 time"),
        ("20260101T100000Z", "Expected an ISO 8601 time"),
        ("2026-W01-1T10:00Z", "Expected an ISO 8601 time"),
        ("2026-01-01T10Z", "Expected an ISO 8601 time"),
        ("2026-01-01T10:00:00,5Z", "Expected an ISO 8601 time"),
        ("2026-01-01T10:00:00+00:00:30", "Expected an ISO 8601 time"),
        ("\u0662026-01-01T10:00Z", "Expected an ISO 8601 time"),
        (1774383058, "Expected a datetime or an ISO 8601 string"),
        (date(2026, 3, 24), "Expected a datetime or an ISO 8601 string"),
    ],
)
def test_a_time_without_offset_is_refused(tool: str, name: str, moment: Any, problem: str) -> None:
    """Ours: naive times are refused; the server would take them for UTC."""
    assert problems(tool, **{name: moment})[0] == f"{problem} @ $.{name}"


@pytest.mark.parametrize(
    ("window", "faults"),
    [
        ({"start": "2026-01-01T00:00:00Z", "end": datetime(2026, 2, 1, tzinfo=UTC)}, ()),
        ({"start": None, "end": "2026-01-01t00:00+0100"}, ()),
        ({"start": "2026-01-01"}, ("Expected a time with its UTC offset",)),
        (
            {"start": "2026-01-01T00:00:00", "end": "soon"},
            ("Expected a time with its UTC offset", "Expected an ISO 8601 time"),
        ),
        (MappingProxyType({"end": "2026-01-01x00:00Z"}), ("Expected an ISO 8601 time",)),
        ({"start": datetime(2026, 1, 1)}, ("Expected a time with its UTC offset",)),  # noqa: DTZ001 - naive on purpose
    ],
)
def test_a_window_is_made_of_times_with_their_offsets(window: Any, faults: tuple[str, ...]) -> None:
    """Public report: hindsight #1568. Ours: naive times are refused wherever a time goes out."""
    given = {"query": "q", "temporal_window": window}
    if faults:
        assert problems("recall", **given) == tuple(f"{fault} @ $.temporal_window[...]" for fault in faults)
    else:
        assert judged("recall", **given)["temporal_window"].keys() == window.keys()
