"""Kill a real server at random moments under load: `PYTHONPATH=tests python -m kill`.

ROUNDS, SEED and PROTOCOL ("modern", or "legacy" for sessions, which the server forgets) are set in the environment.

Sixteen threads share one Bank while the server gets SIGKILL and comes back, round after round. What must hold:

* every call ends in a result or a `BankError`, within its deadline; no thread hangs;
* no memory is there twice, and none of a retain that was not sent or was refused;
* every retain with a receipt is there once the queue is empty. The server owns the text from then on: what it lost is
  reported, and is no fault of the client.

Every other retain has a document id. The rest has none, so that sending one twice would show as two memories.

What ends it early (Ctrl-C, SIGTERM, a server that does not come back) is a fault, and the rest is judged all the same.
"""

import faulthandler
import os
import random
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path

from harness.processes import HarnessError
from harness.server import Options, Server
from hindsight_bank import Bank, BankError

THREADS = 16
TIMEOUTS = (10.0, 10.0, 10.0, 2.0, 0.3)  # seconds; one is drawn for each call
SLACK = 2.0  # seconds that a call may overrun its deadline: 0.25 to be polite, the rest for a busy machine
LOAD_SECONDS = (0.5, 3.0)  # from the first result after a start to the kill
RECOVERY_SECONDS = 90.0  # the longest backoff is 8, or 30 at the server's wish
DRAIN_SECONDS = 120.0
QUIET_SECONDS = 5.0
TOOLS = {"retain": 8, "recall": 4, "list_memories": 4, "get_memory": 4, "get_bank": 3, "reflect": 1}
RESULT = "result"


