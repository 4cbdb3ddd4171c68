"""A bank across `os.fork`: parent and child each have their own connection, session, answers and locks.

The forking is done by scripts of their own processes, which say with their exit code whether all was well.
"""

import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from conftest import Serve
from wire_server import (
    ANSWERS,
    GENERATIONS,
    MEMORY,
    PATIENCE,
    Generation,
    Hindsight,
    Play,
    Request,
    Step,
    WireServer,
    tool_result,
)

PRELUDE = """
import os, sys, threading, time
from hindsight_bank import Bank, BankError, DeadlineError

def work(bank, name):
    for number in range(50):
        assert bank.get_memory(f"{name}-{number}").id == f"{name}-{number}"

def end_of(child):
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0, status

def fork(child_work):
    child = os.fork()
    if child:
        return child
    try:
        child_work()
    except BaseException:
        import traceback
        traceback.print_exc()
        os._exit(1)
    os._exit(0)

bank = Bank(sys.argv[1], "alice")
"""


def echoing(generation: Generation) -> Hindsight:
    return Hindsight(generation, {"get_memory": lambda request: MEMORY | {"id": request.arguments["memory_id"]}})


def run(server: WireServer, script: str, *, once: str = "") -> None:
    """Run a script with the server's URL; leaked sockets and failed assertions in parent or child fail it.

    `once` such a request is here, the script gets a line on its standard input.
    """
    # Python 3.12 warns of every fork in a process with threads, which is what these tests are about.
    warnings = ["-W", "error::ResourceWarning", "-W", "ignore:This process:DeprecationWarning"]
    command = [sys.executable, *warnings, "-c", PRELUDE + script, server.url]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        if once:
            server.wait_until_asked(once)
        _, said = process.communicate("\n", timeout=3 * PATIENCE)
    assert (process.returncode, said) == (0, ""), said
    server.wait_until_left()


def slowly(answer: bytes, server: WireServer) -> Iterator[Step]:
    """Answer when the child is done."""
    while not any(
        request.label == "get_memory" and request.arguments["memory_id"] == "child-49" for request in server.requests
    ):
        yield 0.01
    yield answer


@pytest.mark.parametrize("generation", GENERATIONS)
def test_parent_and_child_call_at_once_and_get_their_own_answers(generation: Generation, serve: Serve) -> None:
    """Public report: globus/globus-sdk-python #292: no byte of one is read by the other; each ends its session."""
    fake = echoing(generation)
    server = serve(fake)
    run(
        server,
        """
work(bank, "before")
child = fork(lambda: (work(bank, "child"), bank.close()))
work(bank, "parent")
end_of(child)
work(bank, "after")
bank.close()
""",
    )
    assert not fake.sessions
    used: dict[str, set[Any]] = {}
    for request in server.requests:
        if request.label == "get_memory":
            used.setdefault(request.arguments["memory_id"].split("-")[0], set()).add(
                (request.connection, request.session)
            )
    assert used["parent"] == used["before"] == used["after"]
    assert not used["child"] & used["parent"]
    assert server.log.count("DELETE") == (4 if generation == "stateful" else 0)


@pytest.mark.parametrize(
    "ending", ["bank.close()", "sys.exit()", "del bank; import gc; gc.collect()", "bank.__exit__(None, None, None)"]
)
def test_a_child_that_only_ends_leaves_the_parents_session_alone(ending: str, serve: Serve) -> None:
    """Public report: globus/globus-sdk-python #292; whatever way it ends."""
    fake = echoing("stateful")
    server = serve(fake)
    run(
        server,
        f"""
work(bank, "before")
child = os.fork()
if not child:
    {ending}
    sys.exit()
end_of(child)
work(bank, "after")
bank.close()
""",
    )
    assert server.log.count("initialize") == 1
    assert server.log.count("DELETE") == 2  # the orphan's and the parent's


def test_locks_held_at_fork_do_not_hold_up_the_child(serve: Serve) -> None:
    """POSIX, fork: another thread of the parent may hold any of them, and it does not exist in the child."""
    server = serve(echoing("stateful"))
    run(
        server,
        """
work(bank, "before")
connection = bank._connection
endpoint = connection._link.endpoint
locks = [connection._lock, connection._connecting, endpoint._opening]
for lock in locks:
    lock.acquire()
child = fork(lambda: (work(bank, "child"), bank.close()))
end_of(child)
for lock in locks:
    lock.release()
work(bank, "after")
bank.close()
""",
    )


def test_a_fork_while_another_thread_connects_harms_neither(serve: Serve) -> None:
    """POSIX, fork: no other thread comes along; the child connects by itself, and the parent's thread goes on."""
    fake = echoing("stateful")
    first = threading.Lock()

    def initialize(request: Request) -> Play | None:
        return slowly(fake._usual(request), server) if first.acquire(blocking=False) else None

    fake.answers["initialize"] = initialize
    server = serve(fake)
    run(
        server,
        """
thread = threading.Thread(target=work, args=(bank, "parent"))
thread.start()
sys.stdin.readline()
child = fork(lambda: (work(bank, "child"), bank.close()))
end_of(child)
thread.join()
bank.close()
""",
        once="initialize",
    )
    assert not fake.sessions
    assert server.log.count("initialize") == 2


