"""Warm calls: every client in its own process, one at a time, in turn, round after round."""

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from statistics import median, quantiles
from typing import Any, Final, Self

from bench.answers import SIZES, bank
from bench.environments import HOMES, OURS, variables

FLOOR: Final = "httpx"
# Of one round.
_CALLS: Final = {"1 KiB": 100, "64 KiB": 40, "1 MiB": 5, "10 MiB": 1}
_ROUNDS: Final = {"1 KiB": 9, "64 KiB": 9, "1 MiB": 6, "10 MiB": 4}
# Seconds for one command.
_PATIENCE: Final = 20.0
_STREAMS: Final = ("hindsight-bank", "mcp")
_THREADS: Final = (1, 4, 16)
_THREADED: Final = ("hindsight-bank", FLOOR, "hindsight-client", "mcp portal")


class Worker:
    """A client in a process of its own."""

    def __init__(self, name: str, url: str) -> None:
        self.name = name
        command = [HOMES[name].python, "-m", "bench.peers", name, url]
        pipe, null = subprocess.PIPE, subprocess.DEVNULL
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=null, text=True, env=variables())

    def ask(self, *command: Any) -> Any:
        """Have a command done; None where the client failed or hung, and then the worker is gone."""
        if self._process.poll() is not None or self._process.stdin is None or self._process.stdout is None:
            return None
        patience = threading.Timer(_PATIENCE, self._process.kill)
        patience.start()
        with suppress(BrokenPipeError):
            self._process.stdin.write(json.dumps(command) + "\n")
            self._process.stdin.flush()
        line = self._process.stdout.readline()
        patience.cancel()
        return json.loads(line) if line else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()


@contextmanager
def null_server() -> Iterator[str]:
    """Run the null server and yield its URL."""
    command = [OURS.python, "-m", "bench.server"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=variables())
    try:
        yield process.stdout.readline().strip() if process.stdout else ""
    finally:
        process.kill()
        process.communicate()


def warm(url: str, scale: int) -> dict[str, dict[str, Any]]:
    """Time recalls of every size, as JSON and as event streams, all in the same rounds."""
    clients = [("modern", name) for name in HOMES] + [("legacy", name) for name in _STREAMS]
    tables: dict[str, dict[str, Any]] = {}
    with ExitStack() as stack:
        workers = [(stack.enter_context(Worker(name, url)), generation) for generation, name in clients]
        for label, size in SIZES.items():
            print(f"recall, {label}", file=sys.stderr)
            rounds = _interleaved(workers, size, _CALLS[label], scale * _ROUNDS[label])
            for (generation, name), took in zip(clients, rounds, strict=True):
                tables.setdefault(f"{label} {generation}", {})[name] = _summary(took)
    for label in SIZES:
        floor = tables[f"{label} modern"][FLOOR]
        for generation in ("modern", "legacy"):
            for summary in tables[f"{label} {generation}"].values():
                _compare(summary, floor)
    return tables


def _interleaved(workers: list[tuple[Worker, str]], size: int, calls: int, rounds: int) -> list[list[list[float]]]:
    took: list[list[list[float]]] = [[] for _ in workers]
    for number in range(rounds):
        for turn in range(len(workers)):
            place = (number + turn) % len(workers)
            worker, generation = workers[place]
            if seconds := worker.ask("calls", bank(generation, size), calls):
                took[place].append(seconds)
    return took


def _summary(rounds: list[list[float]]) -> dict[str, Any]:
    """Return the best and the median of all calls, and each round's median."""
    calls = [seconds for took in rounds for seconds in took]
    if not calls:
        return {"best": None, "median": None, "rounds": []}
    return {"best": min(calls), "median": median(calls), "rounds": [median(took) for took in rounds]}


def _compare(summary: dict[str, Any], floor: dict[str, Any]) -> None:
    """Add the ratios to the floor: of the best, and of each round's median the middle half."""
    if summary["best"] is None:
        return
    summary["ratio"] = summary["best"] / floor["best"]
    ratios = [ours / theirs for ours, theirs in zip(summary["rounds"], floor["rounds"], strict=False)]
    low, middle, high = quantiles(ratios, n=4)
    summary |= {"ratio_median": middle, "ratio_spread": [low, high]}


def threads(url: str, scale: int) -> dict[str, dict[int, float | None]]:
    """Return the calls per second that threads make together on one client, the best of several rounds."""
    best: dict[str, dict[int, float | None]] = {name: dict.fromkeys(_THREADS) for name in _THREADED}
    for _ in range(2 * scale):
        for count in _THREADS:
            print(f"threads, {count}", file=sys.stderr)
            for name in _THREADED:
                with Worker(name, url) as worker:
                    took = worker.ask("threads", bank("modern", 1024), 640, count)
                if took:
                    best[name][count] = max(best[name][count] or 0.0, 640 / took)
    return best


def memory(url: str) -> dict[str, int | None]:
    """Return by how many bytes a recall of 10 MiB raises the peak of memory, the least of three processes."""
    grown: dict[str, int | None] = {}
    for name in ("hindsight-bank", FLOOR, "http.client", "hindsight-client", "mcp portal"):
        sizes = []
        for _ in range(3):
            with Worker(name, url) as worker:
                worker.ask("memory", bank("modern", SIZES["1 KiB"]))
                sizes.append(worker.ask("memory", bank("modern", SIZES["10 MiB"])))
        grown[name] = min((size for size in sizes if size is not None), default=None)
    return grown
