"""The client on a real Hindsight server: `make live` starts one in each generation of the protocol and runs these.

What the server at HINDSIGHT_LIVE_URL really does decides; its inputSchemas say which arguments it knows, so that every
version is held to what it offers (`make versions`). HINDSIGHT_LIVE_PROTOCOL says what it was started for,
HINDSIGHT_LIVE_KEY which key it wants, and HINDSIGHT_LIVE_MODEL is "none" if it has no language model.
"""

import asyncio
import http.client
import json
import os
import subprocess
import sys
import textwrap
import threading
import time
import urllib.parse
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from inspect import signature
from typing import Any

import pytest
from conversations import NO_MEMORY
from tour import NEWER, known, more, newer

from hindsight_bank import (
    ArgumentsError,
    Bank,
    BankError,
    DeadlineError,
    NotFoundError,
    ToolError,
    UnreachableError,
)

pytestmark = pytest.mark.live

URL = os.environ.get("HINDSIGHT_LIVE_URL", "")
KEY = os.environ.get("HINDSIGHT_LIVE_KEY")
HAS_MODEL = os.environ.get("HINDSIGHT_LIVE_MODEL") != "none"
TEXTS = (
    "Alice prefers tea over coffee.",
    "Alice works at Acme on databases in Berlin.",
    "Bob leads the Lisbon office and rides a bicycle.",
)


def wait_for(bank: Bank, total: int, seconds: float = 60.0) -> None:
    """Wait until the bank lists so many memories: retain only queues."""
    end = time.monotonic() + seconds
    while bank.list_memories(limit=0).total < total:
        if time.monotonic() > end:
            pytest.fail(f"no {total} memories after {seconds} s")
        time.sleep(0.2)


def fresh_id() -> str:
    return f"live-{uuid.uuid4().hex[:12]}"


def open_bank(bank_id: str, **options: Any) -> Bank:
    return Bank(URL, bank_id, api_key=KEY, **options)


def rest(method: str, path: str, body: str | None = None) -> Any:
    """Ask the server beside MCP."""
    connection = http.client.HTTPConnection(urllib.parse.urlsplit(URL).netloc, timeout=30)
    headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {KEY}"} if KEY else {})
    connection.request(method, f"/v1/default/banks{path}", body, headers)
    answer = connection.getresponse()
    assert answer.status == 200
    value = json.load(answer)
    connection.close()
    return value


def banks() -> set[str]:
    """Return the ids of all banks that there are."""
    return {bank["bank_id"] for bank in rest("GET", "")["banks"]}


@pytest.fixture(scope="module")
def bank() -> Iterator[Bank]:
    """Return a bank with three texts retained."""
    with open_bank(fresh_id(), allow_new_bank=True) as bank:
        for text in TEXTS:
            bank.retain(text, tags=["user:alice"], metadata={"source": "test"})
        wait_for(bank, len(TEXTS))
        yield bank


def test_the_server_speaks_the_generation_it_was_started_for(bank: Bank) -> None:
    """Hindsight at HINDSIGHT_LIVE_URL, started for HINDSIGHT_LIVE_PROTOCOL."""
    health = bank.health()
    assert health.protocol == os.environ.get("HINDSIGHT_LIVE_PROTOCOL", health.protocol)
    assert health.server
    assert health.bank.bank_id == bank.bank_id
    assert health.seconds > 0


def test_retain_returns_a_receipt_that_says_accepted(bank: Bank) -> None:
    """Hindsight at HINDSIGHT_LIVE_URL: it queues, and lists the memory later."""
    receipt = bank.retain("Carol paints.", timestamp=datetime(2025, 3, 1, 9, tzinfo=UTC), document_id="doc-carol")
    assert receipt.status == "accepted"
    assert receipt.operation_id != ""  # Hindsight 0.4.14 sends none
    wait_for(bank, len(TEXTS) + 1)