def test_a_child_does_not_keep_its_parents_connections_open(serve: Serve) -> None:
    """MCP 2026-07-28, Streamable HTTP, "Cancellation": closing cancels; a copy of the socket would prevent it."""
    server = serve(Hindsight("modern", {"tools/list": lambda _: b"HTTP/1.1 200"}))
    script = """
def call():
    try:
        bank.get_memory("x", timeout=1)
    except DeadlineError:
        pass

thread = threading.Thread(target=call)
thread.start()
sys.stdin.readline()
child = fork(sys.stdin.read)
thread.join()
print("left", flush=True)
end_of(child)
bank.close()
"""
    command = [sys.executable, "-c", PRELUDE + script, server.url]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin
        assert process.stdout
        server.wait_until_asked("tools/list")
        process.stdin.write("fork\n")
        process.stdin.flush()
        assert process.stdout.readline() == "left\n"
        server.wait_until_left()
        assert process.poll() is None
    assert process.returncode == 0


@pytest.mark.parametrize("goes_on", [False, True])
@pytest.mark.parametrize("generation", GENERATIONS)
def test_a_fork_by_a_signal_handler_leaves_the_call_in_flight_to_the_parent(
    generation: Generation, goes_on: bool, serve: Serve
) -> None:
    """POSIX, fork; CPython, signal: the child is born in the middle of the call; whether or not it goes on with it.

    It sends nothing on the parent's connection, ends neither that nor its session, repeats nothing, and calls anew.
    """
    fake = echoing(generation)
    fake.answers["retain"] = lambda request: slowly(fake.told(request, tool_result(ANSWERS["retain"])), server)
    server = serve(fake)
    run(
        server,
        f"""
import signal

children = []

def child_work():
    work(bank, "child")
    bank.close()

def fork_now(*_):
    child = os.fork() if {goes_on} else fork(child_work)
    children.append(child)

def poke():
    sys.stdin.readline()
    os.kill(os.getpid(), signal.SIGUSR1)

work(bank, "before")
signal.signal(signal.SIGUSR1, fork_now)
thread = threading.Thread(target=poke)
thread.start()
try:
    receipt = bank.retain("x")
except BankError as error:
    assert children == [0] and error.outcome == "unknown", error
    child_work()
    os._exit(0)
assert receipt.status == "accepted" and children[0]
end_of(children[0])
thread.join()
work(bank, "after")
bank.close()
""",
        once="retain",
    )
    assert server.log.count("retain") == 1
    assert not fake.sessions
    used: dict[str, set[Any]] = {}
    for request in server.requests:
        if request.label in ("get_memory", "retain"):
            name = str(request.arguments.get("memory_id", "before")).split("-")[0]
            used.setdefault(name, set()).add((request.connection, request.session))
    assert used["before"] == used["after"]
    assert not used["child"] & used["before"]


@pytest.mark.parametrize("module", ["hindsight_bank._generated.get_memory", "hindsight_bank.plain", "cattrs"])
def test_a_fork_while_another_thread_loads_a_module_harms_neither(module: str, serve: Serve) -> None:
    """CPython, import: a module's lock that is held at fork stays held in the child."""
    server = serve(echoing("modern"))
    run(
        server,
        f"""
from importlib.abc import MetaPathFinder
import hindsight_bank

begun = threading.Event()

class Slow(MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == {module!r} and not begun.is_set():
            begun.set()
            time.sleep(0.5)

sys.meta_path.insert(0, Slow())
def first(name):
    work(bank, name)
    hindsight_bank.to_dict(bank.get_bank())

thread = threading.Thread(target=first, args=("parent",))
thread.start()
begun.wait()
child = fork(lambda: (first("child"), bank.close()))
end_of(child)
thread.join()
bank.close()
""",
    )


def test_a_fork_while_another_thread_makes_a_tls_context_harms_neither(serve: Serve) -> None:
    """OpenSSL, threads: its global locks have no handler for forks; what holds them has to be over first."""
    server = serve(echoing("modern"))
    run(
        server,
        """
import httpx
from hindsight_bank.transport import Limits, Transport

begun, over = threading.Event(), []

def slow(make=httpx.create_ssl_context):
    begun.set()
    time.sleep(0.5)
    over.append(os.getpid())
    return make()

httpx.create_ssl_context = slow
work(bank, "parent")
thread = threading.Thread(target=lambda: Transport("https://localhost/", Limits()).close())
thread.start()
begun.wait()
child = fork(lambda: (over.remove(os.getppid()), work(bank, "child"), bank.close()))
end_of(child)
thread.join()
bank.close()
""",
    )
