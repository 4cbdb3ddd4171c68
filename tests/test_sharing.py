"""One bank, many threads, any event loop, and its end."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from conftest import OPENING, OpenBank, Serve, calls
from wire_server import (
    ANSWERS,
    GENERATIONS,
    MEMORY,
    PATIENCE,
    Generation,
    Hindsight,
    Play,
    Request,
    http,
    tool_result,
)

from hindsight_bank import (
    Bank,
    ClosedError,
    ProtocolError,
)


@pytest.mark.parametrize("generation", GENERATIONS)
def test_sixteen_threads_share_a_bank_and_each_has_its_own_answer(
    generation: Generation, serve: Serve, open_bank: OpenBank
) -> None:
    """Public report: vectorize-io/hindsight #1575: they connect once, and nothing is mixed up."""
    together = threading.Barrier(16)
    fake = Hindsight(generation, {"get_memory": lambda request: MEMORY | {"id": request.arguments["memory_id"]}})
    bank = open_bank(server := serve(fake))

    def work(thread: int) -> list[str]:
        together.wait(PATIENCE)
        return [bank.get_memory(f"{thread}-{number}").id for number in range(20)]

    with ThreadPoolExecutor(16) as pool:
        assert list(pool.map(work, range(16))) == [[f"{t}-{n}" for n in range(20)] for t in range(16)]
    assert server.log[: -16 * 20] == [*OPENING[generation], "tools/list", "get_bank"]
    assert server.connections <= 16


def test_a_failure_does_not_cut_what_another_thread_has_in_flight(serve: Serve, open_bank: OpenBank) -> None:
    """Ours: the failed connection ends, and its session with it, after the last call on it."""
    begun, release = threading.Event(), threading.Event()
    fake = Hindsight("stateful", {"get_memory": lambda _: http(b"{")})

    def slow(request: Request) -> Play:
        begun.set()
        return [release, fake.told(request, tool_result(ANSWERS["retain"]))]

    fake.answers["retain"] = slow
    bank = open_bank(server := serve(fake))
    bank.connect()
    with ThreadPoolExecutor(1) as pool:
        retain = pool.submit(bank.retain, "x")
        assert begun.wait(PATIENCE)
        with pytest.raises(ProtocolError):
            bank.get_memory("x")
        bank.list_memories()
        assert server.log.count("initialize") == 2
        assert "session-2" in fake.sessions
        release.set()
        assert retain.result().status == "accepted"
    assert server.requests[-1].label == "DELETE"
    assert fake.sessions == {"session-4"}


def test_a_bank_works_inside_a_running_event_loop(serve: Serve, open_bank: OpenBank) -> None:
    """Public report: vectorize-io/hindsight #677: it blocks, as it says."""
    bank = open_bank(serve(Hindsight()))

    async def main() -> None:
        for call in calls(bank).values():
            call()

    asyncio.run(main())


def test_a_bank_outlives_the_thread_that_made_it(serve: Serve) -> None:
    """Public report: NousResearch/hermes-agent #17226 (a session tied to a dead loop)."""
    server = serve(Hindsight("stateful"))
    with ThreadPoolExecutor(1) as pool:
        bank = pool.submit(lambda: Bank(server.url, "alice").connect()).result()
    bank.recall("x")
    bank.close()


# -- closing -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("connected", [True, False])
def test_a_closed_bank_says_so(connected: bool, serve: Serve) -> None:
    """Public report: vectorize-io/hindsight #1387: closed twice, or before the first call; one session, one DELETE."""
    fake = Hindsight("stateful")
    server = serve(fake)
    bank = Bank(server.url, "alice")
    if connected:
        with bank:
            bank.recall("x")
    bank.close()
    bank.close()
    for call in [*calls(bank).values(), bank.connect, bank.health]:
        with pytest.raises(ClosedError) as caught:
            call()
        assert caught.value.outcome == "not_sent"
    assert server.log.count("DELETE") == 2 * connected
    assert not fake.sessions
    server.wait_until_left()


def test_closing_waits_for_no_call_and_cuts_none(serve: Serve) -> None:
    """Ours: the session ends with the last call in flight."""
    begun, release = threading.Event(), threading.Event()
    fake = Hindsight("stateful")

    def slow(request: Request) -> Play:
        begun.set()
        return [release, fake.told(request, tool_result(ANSWERS["recall"]))]

    fake.answers["recall"] = slow
    server = serve(fake)
    bank = Bank(server.url, "alice")
    with ThreadPoolExecutor(1) as pool:
        recall = pool.submit(bank.recall, "x")
        assert begun.wait(PATIENCE)
        bank.close()
        assert fake.sessions
        release.set()
        recall.result()
    assert server.log[-2:] == ["recall", "DELETE"]
    assert not fake.sessions


def test_a_bank_closed_while_it_connects_leaves_nothing_behind(serve: Serve) -> None:
    """Public report: vectorize-io/hindsight #1387. Ours: the session that came too late is ended."""
    fake = Hindsight("stateful")
    server = serve(fake)
    bank = Bank(server.url, "alice")

    def closing(_: Request) -> None:
        bank.close()

    fake.answers["get_bank"] = closing
    with pytest.raises(ClosedError):
        bank.recall("x")
    assert server.log == [*OPENING["stateful"], "tools/list", "get_bank", "DELETE"]
    assert not fake.sessions
    server.wait_until_left()


def test_an_interrupted_connecting_leaves_nothing_behind(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    """Public report: vectorize-io/hindsight #1387. Ours: Ctrl-C too."""
    fake = Hindsight("stateful")
    server = serve(fake)
    bank = Bank(server.url, "alice")

    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("hindsight_bank.connection.Link.check_bank", interrupted)
    with pytest.raises(KeyboardInterrupt):
        bank.connect()
    assert not fake.sessions
    server.wait_until_left()