def test_recall_finds_what_was_retained(bank: Bank) -> None:
    """Hindsight at HINDSIGHT_LIVE_URL: facts with tags, zoned times, and what was asked for beside."""
    asked = more(bank, "recall")
    result = bank.recall("What does Alice drink?", **asked)
    assert any("tea" in fact.text for fact in result.results)
    assert result.results[0].mentioned_at is not None
    assert result.results[0].mentioned_at.tzinfo is not None
    assert result.results[0].tags == ("user:alice",)
    assert (result.entities is not None) == (HAS_MODEL and "include_entities" in asked)  # a model finds them
    assert (result.chunks is not None) == ("include_chunks" in asked)


@pytest.mark.skipif(not HAS_MODEL, reason="the server has no language model")
def test_reflect_answers_with_what_it_is_based_on(bank: Bank) -> None:
    """Hindsight at HINDSIGHT_LIVE_URL: grounds and trace, once asked for; always before one could ask."""
    result = bank.reflect("What should I serve Alice?", **more(bank, "reflect"))
    assert result.text
    assert result.based_on is not None
    assert result.tool_trace


@pytest.mark.skipif(HAS_MODEL, reason="the server has a language model")
def test_reflect_without_a_language_model_is_a_refusal(bank: Bank) -> None:
    """Hindsight at HINDSIGHT_LIVE_URL, started with the provider `none`."""
    with pytest.raises(ToolError, match="LLM"):
        bank.reflect("What should I serve Alice?")


@pytest.mark.parametrize(("tool", "name"), [(tool, name) for tool in NEWER for name in NEWER[tool]])
def test_an_argument_is_taken_by_the_server_or_refused_before_sending(bank: Bank, tool: str, name: str) -> None:
    """Public report: vectorize-io/hindsight #1396 (a filter dropped silently); the server's inputSchema decides."""
    if name in known(bank, tool):
        if tool != "reflect" or HAS_MODEL:
            assert newer(bank, tool, name) is not None
        return
    with pytest.raises(ArgumentsError) as refused:
        newer(bank, tool, name)
    error = refused.value
    assert (error.tool, error.problems, error.outcome) == (tool, (f"unknown to this server @ $.{name}",), "not_sent")
    assert str(error) == f"{tool}: unknown to this server @ $.{name} (the server calls itself {bank.health().server})"


def test_every_argument_that_some_version_lacks_is_tried_here(bank: Bank) -> None:
    """Ours: what this server lacks is among them, so that nothing is dropped silently."""
    for tool in (*NEWER, "get_memory", "get_bank"):
        ours = signature(getattr(bank, tool)).parameters.keys() - {"timeout"}
        assert ours - known(bank, tool) <= NEWER.get(tool, {}).keys()


def test_an_append_never_replaces_what_was_there(bank: Bank) -> None:
    """Hindsight 0.4.22 drops `update_mode` and replaces the document; 0.5.0 and later append."""
    with open_bank(fresh_id(), allow_new_bank=True) as diary:
        diary.retain("Grace paints.", document_id="diary")
        wait_for(diary, 1)
        try:
            diary.retain("Grace sings.", document_id="diary", update_mode="append")
        except ArgumentsError:
            assert "update_mode" not in known(bank, "retain")
        else:
            wait_for(diary, 2)
        assert any("paints" in item.text for item in diary.list_memories().items)


def test_browsing_and_fetching_agree(bank: Bank) -> None:
    """Hindsight at HINDSIGHT_LIVE_URL: a page and a memory tell the same."""
    items = list(bank.iter_memories(page_size=2))
    assert len({item.id for item in items}) == len(items) >= len(TEXTS)
    assert [item.id for item in bank.list_memories(limit=1000).items[-3:]] == [item.id for item in items[-3:]]
    memory = bank.get_memory(items[-1].id)
    assert (memory.id, memory.text) == (items[-1].id, items[-1].text)


def test_the_bank_tells_its_profile(bank: Bank) -> None:
    """Hindsight at HINDSIGHT_LIVE_URL: the profile names the bank of the URL."""
    assert bank.get_bank().bank_id == bank.bank_id


def test_refusals_of_the_server_are_errors(bank: Bank) -> None:
    """Hindsight at HINDSIGHT_LIVE_URL: it refuses in-band. Ours: `max_tokens` of 0 is not sent."""
    with pytest.raises(NotFoundError) as missing:
        bank.get_memory(NO_MEMORY)
    assert missing.value.what == "memory"
    with pytest.raises(ToolError):
        bank.get_memory("not-a-uuid")
    with pytest.raises(ToolError):
        bank.recall("tea", types=["no_such_type"])
    with pytest.raises(ArgumentsError):
        bank.recall("tea", max_tokens=0)


