"""The four attacks of `make fuzz`, for a moment each."""

import json
from pathlib import Path

import fuzz
import pytest
from hypothesis import HealthCheck, Phase, settings

from hindsight_bank.deadline import Deadline

BRIEF = settings(
    max_examples=60,
    derandomize=True,
    deadline=None,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@pytest.mark.parametrize("name", fuzz.ATTACKS)
def test_an_attack_finds_nothing_for_a_moment(name: str) -> None:
    """HTML standard, section 9.2.6; JSON-RPC 2.0; schemas/; ours: what comes is an answer or a BankError."""
    count = fuzz.attack(name, iter([1]), BRIEF)
    assert count > len(fuzz.seeds(name))


@pytest.mark.parametrize("name", fuzz.ATTACKS)
def test_memory_is_given_back(name: str) -> None:
    """Ours: an answer that is over leaves nothing behind."""
    assert fuzz.kept_memory(name) < fuzz.KEPT_BYTES


def test_what_fails_is_found_and_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Ours: an attack that cannot fail proves nothing, and a failure is tried again for ever."""
    monkeypatch.setattr(fuzz, "SEEDS", tmp_path / "seeds.json")
    fuzz.SEEDS.write_text(json.dumps({"framing": ["data: {}\n\n"]}))
    monkeypatch.setattr(fuzz, "events", lambda data: [] if b"event: other" in data else ["{}"])
    with pytest.raises(AssertionError):
        fuzz.attack("framing", iter(range(20)), settings(BRIEF, max_examples=200))
    assert len(fuzz.seeds("framing")) == 2


def test_a_call_that_asks_without_end_is_found() -> None:
    """Ours: the fake server counts; no attack depends on a clock."""
    transport = fuzz.FakeTransport(b"200 application/json -\n{}")
    for _ in range(fuzz.MOST_REQUESTS):
        transport.get((), Deadline("asking", 10))
    with pytest.raises(AssertionError, match="on and on"):
        transport.get((), Deadline("asking", 10))
