"""Interrupts: a signal handler that raises, anywhere in a call. What comes after works or is an error, and ends."""

import dis
import gc
import os
import random
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, Self
from unittest.mock import Mock

import httpx
import pytest
from conftest import OpenBank, Serve
from wire_server import GENERATIONS, MEMORY, PATIENCE, Generation, Hindsight, Play, Request, tool_result

import hindsight_bank
from hindsight_bank import Bank, BankError
from hindsight_bank.backoff import Backoff
from hindsight_bank.deadline import Deadline

ROOMS = tuple(str(Path(str(package.__file__)).parent) for package in (hindsight_bank, httpx))
INTERRUPTS = 60


class Alarm(Exception):  # noqa: N818 - as a caller may name it
    """What a caller's own signal handler raises."""


class Interrupter:
    """Raises KeyboardInterrupt at the moment of that number, in our code and httpx's.

    A moment is where CPython looks for signals: after a call, at the beginning of a function, at the end of a round.
    """

    def __init__(self, moment: int | None) -> None:
        self.moments = 0
        self._moment = moment
        self._looks: dict[FrameType, bool] = {}

    def __call__(self, frame: FrameType, event: str, _: Any) -> Any:
        if not frame.f_code.co_filename.startswith(ROOMS):
            return None
        frame.f_trace_opcodes = True
        frame.f_trace_lines = False
        if event == "opcode":
            looked, self._looks[frame] = self._looks.get(frame), looks(frame.f_code)[frame.f_lasti]
            self.moments += bool(looked)
            if looked and self.moments == self._moment:
                raise KeyboardInterrupt
        return self

    def __enter__(self) -> Self:
        self._before = sys.gettrace()
        sys.settrace(self)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(self._before)


@cache
def looks(code: CodeType) -> list[bool]:
    """Tell of each bytecode whether CPython looks for signals after it."""
    return [dis.opname[op].startswith(("CALL", "RESUME", "JUMP_BACKWARD")) for op in code.co_code]


def echoing(generation: Generation) -> Hindsight:
    return Hindsight(generation, {"get_memory": lambda request: MEMORY | {"id": request.arguments["memory_id"]}})


def in_time(work: Callable[[], object]) -> None:
    """Do something in another thread, which fails the test where it hangs or fails."""
    faults: list[BaseException] = []

    def guarded() -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - to the test's own thread
            faults.append(error)

    thread = threading.Thread(target=guarded, daemon=True)
    thread.start()
    thread.join(PATIENCE)
    assert not thread.is_alive(), stack_of(thread)
    assert not faults, faults


def stack_of(thread: threading.Thread) -> str:
    """Return where a thread hangs."""
    return "".join(traceback.format_stack(sys._current_frames().get(thread.ident or 0)))


def own(bank: Bank, name: str) -> None:
    """Ask for something of one's own; an error is an answer too, that of somebody else is not."""
    with suppress(BankError):
        assert bank.get_memory(name, timeout=PATIENCE / 2).id == name


def moments_of(work: Callable[[], object]) -> int:
    with Interrupter(None) as interrupter:
        work()
    return interrupter.moments


@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")  # a socket interrupted in its making
@pytest.mark.parametrize("generation", GENERATIONS)
@pytest.mark.parametrize("cold", [True, False], ids=["connecting", "connected"])
def test_after_an_interrupt_at_any_moment_calls_go_on(
    cold: bool, generation: Generation, serve: Serve, open_bank: OpenBank
) -> None:
    """CPython, signal: a handler may raise wherever it looks for signals.

    Ours: no lock stays held and no answer is crossed, while another thread calls on the same connection.
    """
    chance = random.Random(f"{generation}/{cold}")  # noqa: S311 - the same moments each time
    server = serve(echoing(generation))
    first = open_bank(server)
    moments = moments_of(lambda: first.get_memory("x")) or 1000  # Python 3.12.1 traces no bytecode the first time
    moments = moments if cold else moments_of(lambda: first.get_memory("x"))
    over = threading.Event()
    beside = open_bank(server)

    def work() -> None:
        number = 0
        while not over.is_set():
            own(beside, f"beside-{(number := number + 1)}")

    worker = threading.Thread(target=work, daemon=True)
    worker.start()
    interrupted = 0
    for number in range(INTERRUPTS):
        bank = open_bank(server) if cold else beside
        try:
            with Interrupter(chance.randrange(1, moments + 1)) as interrupter:
                own(bank, f"interrupted-{number}")
            moments = interrupter.moments  # a call that is over before its moment has fewer than the first one had
        except KeyboardInterrupt:
            interrupted += 1
        in_time(lambda bank=bank, number=number: own(bank, f"elsewhere-{number}"))  # type: ignore[misc]
        own(bank, f"here-{number}")
        if cold:
            in_time(bank.close)
    assert interrupted > INTERRUPTS / 2
    over.set()
    worker.join(PATIENCE)
    assert not worker.is_alive(), stack_of(worker)
    in_time(beside.close)
    gc.collect()  # here, where the warning is expected


def test_an_interrupted_wait_for_the_next_connection_holds_up_nobody() -> None:
    """CPython, threading: an interrupted Event can stay locked; ours: closing wakes who waits, and ends."""
    backoff, deadline = failed(), Deadline("recall", PATIENCE)
    moments = moments_of(lambda: backoff.wait(deadline))
    for moment in range(1, moments + 1):
        backoff = failed()
        with pytest.raises(KeyboardInterrupt), Interrupter(moment):
            backoff.wait(deadline)
        in_time(backoff.end)
        in_time(lambda backoff=backoff: backoff.wait(Deadline("recall", PATIENCE)))  # type: ignore[misc]


def failed() -> Backoff:
    backoff = Backoff(jitter=lambda: -0.96)  # 10 ms
    backoff.failed()
    return backoff


@pytest.mark.parametrize("kind", [KeyboardInterrupt, Alarm])
def test_an_interrupted_call_is_not_on_the_wire_any_more_when_the_next_begins(
    kind: type[BaseException], serve: Serve, open_bank: OpenBank
) -> None:
    """Ours: the caller gets what the handler raised; an answer that comes late is nobody's, its connection not used."""
    release = threading.Event()
    fake = echoing("modern")

    def recall(request: Request) -> Play:
        os.kill(os.getpid(), signal.SIGINT)
        return [release, fake.told(request, tool_result({"results": []}))]

    fake.answers["recall"] = recall
    bank = open_bank(server := serve(fake)).connect()
    usual = signal.signal(signal.SIGINT, Mock(side_effect=kind))
    try:
        with pytest.raises(kind):
            bank.recall("x")
    finally:
        signal.signal(signal.SIGINT, usual)
    release.set()
    assert bank.get_memory("mine").id == "mine"
    interrupted, *_, after = server.requests[2:]
    assert interrupted.label == "recall"
    assert after.connection != interrupted.connection
