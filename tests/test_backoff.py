"""Failed, retired, backing off, open again: with a clock and dice of our own."""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import pytest
from clock import Clock, recall
from conftest import Serve
from wire_server import (
    EVENTS,
    PATIENCE,
    Hindsight,
    Move,
    Play,
    Request,
    WireServer,
    encoded,
    error,
    http,
    result,
    tool_result,
)

from hindsight_bank import (
    AnswerError,
    AnswerLostError,
    BackingOffError,
    BankError,
    ClosedError,
    DeadlineError,
    ProtocolError,
    RPCError,
    StatusError,
    ToolError,
    UnauthorizedError,
    UnreachableError,
)
from hindsight_bank.backoff import Backoff
from hindsight_bank.binding import Binding
from hindsight_bank.connecting import Options
from hindsight_bank.connection import Connection
from hindsight_bank.deadline import Deadline
from hindsight_bank.session import Client
from hindsight_bank.transport import Limits

Connect = Callable[..., Connection]


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def connect(clock: Clock) -> Iterator[Connect]:
    """Make connections on that clock to scripted servers, closed with the test."""
    with ExitStack() as stack:

        def make(server: WireServer, **options: Any) -> Connection:
            how = Options(client=Client("test", "1"), limits=Limits(), **options)
            binding = Binding(server.url, "alice")
            connection = Connection(binding, how, new_backoff=clock.backoff(clock.throw))
            stack.callback(connection.close)
            return connection

        yield make


def fail(connection: Connection, kind: type[BankError] = StatusError) -> Any:
    with pytest.raises(kind) as caught:
        recall(connection)
    return caught.value


def broken(value: Any) -> Callable[[Request], bytes]:
    return lambda request: http(encoded(result(request, tool_result(value, resultType="complete"))))


# -- which failures count ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("play", "kind"),
    [
        (lambda _: [Move.CLOSE], AnswerLostError),
        (lambda _: [Move.RESET], AnswerLostError),
        (lambda _: http(b"", EVENTS), AnswerLostError),
        (lambda _: http(b"{"), ProtocolError),
        (lambda _: http(b"<html>", "text/html"), ProtocolError),
        (lambda _: http(status=202), ProtocolError),
        (broken({"results": None}), AnswerError),
        (broken({}), AnswerError),
        *((lambda _, status=status: http(status=status), StatusError) for status in (429, 500, 502, 503, 504)),
        (lambda _: http(encoded(error(-32603, "x")), status=503), StatusError),
    ],
)
def test_a_failure_that_casts_doubt_retires_the_connection(
    play: Callable[[Request], Play], kind: type[BankError], clock: Clock, serve: Serve, connect: Connect
) -> None:
    """Ours: everything learned is forgotten, and the next connection waits its turn."""
    fake = Hindsight("modern")
    connection = connect(server := serve(fake))
    recall(connection)
    fake.answers["recall"] = play
    fail(connection, kind)
    del fake.answers["recall"], server.requests[:]
    recall(connection)
    assert clock.slept == [0.5]
    assert server.log == ["tools/list", "get_bank", "recall"]


@pytest.mark.parametrize(
    ("play", "kind"),
    [
        (broken({"error": "no"}), ToolError),
        *((lambda _, status=status: http(status=status), UnauthorizedError) for status in (401, 403)),
        *((lambda _, status=status: http(status=status), StatusError) for status in (404, 409, 413)),
        (lambda _: http(encoded(error(-32602, "x")), status=400), RPCError),
        (lambda request: http(encoded(error(-32602, "x", request.id))), RPCError),
        (lambda _: [Move.HANG], DeadlineError),
    ],
)
def test_what_was_said_on_purpose_or_took_too_long_does_not(
    play: Callable[[Request], Play], kind: type[BankError], clock: Clock, serve: Serve, connect: Connect
) -> None:
    """Public report: modelcontextprotocol/python-sdk #1295: a ToolError, 401, 403, 404, the caller's own deadline."""
    fake = Hindsight("stateless")
    connection = connect(server := serve(fake))
    recall(connection)
    fake.answers["recall"] = play
    with pytest.raises(kind):
        recall(connection, 0.3 if kind is DeadlineError else 1000)
    del fake.answers["recall"], server.requests[:]
    recall(connection)
    assert clock.slept == []
    assert server.log == ["recall"]