def test_connecting_to_a_missing_bank_is_refused_and_makes_none() -> None:
    """Hindsight at HINDSIGHT_LIVE_URL: up to 0.7.2, get_bank makes what it asks for, and is not called."""
    before, bank_id = banks(), fresh_id()
    for _ in range(2):
        with pytest.raises(NotFoundError) as missing:
            open_bank(bank_id).connect()
        assert missing.value.what == "bank"
        assert missing.value.outcome == "not_sent"
    assert banks() == before


def test_a_new_bank_is_made_by_its_first_retain_and_by_nothing_else(bank: Bank) -> None:
    """Hindsight 1.1.0 makes a bank in reflect too, up to 0.7.2 in get_bank: nothing is sent before the check."""
    before, bank_id = banks(), fresh_id()
    with open_bank(bank_id, allow_new_bank=True) as new:
        for call in (
            lambda: new.recall("tea"),
            lambda: new.reflect("tea"),
            new.list_memories,
            lambda: new.get_memory(NO_MEMORY),
            new.get_bank,
            new.health,
        ):
            with pytest.raises(NotFoundError) as missing:
                call()
            assert (missing.value.what, missing.value.outcome) == ("bank", "not_sent")
        assert banks() == before
        new.retain("Heidi swims.")
        wait_for(new, 1)
        assert banks() == before | {bank_id}
        assert new.get_bank().bank_id == bank_id
    assert bank.bank_id in before


def test_an_empty_bank_is_refused_only_where_it_cannot_be_told_from_a_missing_one(bank: Bank) -> None:
    """Hindsight up to 0.7.2, known by a list_memories without `tags`; later versions tell them apart."""
    bank_id = fresh_id()
    rest("PUT", f"/{bank_id}", "{}")
    if "tags" in known(bank, "list_memories"):
        with open_bank(bank_id) as empty:
            assert empty.list_memories().items == ()
        return
    with pytest.raises(NotFoundError, match="empty or does not exist"):
        open_bank(bank_id).connect()


def test_a_short_deadline_passes_and_the_bank_goes_on(bank: Bank) -> None:
    """Hindsight at HINDSIGHT_LIVE_URL: a call given up leaves the bank usable."""
    with pytest.raises(DeadlineError):
        bank.recall("What does Alice drink?", timeout=0.001)
    assert bank.get_bank().bank_id == bank.bank_id


def test_a_server_that_is_not_there_is_unreachable() -> None:
    """Ours: nothing was sent, so that repeating is safe."""
    with pytest.raises(UnreachableError) as unreachable:
        Bank("http://127.0.0.1:1", "alice").connect()
    assert unreachable.value.outcome == "not_sent"


def six_calls(bank: Bank) -> str:
    """Call all six tools and return the first text recalled."""
    bank.retain(f"Dave likes the number {uuid.uuid4().int % 1000}.")
    found = bank.recall("What does Alice drink?").results[0].text
    assert not HAS_MODEL or bank.reflect("What does Alice drink?").text
    item = bank.list_memories(limit=1).items[0]
    assert bank.get_memory(item.id).id == item.id
    assert bank.get_bank().bank_id == bank.bank_id
    return found


def test_all_six_work_inside_a_running_event_loop(bank: Bank) -> None:
    """Public report: vectorize-io/hindsight #677 (a sync client that dies inside a running loop)."""

    async def main() -> str:
        return six_calls(bank)

    assert asyncio.run(main())
    assert asyncio.run(main())


def test_all_six_work_in_a_thread_of_asyncio(bank: Bank) -> None:
    """Public report: vectorize-io/hindsight #677 (a sync client that drives a loop of its own)."""

    async def main() -> list[str]:
        return list(await asyncio.gather(*(asyncio.to_thread(six_calls, bank) for _ in range(4))))

    assert len(asyncio.run(main())) == 4


