"""What the tests of the wire share: servers that end, and clients that are closed."""

import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from command_line import config, run, start_bank
from wire_server import PATIENCE, Generation, Hindsight, Request, WireServer, encoded, http, result

from hindsight_bank import Bank, jsonrpc
from hindsight_bank.deadline import Deadline
from hindsight_bank.endpoint import Endpoint
from hindsight_bank.session import Client
from hindsight_bank.transport import Limits, Transport

__all__ = ["config", "run", "start_bank"]

# A shell has what it starts in its background ignore SIGINT, which children inherit, and Python leaves it so.
signal.signal(signal.SIGINT, signal.default_int_handler)

Serve = Callable[..., WireServer]
OpenTransport = Callable[..., Transport]
OpenBank = Callable[..., Bank]
OpenEndpoint = Callable[..., Endpoint]

# What goes out before tools/list is answered.
OPENING: dict[Generation, list[str]] = {
    "modern": [],
    "stateful": ["tools/list", "DELETE", "initialize", "notifications/initialized"],
    "stateless": ["tools/list", "initialize", "notifications/initialized"],
}
DONE = {"ok": True, "resultType": "complete"}


def ask(endpoint: Endpoint, seconds: float = PATIENCE, name: str = "recall", **arguments: Any) -> Any:
    """Call a tool and return its raw result."""
    params = {"name": name, "arguments": arguments}
    deadline = Deadline(name, seconds)
    message = endpoint.request("tools/call", params, deadline, name=name, decode=jsonrpc.decode)
    return jsonrpc.result(message, dict[str, Any])


def done(fake: Hindsight) -> Any:
    """Return an answer that is no tool's, for endpoints, which do not look into it."""
    return lambda request: fake.told(request, {"ok": True})


def fake_server(generation: Any, **answers: Any) -> Hindsight:
    """Return a Hindsight whose recall answers with `done`."""
    fake = Hindsight(generation, answers)
    fake.answers.setdefault("recall", done(fake))
    return fake


def initialized(request: Request, session: str | None = "given", **more: Any) -> bytes:
    """Return the answer to an initialize."""
    value = {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {}} | more
    return http(encoded(result(request, value)), headers={} if session is None else {"mcp-session-id": session})


def calls(bank: Bank) -> dict[str, Callable[..., Any]]:
    """Return a call of each tool."""
    return {
        "retain": lambda **options: bank.retain("x", **options),
        "recall": lambda **options: bank.recall("x", **options),
        "reflect": lambda **options: bank.reflect("x", **options),
        "list_memories": bank.list_memories,
        "get_memory": lambda **options: bank.get_memory("x", **options),
        "get_bank": bank.get_bank,
    }


@pytest.fixture(scope="session", autouse=True)
def nobodys_settings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep the tests out of the configuration folder of whoever runs them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.mktemp("config")))
        yield


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Iterator[Serve]:
    """Start scripted servers, ended with the test; a busy machine gets time for what is only a courtesy."""
    monkeypatch.setattr("hindsight_bank.peer._COURTESY", 2.0)
    with ExitStack() as stack:
        yield lambda script, **options: stack.enter_context(WireServer(script, **options))


@pytest.fixture
def open_transport() -> Iterator[OpenTransport]:
    """Make transports to scripted servers, closed with the test."""
    with ExitStack() as stack:

        def make(server: WireServer, **bounds: Any) -> Transport:
            transport = Transport(f"{server.url}/mcp/alice/", Limits(**bounds))
            stack.callback(transport.close)
            return transport

        yield make


@pytest.fixture
def open_endpoint() -> Iterator[OpenEndpoint]:
    """Make endpoints on scripted servers, closed with the test, before the servers end."""
    with ExitStack() as stack:

        def make(server: WireServer, *, key: str | None = None, **bounds: Any) -> Endpoint:
            limits = Limits(**bounds)
            endpoint = Endpoint(Transport(f"{server.url}/mcp/alice/", limits), Client("test", "1"), limits, key)
            stack.callback(endpoint.close)
            return endpoint

        yield make


@pytest.fixture
def open_bank() -> Iterator[OpenBank]:
    """Make banks on scripted servers, closed with the test, before the servers end."""
    with ExitStack() as stack:

        def make(server: WireServer, bank_id: str = "alice", **options: Any) -> Bank:
            bank = Bank(server.url, bank_id, **options)
            stack.callback(bank.close)
            return bank

        yield make