# -- how long ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("die", [0.0, 0.5, 1.0])
def test_delays_double_from_half_a_second_to_eight_and_are_jittered(
    die: float, clock: Clock, serve: Serve, connect: Connect
) -> None:
    """Ours: the first is 0.5 s at most; never less than half of what it could be; none beyond a timeout of 10 s."""
    clock.die = die
    connection = connect(server := serve(lambda _: http(status=500)))
    for _ in range(10):
        fail(connection)
    share = 0.5 + die / 2
    assert clock.slept == pytest.approx([share * most for most in (0.5, 1, 2, 4, 8, 8, 8, 8, 8)])
    assert server.log == ["tools/list"] * 10


def test_a_success_resets_the_delays(clock: Clock, serve: Serve, connect: Connect) -> None:
    """Ours: a server that answers again is a healthy one."""
    fake = Hindsight("stateful")
    connection = connect(server := serve(fake))
    for _ in range(2):
        server.script = lambda _: http(status=500)
        for _ in range(3):
            fail(connection)
        server.script = fake
        recall(connection)
    assert clock.slept == [0.5, 1.0, 2.0] * 2


@pytest.mark.parametrize(
    ("value", "delay"),
    [
        *(("7", 7.0), ("0", 0.5), ("0.1", 0.5), ("99999999", 30.0), ("soon", 0.5), ("-5", 0.5)),
        *(("Fri, 31 Dec 2399 23:59:59 GMT", 30.0), ("Wed, 21 Oct 2015 07:28:00 GMT", 0.5)),
    ],
)
@pytest.mark.parametrize("status", [429, 503])
def test_a_server_may_ask_for_a_longer_delay(
    status: int, value: str, delay: float, clock: Clock, serve: Serve, connect: Connect
) -> None:
    """RFC 9110, 10.2.3, "Retry-After": in seconds, as a date, nonsense and huge. Ours: capped."""
    fake = Hindsight()
    refusal = http(status=status, headers={"retry-after": value})
    plays = iter([refusal])
    connection = connect(serve(lambda request: next(plays, None) or fake(request)))
    assert fail(connection).status == status
    recall(connection)
    assert clock.slept == [delay]


def test_a_server_that_is_not_there_is_asked_less_and_less(clock: Clock, serve: Serve, connect: Connect) -> None:
    """Ours: a refused connection feeds the same clock."""
    server = serve(Hindsight())
    server.close()
    connection = connect(server)
    for _ in range(4):
        assert fail(connection, UnreachableError).outcome == "not_sent"
    assert clock.slept == [0.5, 1.0, 2.0]


# -- who waits ---------------------------------------------------------------------------------------------------------


def test_a_bank_may_raise_instead_of_waiting(clock: Clock, serve: Serve, connect: Connect) -> None:
    """Ours: nothing is sent, and the error says when."""
    fake = Hindsight()
    plays = iter([http(status=500)])
    server = serve(lambda request: next(plays, None) or fake(request))
    connection = connect(server, backoff="raise")
    fail(connection)
    for passed, left in ((0.0, 0.5), (0.4, 0.1)):
        clock.time += passed
        backing_off = fail(connection, BackingOffError)
        assert backing_off.retry_after == pytest.approx(left)
        assert backing_off.outcome == "not_sent"
    assert server.log == ["tools/list"]
    clock.time += 0.2
    recall(connection)
    assert clock.slept == []


def test_a_delay_that_does_not_fit_the_deadline_is_not_waited_for(clock: Clock, serve: Serve, connect: Connect) -> None:
    """Ours: a caller should not wait for what cannot come in time."""
    connection = connect(server := serve(lambda _: http(status=500)))
    fail(connection)
    with pytest.raises(BackingOffError) as caught:
        recall(connection, 0.4)
    assert caught.value.retry_after == pytest.approx(0.5)
    assert caught.value.outcome == "not_sent"
    assert clock.slept == []
    assert len(server.requests) == 1


