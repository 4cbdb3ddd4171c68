"""Record every cassette again: `PYTHONPATH=tests python -m record [SERVER=URL ...]`.

Starts the servers it needs, one after another, unless they are named: modern, legacy, keyed (its key is
conversations.KEY) and subset (retain and recall only). If none is named, the stand-in of older_servers.py is the last.
Banks are made anew before and left behind.

What would differ from one recording to the next is made steady: UUIDs are numbered, the time of the recording is always
the same, and so is how long the server took. So recording an unchanged server again changes next to nothing.
"""

import http.client
import json
import re
import subprocess
import sys
import time
import urllib.parse
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from http import HTTPStatus
from itertools import count
from pathlib import Path
from typing import Any

import examples
from conversations import CONVERSATIONS, KEY, SEED, SEED_ARGUMENTS, Conversation, Server, cassettes
from vcr import VCR

from harness.server import Options
from harness.server import Server as Harness
from hindsight_bank import Bank
from hindsight_bank.cli import demo
from hindsight_bank.cli.screen import Screen
from hindsight_bank.testing import bank_vcr, played
from hindsight_bank.testing.script import Script

OPTIONS: Mapping[Server, Options] = {
    "modern": Options(),
    "legacy": Options(protocol="legacy"),
    "keyed": Options(
        env={
            "HINDSIGHT_API_TENANT_EXTENSION": "hindsight_api.extensions.builtin.tenant:ApiKeyTenantExtension",
            "HINDSIGHT_API_TENANT_API_KEY": KEY,
        }
    ),
    "subset": Options(env={"HINDSIGHT_API_MCP_ENABLED_TOOLS": "retain,recall"}),
}
# The seed's facts and what the stand-in models conclude from them.
MEMORIES = 5
PATIENCE_SECONDS = 60

NUMBERED = "00000000-0000-4000-8000-{:012}"
UUID = re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")
TIME = re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?\+00:00")
DURATION = re.compile(r'(\\?"duration_ms\\?":)\d+')


class Steady:
    """A serializer that writes the same of two recordings that differ only by chance."""

    deserialize = Script.deserialize

    def __init__(self, began: datetime, known: list[str]) -> None:
        self._began = began
        self._known = dict(zip(known, map(NUMBERED.format, count(1)), strict=False))

    def serialize(self, cassette_dict: dict[str, Any]) -> str:
        """Return the text of a cassette."""
        names = dict(self._known)
        others = map(NUMBERED.format, count(101))

        def name(match: re.Match[str]) -> str:
            if match[0] not in names:
                names[match[0]] = match[0] if match[0].startswith("00000000-") else next(others)
            return names[match[0]]

        text = TIME.sub(self._time, UUID.sub(name, Script.serialize(cassette_dict)))
        return DURATION.sub(r"\g<1>1", text)

    def _time(self, match: re.Match[str]) -> str:
        moment = datetime.fromisoformat(match[0])
        return "2026-06-01T00:00:00+00:00" if moment >= self._began else match[0]


def main() -> None:
    """Record."""
    running = dict(argument.split("=", 1) for argument in sys.argv[1:])
    for server, options in OPTIONS.items():
        if server in running:
            record(server, running[server])
        elif not running:
            harness = Harness(Path(".server"))
            try:
                record(server, harness.start(options))
            finally:
                harness.stop()
    if not running:
        with older_server() as url:
            record_pages("older", url)


@contextmanager
def older_server() -> Iterator[str]:
    """Run a server of the older generations of tools."""
    command = [sys.executable, str(Path(__file__).with_name("older_servers.py"))]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}"
        finally:
            process.kill()


def record(server: Server, url: str) -> None:
    """Record the conversations with one server."""
    began, known = datetime.now(UTC), []
    for bank_id in ("alice", "diary", "nobody", "newcomer"):
        rest("DELETE", url, bank_id)
    if server != "subset":
        rest("PUT", url, "alice")
        rest("PUT", url, "diary")
    if server in ("modern", "legacy"):
        known = seed(url)
    vcr = bank_vcr(record_mode="once")
    vcr.register_serializer("bank", Steady(began, known))
    for name, _, path in cassettes(server):
        path.unlink(missing_ok=True)
        with played(vcr.use_cassette(path)):
            hold(CONVERSATIONS[name], url)
        sys.stdout.write(f"{path.stat().st_size:7} {path.parent.name}/{path.name}\n")
    if server == "modern":
        record_demo(url, vcr)
    record_pages(server, url)


