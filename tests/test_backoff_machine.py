"""The backing off as a state machine: any sequence of calls, failures and waits, against a model of it."""

import random
from functools import cached_property
from typing import Any

import pytest
from clock import Clock, recall
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from hindsight_bank import (
    AnswerLostError,
    BankError,
    ToolError,
    UnreachableError,
)
from hindsight_bank.binding import Binding
from hindsight_bank.connecting import Options
from hindsight_bank.connection import Connection
from hindsight_bank.deadline import Deadline
from hindsight_bank.link import Link
from hindsight_bank.session import Client
from hindsight_bank.toolset import SIX
from hindsight_bank.transport import Limits


class _Link(Link):
    """A link, and its own endpoint, whose calls end as told and which counts how often it is closed."""

    def __init__(self) -> None:
        super().__init__(self, SIX, {}, "")  # type: ignore[arg-type]  # all of an endpoint that is used
        self.bank_seen = True
        self.ending: BankError | None = None
        self.closed = 0

    def call(self, tool: str, given: Any, deadline: Deadline) -> Any:  # noqa: ARG002 - the link's signature
        if self.ending:
            raise self.ending

    def close(self, seconds: float = 0) -> None:  # noqa: ARG002 - the endpoint's signature
        self.closed += 1


class _Connection(Connection):
    """A connection that remembers its links, and that can be kept from making one."""

    can_connect = True

    def _connect(self, deadline: Deadline) -> Link:  # noqa: ARG002 - the connection's signature
        if self.can_connect:
            self.links.append(_Link())
            return self.links[-1]
        error = UnreachableError("no")
        self._fail(None, error)
        raise error

    @cached_property
    def links(self) -> list[_Link]:
        return []


class BackoffMachine(RuleBasedStateMachine):
    """Any sequence of calls, failures and waits, against a model of two numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = Clock()
        how = Options(client=Client("test", "1"), limits=Limits())
        dice = random.Random(0).random  # noqa: S311 - dice
        self.connection = _Connection(Binding("http://localhost", "alice"), how, new_backoff=self.clock.backoff(dice))
        self.failures, self.connected = 0, False

    def call(self, seconds: float = 1000) -> None:
        recall(self.connection, seconds)

    @rule()
    def succeed(self) -> None:
        before = len(self.clock.slept)
        self.connection.can_connect = True
        self.call()
        assert len(self.clock.slept) - before <= (not self.connected)
        self.failures, self.connected = 0, True

    @precondition(lambda self: self.connected)
    @rule(doubtful=st.booleans())
    def fail_on_the_link(self, *, doubtful: bool) -> None:
        ending = AnswerLostError("cut") if doubtful else ToolError("no")
        self.connection.links[-1].ending = ending
        with pytest.raises(type(ending)):
            self.call()
        self.connection.links[-1].ending = None
        if doubtful:
            self.failures, self.connected = self.failures + 1, False

    @precondition(lambda self: not self.connected)
    @rule()
    def fail_to_connect(self) -> None:
        self.connection.can_connect = False
        with pytest.raises(UnreachableError):
            self.call()
        self.failures += 1

    @rule(seconds=st.floats(0, 40))
    def let_time_pass(self, seconds: float) -> None:
        self.clock.time += seconds

    @invariant()
    def the_delay_is_within_its_bounds(self) -> None:
        left = self.connection._backoff.delay()
        assert left <= min(0.5 * 2 ** max(self.failures - 1, 0), 8)
        assert all(0 < slept <= 30 for slept in self.clock.slept)

    @invariant()
    def a_link_is_closed_once_when_it_is_retired(self) -> None:
        for link in self.connection.links:
            assert link.closed == (link is not self.connection._link)
            assert not link.holds


BackoffMachine.TestCase.settings = settings(max_examples=50, stateful_step_count=30, deadline=None)
TestBackoff = BackoffMachine.TestCase