def test_sixteen_threads_share_one_bank(bank: Bank) -> None:
    """Public report: vectorize-io/hindsight #1575 (parallel recalls); nothing is mixed up."""
    items = list(bank.iter_memories(type="world"))  # observations change in the background

    def fetch(turn: int) -> bool:
        wanted = items[turn % len(items)]
        memory = bank.get_memory(wanted.id)
        return (memory.id, memory.text) == (wanted.id, wanted.text)

    with ThreadPoolExecutor(16) as pool:
        assert all(pool.map(fetch, range(160)))
        assert len(list(pool.map(lambda _: six_calls(bank), range(16)))) == 16


def test_a_bank_made_in_a_thread_works_after_the_thread_ended() -> None:
    """Public report: NousResearch/hermes-agent #17226 (a session tied to a dead loop)."""
    made: list[Bank] = []
    thread = threading.Thread(target=lambda: made.append(open_bank(fresh_id(), allow_new_bank=True).connect()))
    thread.start()
    thread.join()
    with made[0] as bank:
        assert bank.retain("Erin sings.").status == "accepted"


FORK = """
import os, sys
from hindsight_bank import Bank

bank = Bank(sys.argv[1], sys.argv[2], api_key=os.environ.get("HINDSIGHT_LIVE_KEY")).connect()
items = list(bank.iter_memories(type="world"))

def fetch_all():
    for _ in range(10):
        for item in items[:5]:
            assert bank.get_memory(item.id).text == item.text

child = os.fork()
fetch_all()
if child == 0:
    bank.close()
    os._exit(0)
_, status = os.waitpid(child, 0)
assert status == 0, status
fetch_all()  # the child's end did not end our session
bank.close()
print("ok")
"""

GEVENT = """
from gevent import monkey
monkey.patch_all()
import os, sys, gevent
from hindsight_bank import Bank

with Bank(sys.argv[1], sys.argv[2], api_key=os.environ.get("HINDSIGHT_LIVE_KEY")) as bank:
    items = list(bank.iter_memories(type="world"))
    jobs = [gevent.spawn(lambda item=item: bank.get_memory(item.id).text == item.text) for item in items[:5] * 4]
    jobs += [gevent.spawn(lambda: bool(bank.recall("What does Alice drink?").results)) for _ in range(8)]
    gevent.joinall(jobs, raise_error=True)
    assert all(job.value for job in jobs)
print("ok")
"""


@pytest.mark.parametrize("script", [FORK, GEVENT], ids=["forked child and parent at once", "gevent"])
def test_other_ways_to_run_at_once(bank: Bank, script: str) -> None:
    """Public report: globus/globus-sdk-python #292 (fork shares sockets); gevent as it patches the standard library."""
    done = subprocess.run(
        [sys.executable, "-W", "error::ResourceWarning", "-c", textwrap.dedent(script), URL, bank.bank_id],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.stdout.strip(), done.returncode) == ("ok", 0), done.stderr


def test_a_process_pool_makes_a_bank_in_each_process(bank: Bank) -> None:
    """Hindsight at HINDSIGHT_LIVE_URL: several processes at once, each with its own connection."""
    script = """
    import os, sys
    from concurrent.futures import ProcessPoolExecutor
    from hindsight_bank import Bank

    def recall(args):
        with Bank(*args, api_key=os.environ.get("HINDSIGHT_LIVE_KEY")) as bank:
            return len(bank.recall("What does Alice drink?").results)

    if __name__ == "__main__":
        with ProcessPoolExecutor(2) as pool:
            assert all(pool.map(recall, [tuple(sys.argv[1:])] * 4))
        print("ok")
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script), URL, bank.bank_id],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.stdout.strip(), done.returncode) == ("ok", 0), done.stderr


def test_every_error_leaves_the_bank_usable(bank: Bank) -> None:
    """Public report: modelcontextprotocol/python-sdk #1295 (one failed call ended the whole client)."""
    for call in (lambda: bank.get_memory(""), lambda: bank.list_memories(limit=10**30), lambda: bank.retain(" ")):
        with pytest.raises(BankError):
            call()
    assert bank.get_bank().bank_id == bank.bank_id
