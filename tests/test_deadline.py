"""One call's time, on a clock that the test turns."""

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from hindsight_bank import Bank, SettingsError
from hindsight_bank.deadline import Deadline, seconds


class Clock:
    def __init__(self) -> None:
        self.time = 1000.0

    def __call__(self) -> float:
        return self.time


def test_what_is_left_shrinks_to_zero_and_never_below() -> None:
    """Ours: a negative timeout would be an error of the operating system's."""
    clock = Clock()
    deadline = Deadline("recall", 2.0, clock)
    assert deadline.remaining() == 2.0
    clock.time += 1.5
    assert deadline.remaining() == 0.5
    clock.time += 0.5
    assert deadline.remaining() == 0.0
    clock.time += 100
    assert deadline.remaining() == 0.0


def test_no_limit_never_passes_and_waits_a_day_at_a_time() -> None:
    """CPython: time.sleep and socket timeouts overflow at infinity."""
    clock = Clock()
    deadline = Deadline("reflect", math.inf, clock)
    clock.time += 1e12
    assert deadline.remaining() == 86_400.0


@pytest.mark.parametrize("outcome", ["not_sent", "unknown"])
def test_the_error_names_operation_seconds_and_outcome(outcome: Any) -> None:
    """Public reports: hindsight #642, WireStudio #226 (a timeout looked like a flaky server)."""
    error = Deadline("reflect", 0.25, Clock()).error(outcome)
    assert isinstance(error, TimeoutError)
    assert (error.operation, error.seconds, error.outcome) == ("reflect", 0.25, outcome)
    assert "reflect" in str(error)
    assert "0.25 s" in str(error)


@pytest.mark.parametrize(
    ("value", "result"),
    [(None, 60.0), (1, 1.0), (0.3, 0.3), (math.inf, math.inf), (Decimal("1.5"), 1.5), (Fraction(1, 2), 0.5)],
)
def test_a_timeout_is_any_positive_number_and_none_is_the_default(value: Any, result: float) -> None:
    """Ours: None means the default, math.inf no limit."""
    assert seconds("timeout", value, 60.0) == result


@pytest.mark.parametrize(
    "value", [0, -1, math.nan, -math.inf, True, False, "5", b"5", [], 1j, 10**400, Decimal("NaN"), object()]
)
def test_what_is_no_positive_number_is_no_timeout(value: Any) -> None:
    """Public report: hindsight #3590 (a timeout that was read and never used)."""
    with pytest.raises(SettingsError, match=r"^x is a number of seconds greater than 0; math\.inf for no limit$"):
        seconds("x", value, 60.0)
    with pytest.raises(SettingsError, match=r"^timeout is"):
        Bank("http://localhost", "a", timeout=value)
    with pytest.raises(SettingsError, match=r"^connect_timeout is"):
        Bank("http://localhost", "a", connect_timeout=value)