def test_each_thread_waits_within_its_own_deadline(clock: Clock, serve: Serve, connect: Connect) -> None:
    """Ours: one that sleeps does not hold up one that cannot wait."""
    asleep, release = threading.Event(), threading.Event()
    fake = Hindsight()
    plays = iter([http(status=500)])
    server = serve(lambda request: next(plays, None) or fake(request))
    connection = connect(server)
    fail(connection)

    def wait() -> None:
        asleep.set()
        assert release.wait(PATIENCE)

    clock.while_asleep = wait
    with ThreadPoolExecutor(1) as pool:
        patient = pool.submit(recall, connection)
        assert asleep.wait(PATIENCE)
        with pytest.raises(BackingOffError):
            recall(connection, 0.4)
        release.set()
        patient.result()
    assert server.log == ["tools/list", "tools/list", "get_bank", "recall"]


def test_threads_that_waited_together_connect_once(clock: Clock, serve: Serve, connect: Connect) -> None:
    """Ours: a server that comes back is not met by all of them at once."""
    together = threading.Barrier(8)
    fake = Hindsight("stateful")
    plays = iter([http(status=500)])
    connection = connect(server := serve(lambda request: next(plays, None) or fake(request)))
    fail(connection)
    clock.while_asleep = lambda: together.wait(PATIENCE)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: recall(connection), range(8)))
    assert server.log.count("initialize") == 1
    assert server.log.count("get_bank") == 1


def test_a_thread_that_waited_for_a_connecting_that_failed_waits_again(
    clock: Clock, serve: Serve, connect: Connect
) -> None:
    """Ours: the failure that it waited for counts for it too."""
    connecting, release = threading.Event(), threading.Event()
    fake = Hindsight()

    def slowly_fail(_: Request) -> Play:
        connecting.set()
        return [release, http(status=500)]

    fake.answers["tools/list"] = slowly_fail
    connection = connect(serve(fake))
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(fail, connection)
        assert connecting.wait(PATIENCE)
        second = pool.submit(recall, connection)
        clock.while_asleep = fake.answers.clear
        time.sleep(0.1)  # most likely it waits by now; if it does not, it waits all the same
        release.set()
        first.result()
        second.result()
    assert clock.slept == [0.5]


def test_calls_that_fail_together_count_once(clock: Clock, serve: Serve, connect: Connect) -> None:
    """Ours: eight answers cut by one restart are one failure."""
    together = threading.Barrier(8)
    fake = Hindsight()
    connection = connect(server := serve(fake))
    recall(connection)

    def cut(_: Request) -> Play:
        together.wait(PATIENCE)
        return [Move.CLOSE]

    def retain(_: int) -> None:
        with pytest.raises(AnswerLostError):
            connection.call("retain", {"content": "x"}, Deadline("retain", 1000))

    fake.answers["retain"] = cut
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(retain, range(8)))
    recall(connection)
    assert clock.slept == [0.5]
    assert server.log == ["tools/list", "get_bank", "recall", *["retain"] * 8, "tools/list", "get_bank", "recall"]


def test_closing_ends_the_waiting(clock: Clock, serve: Serve, connect: Connect) -> None:
    """Public report: vectorize-io/hindsight #1387 (no way to close). Ours: nothing is sent after close."""
    connection = connect(server := serve(lambda _: http(status=500)))
    fail(connection)
    clock.while_asleep = connection.close
    fail(connection, ClosedError)
    assert len(server.requests) == 1


def test_closing_wakes_who_waits_for_the_next_connection() -> None:
    """Ours: a bank that is closed makes no connection to wait for."""
    backoff = Backoff(jitter=lambda: 1.0)
    backoff.failed(retry_after=30)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(backoff.wait, Deadline("recall", 60))
        backoff.end()
        waiting.result(PATIENCE)