def record_demo(url: str, vcr: VCR) -> None:
    """Record what `hindsight-bank demo --offline` replays."""
    rest("DELETE", url, demo.RECORDED_BANK)
    path = Path(demo.__file__).with_name("demo.yaml")
    path.unlink(missing_ok=True)
    with played(vcr.use_cassette(path)):
        demo.Demo(Screen(), live=True).run(url, demo.RECORDED_BANK, None)


def record_pages(server: str, url: str) -> None:
    """Record the pages that talk to one server."""
    for page in examples.PAGES:
        if server == examples.ELSEWHERE.get(page.stem, "modern"):
            record_page(url, page, [] if server == "older" else prepare(url, new=page.stem in examples.NEW))


def prepare(url: str, *, new: bool) -> list[str]:
    """Make the bank "alice" what a page finds, and "bob" none, and return the ids of alice's memories."""
    for bank_id in ("alice", "bob"):
        settle(url, bank_id)
        rest("DELETE", url, bank_id)
    if new:
        return []
    rest("PUT", url, "alice")
    return seed(url)


def record_page(url: str, page: Path, known: list[str]) -> None:
    """Record what the examples of a page say to the server, and write what they print into the page."""
    began, path = datetime.now(UTC), examples.tape(page)
    vcr = bank_vcr(record_mode="once")
    vcr.register_serializer("bank", Steady(began, known))
    path.unlink(missing_ok=True)
    with vcr.use_cassette(path):
        list(
            examples.run(
                page, {examples.URL: url} | {NUMBERED.format(index): each for index, each in enumerate(known, 1)}
            )
        )
    examples.rewrite(page, examples.replayed(page))
    size = path.stat().st_size if path.exists() else 0
    sys.stdout.write(f"{size:7} {page.relative_to(examples.ROOT)}\n")


def settle(url: str, bank_id: str) -> None:
    """Wait until the server is done with a bank: what it stores later would make the next one's memories."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        latest = rest("GET", url, f"{bank_id}/operations").get("operations", [])
        if all(operation["status"] == "completed" for operation in latest):
            return
        time.sleep(0.25)
    raise SystemExit(f"{url} was not done with its work in {PATIENCE_SECONDS} s")


def seed(url: str) -> list[str]:
    """Give the bank "alice" its memories, and return their ids in an order that is always the same."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    with Bank(url, "alice", api_key=KEY) as bank:
        bank.retain(SEED, **SEED_ARGUMENTS)
        while time.monotonic() < deadline:
            items = bank.list_memories().items
            facts = [item for item in items if item.fact_type != "observation"]
            if len(items) == MEMORIES and all(fact.consolidated_at for fact in facts):
                return [item.id for item in sorted(items, key=lambda item: (item.fact_type, item.text))]
            time.sleep(0.25)
    raise SystemExit(f"{url} did not make {MEMORIES} memories of the seed in {PATIENCE_SECONDS} s")


def hold(conversation: Conversation, url: str) -> None:
    """Hold a conversation, which must end as it says."""
    if conversation.fails is None:
        conversation.hold(url)
        return
    try:
        conversation.hold(url)
    except conversation.fails:
        return
    raise SystemExit(f"{conversation.talk.__name__} did not end in {conversation.fails.__name__}")


def rest(method: str, url: str, bank_id: str) -> dict[str, Any]:
    """Make, delete or ask of a bank, outside of any cassette; one that does not exist answers nothing."""
    connection = http.client.HTTPConnection(urllib.parse.urlsplit(url).netloc, timeout=30)
    headers = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"}
    connection.request(method, f"/v1/default/banks/{bank_id}", "{}" if method == "PUT" else None, headers)
    response = connection.getresponse()
    answer: dict[str, Any] = json.loads(response.read())
    connection.close()
    if response.status not in (HTTPStatus.OK, HTTPStatus.NOT_FOUND):
        raise SystemExit(f"{method} of the bank {bank_id} at {url}: HTTP {response.status}")
    return answer if response.status == HTTPStatus.OK else {}


if __name__ == "__main__":
    main()