class Load:
    """What the threads do, and what came of it."""

    def __init__(self, bank: Bank, seed: int) -> None:
        self.counts: Counter[tuple[str, str]] = Counter()
        self.retained: dict[str, str] = {}
        """Each text, and what came of its retain."""
        self.faults: list[str] = []
        self.longest_overrun = 0.0
        self.results = 0
        self.rounds = 0
        self._bank = bank
        self._ids: list[str] = []
        self._numbers = count(1)
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._threads = [
            threading.Thread(target=self._work, args=(random.Random(f"{seed}/{n}"),), name=f"load-{n}", daemon=True)  # noqa: S311 - repeatable, not secret
            for n in range(THREADS)
        ]

    def start(self) -> None:
        """Begin."""
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Begin no more calls and wait for those in flight; say where a thread hangs."""
        self._over.set()
        deadline = time.monotonic() + max(TIMEOUTS) + SLACK
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))
        hung = [thread.name for thread in self._threads if thread.is_alive()]
        if hung:
            faulthandler.dump_traceback(all_threads=True)
            self.faults.append(f"hung: {', '.join(hung)}")

    def flows(self) -> None:
        """Wait until another call has ended in a result."""
        before, deadline = self.results, time.monotonic() + RECOVERY_SECONDS
        while self.results == before:
            if time.monotonic() > deadline:
                self.faults.append(f"no result within {RECOVERY_SECONDS:.0f} s from a healthy server")
                return
            time.sleep(0.01)

    def _work(self, chance: random.Random) -> None:
        while not self._over.is_set():
            [tool] = chance.choices(list(TOOLS), list(TOOLS.values()))
            timeout = chance.choice(TIMEOUTS)
            began = time.monotonic()
            ended = self._one(tool, timeout, chance)
            overrun = time.monotonic() - began - timeout
            with self._lock:
                self.counts[tool, ended] += 1
                self.results += ended == RESULT
                self.longest_overrun = max(self.longest_overrun, overrun)
                if overrun > SLACK:
                    self.faults.append(f"{tool} ended {overrun:.1f} s after its deadline of {timeout} s: {ended}")
            if ended != RESULT:
                self._over.wait(chance.uniform(0.0, 0.3))

    def _one(self, tool: str, timeout: float, chance: random.Random) -> str:
        """Make one call and say how it ended."""
        number = next(self._numbers)
        text = f"Note {number} says that parcel {chance.getrandbits(40):010x} has arrived."
        if tool == "retain":
            self.retained[text] = "in flight"
        try:
            self._call(tool, timeout, text, f"note-{number}" if number % 2 else None)
        except BankError as error:
            ended = f"{type(error).__name__} {error.outcome}"
            outcome: str = error.outcome
        except BaseException as error:  # noqa: BLE001 - whatever it is, it is what this looks for
            ended, outcome = f"FAULT {type(error).__name__}", "unknown"
            self.faults.append(f"{tool} raised {error!r}")
        else:
            ended, outcome = RESULT, "accepted"
        if tool == "retain":
            self.retained[text] = outcome
        return ended

    def _call(self, tool: str, timeout: float, text: str, document_id: str | None) -> None:
        bank, ids = self._bank, self._ids
        match tool:
            case "retain":
                bank.retain(text, document_id=document_id, timeout=timeout)
            case "recall":
                self._ids = [fact.id for fact in bank.recall(text, max_tokens=500, timeout=timeout).results] or ids
            case "list_memories":
                self._ids = [item.id for item in bank.list_memories(limit=20, timeout=timeout).items] or ids
            case "get_memory" if ids:
                bank.get_memory(ids[len(text) % len(ids)], timeout=timeout)
            case "reflect":
                bank.reflect(text, timeout=timeout)
            case _:
                bank.get_bank(timeout=timeout)


def stored(bank: Bank, awaited: set[str]) -> Counter[str]:
    """Return the texts of all world facts once the awaited ones are there and nothing more comes, or time is up."""
    end = time.monotonic() + DRAIN_SECONDS
    texts, changed = Counter[str](), time.monotonic()
    while time.monotonic() < end and (awaited - texts.keys() or time.monotonic() < changed + QUIET_SECONDS):
        now = Counter(item.text for item in bank.iter_memories(type="world", page_size=500))
        if now != texts:
            texts, changed = now, time.monotonic()
        time.sleep(1.0)
    return texts


def judge(load: Load, texts: Counter[str]) -> None:
    """Compare what the bank holds with what became of the retains; print it and add to the faults."""
    held: dict[str, list[str]] = {}
    for text, ended in load.retained.items():
        held.setdefault(ended, []).append(text)
    for ended, those in sorted(held.items()):
        sys.stdout.write(f"retains {ended}: {len(those)}, of them stored: {sum(text in texts for text in those)}\n")
    lost = [text for text in held.get("accepted", ()) if text not in texts]
    report("accepted, but lost by the server", lost)
    twice = [text for text, times in texts.items() if times > 1]
    never = [text for ended in ("not_sent", "refused") for text in held.get(ended, ()) if text in texts]
    strange = [text for text in texts if text not in load.retained]
    for what, those in ("stored twice", twice), ("not sent or refused, yet stored", never), ("not ours", strange):
        report(what, those)
        if those:
            load.faults.append(f"{what}: {len(those)}")


def report(what: str, texts: Sequence[str]) -> None:
    """Print how many texts there are of a kind, and which."""
    sys.stdout.write(f"{what}: {len(texts)}\n" + "".join(f"    {text}\n" for text in texts))


def table(counts: Counter[tuple[str, str]]) -> None:
    """Print how the calls ended: a line for each way, a column for each tool."""
    sys.stdout.write(f"\n{'':32}" + "".join(f"{tool:>14}" for tool in TOOLS) + f"{'all':>10}\n")
    for ended in sorted({ended for _, ended in counts}, key=lambda ended: (ended != RESULT, ended)):
        row = [counts[tool, ended] for tool in TOOLS]
        sys.stdout.write(f"{ended:32}" + "".join(f"{number:14}" for number in row) + f"{sum(row):10}\n")
    sys.stdout.write("\n")


@contextmanager
def running(directory: Path) -> Iterator[Server]:
    """Stop the server in the end, whatever happens."""
    server = Server(directory)
    try:
        yield server
    finally:
        server.stop()


def play(rounds: int, chance: random.Random, server: Server, load: Load) -> None:
    """Kill the server in each round, some time after the load has begun to flow, and start it again."""
    for number in range(1, rounds + 1):
        load.flows()
        time.sleep(chance.uniform(*LOAD_SECONDS))
        server.kill()
        killed = time.monotonic()
        server.restart()
        healthy = time.monotonic()
        load.flows()
        again = time.monotonic()
        load.rounds = number
        sys.stdout.write(
            f"round {number}: healthy after {healthy - killed:.1f} s, flowing {again - healthy:.1f} s later; "
            f"{sum(load.counts.values())} calls, {load.results} results, {len(load.faults)} faults\n"
        )
        sys.stdout.flush()


def main() -> int:
    """Play all rounds on one bank, look what it holds afterwards, print the figures."""
    rounds = int(os.environ.get("ROUNDS", "50"))
    seed = int(os.environ.get("SEED", random.SystemRandom().getrandbits(32)))
    legacy = os.environ.get("PROTOCOL") == "legacy"
    sys.stdout.write(f"SEED={seed} ROUNDS={rounds} PROTOCOL={'legacy' if legacy else 'modern'}\n")
    with running(Path(".server")) as server:
        url = server.start(Options(llm="none", protocol="legacy" if legacy else "modern"))
        with Bank(url, "kill", allow_new_bank=True) as bank:
            bank.retain("Note 0 makes the bank.", document_id="note-0")
            load = Load(bank, seed)
            load.retained["Note 0 makes the bank."] = "accepted"
            load.start()
            try:
                play(rounds, random.Random(seed), server, load)  # noqa: S311 - repeatable, not secret
            except (KeyboardInterrupt, HarnessError) as error:
                load.faults.append(f"ended in round {load.rounds + 1}: {error!r}")
            load.stop()
            accepted = {text for text, ended in load.retained.items() if ended == "accepted"}
            table(load.counts)
            try:
                judge(load, stored(bank, accepted))
            except (KeyboardInterrupt, BankError) as error:
                load.faults.append(f"what is stored could not be looked at: {error!r}")
    for fault in load.faults:
        sys.stdout.write(f"FAULT: {fault}\n")
    calls, overrun = sum(load.counts.values()), load.longest_overrun
    sys.stdout.write(
        f"kill: {load.rounds} rounds, {calls} calls, {len(accepted)} retains accepted, "
        f"longest overrun {overrun:.2f} s, {len(load.faults)} faults\n"
    )
    return bool(load.faults)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    sys.exit(main())
