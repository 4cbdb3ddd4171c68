"""The decoder and the oracle, two readings of schemas/ that share no code, accept exactly the same."""

import json
import os
from collections import Counter
from collections.abc import Callable
from importlib import import_module
from typing import Any

import drawn
import msgspec
import oracle
import pytest
from hypothesis import HealthCheck, Phase, given, settings

from hindsight_bank._generated.reading import Timestamp
from hindsight_bank.shown import Shown

Accepts = Callable[[str, bytes], bool]

FUZZ = os.environ.get("FUZZ_EXAMPLES")
SETTINGS = settings(
    max_examples=int(FUZZ or 300),
    derandomize=not FUZZ,
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
BRIEF = settings(SETTINGS, phases=[Phase.generate], report_multiple_bugs=False)

each_tool = pytest.mark.parametrize("tool", oracle.TOOLS + oracle.OLDER)


def decodes(tool: str, payload: bytes, *, strict: bool = True) -> bool:
    """Say whether the generated types accept JSON text as an answer of the tool."""
    answer = import_module(f"hindsight_bank._generated.{tool}").Answer
    try:
        built = msgspec.json.decode(payload, type=answer, strict=strict)
    except (msgspec.DecodeError, RecursionError):
        return False
    return isinstance(built, Shown) or bool(built.build())


def converts(tool: str, arguments: dict[str, Any]) -> bool:
    """Say whether the generated types and tables accept a call of the tool."""
    types = import_module(f"hindsight_bank._generated.{tool}")
    try:
        msgspec.convert(arguments, types.Arguments)
        for name in types.TIMES:
            msgspec.convert(arguments.get(name, "2025-01-01T00:00:00Z"), Timestamp)
    except msgspec.ValidationError:
        return False
    unknown = arguments.keys() - types.Arguments.__annotations__.keys()
    return not unknown and not any(arguments.keys() >= set(names) for names in types.EXCLUSIVE)


def agreement(tool: str, accepts: Accepts, how: settings = SETTINGS) -> Counter[bool]:
    """Compare a judge of answers with the oracle on drawn payloads; return how many both accepted and refused."""
    verdicts: Counter[bool] = Counter()

    @how
    @given(drawn.payloads(tool))
    def same(payload: bytes) -> None:
        verdict = oracle.accepts_answer(tool, payload)
        assert accepts(tool, payload) is verdict, payload
        verdicts[verdict] += 1

    same()
    return verdicts


@each_tool
def test_decoder_and_oracle_accept_the_same_drawn_answers(tool: str) -> None:
    """schemas/, as jsonschema reads them."""
    verdicts = agreement(tool, decodes)
    assert min(verdicts[True], verdicts[False]) > SETTINGS.max_examples // 10, verdicts


@each_tool
def test_decoder_and_oracle_see_the_same_faults_in_a_full_answer(tool: str) -> None:
    """schemas/, as jsonschema reads them."""
    whole = drawn.full_answer(tool)
    assert decodes(tool, json.dumps(whole).encode())
    for answer in drawn.each_fault(whole):
        payload = json.dumps(answer).encode()
        assert decodes(tool, payload) is oracle.accepts_answer(tool, payload), answer


@each_tool
def test_arguments_and_oracle_accept_the_same_drawn_calls(tool: str) -> None:
    """Hindsight's inputSchema and schemas/rules/, as jsonschema reads them."""
    verdicts: Counter[bool] = Counter()

    @SETTINGS
    @given(drawn.call(tool) | drawn.broken(drawn.call(tool)).filter(lambda value: isinstance(value, dict)))
    def same(arguments: dict[str, Any]) -> None:
        verdict = oracle.accepts_arguments(tool, arguments)
        assert converts(tool, arguments) is verdict, arguments
        verdicts[verdict] += 1

    same()
    assert min(verdicts[True], verdicts[False]) > 0, verdicts


@each_tool
def test_arguments_and_oracle_see_the_same_faults_in_a_full_call(tool: str) -> None:
    """Hindsight's inputSchema and schemas/rules/, as jsonschema reads them."""
    whole = drawn.full_call(tool)
    for left_out in ("tags", "tag_groups"):
        call = {name: value for name, value in whole.items() if name != left_out}
        assert converts(tool, call)
        for arguments in filter(lambda value: isinstance(value, dict), drawn.each_fault(call)):
            assert converts(tool, arguments) is oracle.accepts_arguments(tool, arguments), arguments


def test_exclusive_arguments_are_refused_by_both() -> None:
    """schemas/rules/recall.json."""
    call = {"query": "tea", "tags": [], "tag_groups": []}
    assert not converts("recall", call)
    assert not oracle.accepts_arguments("recall", call)


def test_a_decoder_that_coerces_is_caught() -> None:
    """Ours: a comparison that cannot fail proves nothing."""
    with pytest.raises(AssertionError):
        agreement("get_bank", lambda tool, payload: decodes(tool, payload, strict=False), BRIEF)


def test_a_decoder_that_takes_everything_is_caught() -> None:
    """Ours: a comparison that cannot fail proves nothing."""
    with pytest.raises(AssertionError):
        agreement("retain", lambda _tool, _payload: True, BRIEF)


@pytest.mark.parametrize("deep", [b'{"trace": %s}', b'{"a key of tomorrow": %s}'])
def test_deep_nesting_is_refused_by_both(deep: bytes) -> None:
    """Ours: a nesting bomb must end in an error, never in a crash."""
    bomb = deep % (b"[" * 100_000 + b"]" * 100_000)
    assert not decodes("recall", bomb)
    assert not oracle.accepts_answer("recall", bomb)


def takes(time: str) -> bool:
    """Say whether msgspec takes a time."""
    try:
        return msgspec.convert(time, Timestamp).tzinfo is not None
    except msgspec.ValidationError:
        return False


@SETTINGS
@given(drawn.times())
def test_the_oracle_judges_drawn_times_as_msgspec_does(time: str) -> None:
    """RFC 3339, section 5.6, and msgspec, which also takes an offset without colon."""
    assert oracle.is_timestamp(time) is takes(time)


@pytest.mark.parametrize("time", drawn.HARD_TIMES)
def test_the_oracle_judges_hard_times_as_msgspec_does(time: str) -> None:
    """Ours: msgspec decides, on the times that are put into answers here."""
    assert oracle.is_timestamp(time) is takes(time)


def test_a_time_without_offset_is_refused() -> None:
    """Hindsight 0.4.14 to 1.1.0: servers always send an offset."""
    with pytest.raises(msgspec.ValidationError, match="timezone"):
        msgspec.convert("2025-01-01T00:00:00", Timestamp)
