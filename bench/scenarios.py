"""Nine ways in which a synchronous client is really used: `python -m bench.scenarios CLIENT SCENARIO URL`.

Each is a function of a client's recall, made and used once before by the main thread; one that returns was survived.
"""

import asyncio
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any, Final

from bench.peers import SYNCHRONOUS, Recall

_CLIENTS: Final = ("hindsight-bank", "hindsight-client", "mcp portal")
_SECONDS: Final = 10
_inherited: list[Recall] = []


def running_loop(recall: Recall) -> None:
    """Call inside of a running event loop, as notebooks and web handlers do."""

    async def main() -> None:
        recall()

    asyncio.run(main())


def second_thread(recall: Recall) -> None:
    """Call in another thread than the one that made the client."""
    _in_threads(1, recall)


def sixteen_threads(recall: Recall) -> None:
    """Call in many threads at once."""
    _in_threads(16, recall)


def fork_child(recall: Recall) -> None:
    """Call in a forked child while the parent waits."""
    _ended_well(_forked(recall))


def fork_both(recall: Recall) -> None:
    """Call in a forked child and in its parent at once."""
    child = _forked(recall)
    _several(recall)
    _ended_well(child)


def with_gevent(recall: Recall) -> None:
    """Call in many greenlets; everything was patched before the client was made."""
    import gevent

    gevent.joinall([gevent.spawn(_several, recall) for _ in range(16)], raise_error=True)


def twice_asyncio_run(recall: Recall) -> None:
    """Call inside of one event loop and then of another."""
    running_loop(recall)
    running_loop(recall)


def to_thread(recall: Recall) -> None:
    """Call through asyncio.to_thread, several at once."""

    async def main() -> None:
        await asyncio.gather(*(asyncio.to_thread(recall) for _ in range(4)))

    asyncio.run(main())


def process_pool(recall: Recall) -> None:
    """Call in the workers of a process pool that inherited the client."""
    _inherited.append(recall)
    with ProcessPoolExecutor(2, mp_context=get_context("fork")) as pool:
        list(pool.map(_pooled, range(4)))


SCENARIOS: Final[dict[str, Callable[[Recall], None]]] = {
    "running loop": running_loop,
    "second thread": second_thread,
    "16 threads": sixteen_threads,
    "fork, child": fork_child,
    "fork, both": fork_both,
    "gevent": with_gevent,
    "asyncio.run twice": twice_asyncio_run,
    "asyncio.to_thread": to_thread,
    "process pool": process_pool,
}


def survived(url: str) -> dict[str, dict[str, bool]]:
    """Play each scenario with each client, in processes of their own."""
    from bench.environments import GEVENT, HOMES, ROOT, variables

    table: dict[str, dict[str, bool]] = {}
    for client in _CLIENTS:
        for scenario in SCENARIOS:
            print(f"scenario, {scenario}, {client}", file=sys.stderr)
            command = [HOMES[client].python, "-m", "bench.scenarios", client, scenario, url]
            path = f"{ROOT}{os.pathsep}{GEVENT}"
            process = subprocess.Popen(
                command, env=variables(PYTHONPATH=path), stderr=subprocess.DEVNULL, start_new_session=True
            )
            try:
                ended = process.wait(_SECONDS)
            except subprocess.TimeoutExpired:
                ended = -1
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            table.setdefault(client, {})[scenario] = ended == 0
    return table


def _several(recall: Recall) -> None:
    for _ in range(10):
        recall()


def _pooled(_: int) -> None:
    _several(_inherited[0])


def _in_threads(count: int, recall: Recall) -> None:
    failures: list[BaseException] = []

    def some() -> None:
        try:
            _several(recall)
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=some) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def _forked(recall: Recall) -> int:
    child = os.fork()
    if not child:
        signal.alarm(_SECONDS // 2)
        status = 1
        try:
            _several(recall)
            status = 0
        finally:
            os._exit(status)
    return child


def _ended_well(child: int) -> None:
    _, status = os.waitpid(child, 0)
    if status:
        raise ChildProcessError(status)


def _main(client: str, scenario: str, url: str) -> None:
    with SYNCHRONOUS[client](url, "modern-1024") as recall:
        recall()
        SCENARIOS[scenario](recall)


if __name__ == "__main__":
    arguments: Any = sys.argv[1:]
    if arguments[1] == "gevent":
        from gevent import monkey

        monkey.patch_all()
    _main(*arguments)
