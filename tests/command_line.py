"""What the tests of the command line share: a bank of scripted answers, an environment without settings, a run."""

import io
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import key_stores
import keyring.core
import pytest
from wire_server import MEMORY, Hindsight, Request, WireServer, encoded, error, http

from hindsight_bank import Binding
from hindsight_bank.cli import main

COMMAND = (sys.executable, "-c", "import sys; from hindsight_bank.cli import main; sys.exit(main())")
KEY = "sk-open-s3same"

# What a memory must not do to a terminal: an escape, markup, an override of the reading direction, a bell.
HOSTILE = "Alice \x1b[31mprefers\x1b[0m [bold]tea[/bold] \u202egnp.exe \a."
ID = MEMORY["id"]
ITEM: dict[str, Any] = {
    "id": ID,
    "text": HOSTILE,
    "context": "",
    "date": "",
    "fact_type": "world",
    "mentioned_at": "2026-03-02T10:00:00+00:00",
    "occurred_start": None,
    "occurred_end": None,
    "entities": "",
    "chunk_id": None,
    "proof_count": 1,
    "tags": ["user:alice"],
}
FACT: dict[str, Any] = {
    **{name: ITEM[name] for name in ("id", "text", "fact_type", "mentioned_at", "tags")},
    **dict.fromkeys(("context", "occurred_start", "occurred_end", "document_id", "metadata", "chunk_id")),
    **dict.fromkeys(("entities", "source_fact_ids")),
}


class Ran(NamedTuple):
    """How a run of the command line ended."""

    code: int
    out: str
    err: str


Run = Callable[..., Ran]


def keyed(script: Callable[[Request], Any]) -> Callable[[Request], Any]:
    """Let a script answer only who brings KEY."""

    def answer(request: Request) -> Any:
        if request.headers.get("authorization") == f"Bearer {KEY}":
            return script(request)
        return http(encoded(error(-32600, "Unauthorized")), status=401)

    return answer


def pages(total: int) -> Callable[[Request], dict[str, Any]]:
    """Return list_memories of a bank with so many memories."""

    def page(request: Request) -> dict[str, Any]:
        limit, offset = request.arguments.get("limit", 100), request.arguments.get("offset", 0)
        numbers = range(offset, min(offset + limit, total))
        items = [{**ITEM, "id": f"00000000-0000-0000-0000-{number + 1:012}"} for number in numbers]
        return {"items": items, "total": total, "limit": limit, "offset": offset}

    return page


@pytest.fixture
def start_bank() -> Iterator[Callable[..., WireServer]]:
    """Start a server with one bank, `alice`."""
    with ExitStack() as stack:

        def start(script: Callable[[Request], Any] | None = None, **answers: Any) -> WireServer:
            return stack.enter_context(WireServer(script or Hindsight("modern", answers)))

        yield start


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Take away every setting of the developer's own, and return the place of the binding."""
    for name in [name for name in os.environ if name.startswith(("HINDSIGHT_", "FORCE_COLOR", "NO_COLOR"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("KEY_STORE", str(tmp_path / "keys.json"))
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setattr(keyring.core, "_keyring_backend", key_stores.Working())  # type: ignore[no-untyped-call]  # keyring's
    return tmp_path / "config/hindsight-bank/binding.json"


@pytest.fixture
def run(config: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run the command line in this process, with something or nothing on standard input."""
    del config

    def run(*argv: str, stdin: bytes = b"") -> Ran:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        try:
            code = main(argv)
        except SystemExit as end:
            code = int(end.code or 0)
        return Ran(code, *capsys.readouterr())

    return run


def bound(server: WireServer, bank_id: str = "alice") -> WireServer:
    """Keep the binding to a server."""
    Binding(server.url, bank_id).save()
    return server
