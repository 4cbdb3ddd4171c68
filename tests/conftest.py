"""What the tests of the wire share: servers that end, and clients that are closed."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from wire_server import WireServer

from hindsight_bank import Bank
from hindsight_bank.endpoint import Endpoint
from hindsight_bank.session import Client
from hindsight_bank.transport import Limits, Transport

Serve = Callable[..., WireServer]
OpenTransport = Callable[..., Transport]
OpenBank = Callable[..., Bank]
OpenEndpoint = Callable[..., Endpoint]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Start scripted servers, ended with the test."""
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

        def make(server: WireServer, **options: Any) -> Bank:
            bank = Bank(server.url, "alice", **options)
            stack.callback(bank.close)
            return bank

        yield make
