"""Servers that no class here speaks to: one sentence each says what was found and what to do."""

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import OpenBank, Serve
from wire_server import JSON, Hindsight, http

from hindsight_bank import AgentBank, BankError, IncompatibleServer, ProtocolError, PutSearchBank, StatusError

CAPTURED = json.loads((Path(__file__).parent / "captured/older.json").read_text())["tools"]
HTML = b"<!DOCTYPE html><html><body>Sign in</body></html>"


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine gets time to look around."""
    monkeypatch.setattr("hindsight_bank.neighbours._SECONDS", 20.0)


@pytest.mark.parametrize(
    ("answer", "kind", "says"),
    [
        (
            {"body": b'{"detail":"Not Found"}', "kind": JSON, "status": 404},
            StatusError,
            (
                "HTTP 404: there is no MCP endpoint at {url}/mcp/alice/: Not Found; check the server URL, and that the"
                " server has MCP enabled (HINDSIGHT_API_MCP_ENABLED)"
            ),
        ),
        (
            {"body": b"Method Not Allowed", "kind": "text/plain", "status": 405},
            StatusError,
            (
                "HTTP 405: there is no MCP endpoint at {url}/mcp/alice/: Method Not Allowed; check the server URL,"
                " and that the server has MCP enabled (HINDSIGHT_API_MCP_ENABLED)"
            ),
        ),
        (
            {"body": HTML, "kind": "text/html; charset=utf-8"},
            ProtocolError,
            (
                "the answer is a web page, not JSON or an event stream: this is no MCP endpoint; check the server"
                " URL, and whether a login page or a proxy stands before the server"
            ),
        ),
        (
            {"body": HTML, "kind": "text/html", "status": 404},
            StatusError,
            (
                "HTTP 404: there is no MCP endpoint at {url}/mcp/alice/: a web page, so something before Hindsight"
                " answered, or this is no Hindsight; check the server URL, and that the server has MCP enabled"
                " (HINDSIGHT_API_MCP_ENABLED)"
            ),
        ),
        (
            {"body": HTML, "kind": "text/html", "status": 502},
            StatusError,
            "HTTP 502: a web page, so something before Hindsight answered, or this is no Hindsight",
        ),
        (
            {"status": 302, "headers": {"location": "https://login.example.com/start?next=secret"}},
            StatusError,
            (
                "HTTP 302: the server redirects to https://login.example.com/start, not followed: give the address"
                " that it redirects to, or have a login page or proxy before it let these requests pass"
            ),
        ),
    ],
    ids=["MCP off", "no POST", "web page", "missing web page", "proxy's error page", "login"],
)
def test_what_was_found_and_what_to_do_is_one_sentence(
    answer: dict[str, Any], kind: type[BankError], says: str, serve: Serve, open_bank: OpenBank
) -> None:
    """Hindsight 1.1.0 without MCP, and what stands before servers."""
    server = serve(lambda _: http(**answer))
    with pytest.raises(BankError) as caught:
        open_bank(server).connect()
    assert (type(caught.value), str(caught.value)) == (kind, says.format(url=server.url))
    assert caught.value.outcome == "not_sent"


@pytest.mark.parametrize("version", ["0.2.1", "0.4.10"])
def test_a_hindsight_of_fewer_tools_is_to_be_updated(version: str, serve: Serve, open_bank: OpenBank) -> None:
    """Hindsight 0.2.0 to 0.4.13: three to five tools."""
    fake = Hindsight("stateless")
    fake.tools = [{"name": tool, "inputSchema": schema} for tool, schema in CAPTURED[version].items()]
    server = serve(fake)
    with pytest.raises(IncompatibleServer) as caught:
        open_bank(server).connect()
    assert str(caught.value) == (
        "the server (hindsight-mcp-server 1.1.0) lacks list_memories, get_memory, get_bank; it has retain, recall,"
        " reflect of the six tools that Bank needs: update a Hindsight older than 0.4.14, or have a later one show"
        " what it hides (HINDSIGHT_API_MCP_ENABLED_TOOLS, or the bank's settings)"
    )
    for kind in (PutSearchBank, AgentBank):
        with pytest.raises(IncompatibleServer, match="it has retain, recall, reflect of the six tools that Bank needs"):
            kind(server.url, "alice").connect()


def test_another_mcp_server_is_no_hindsight(serve: Serve, open_bank: OpenBank) -> None:
    """Ours: not one of our tools, so not a Hindsight."""
    fake = Hindsight()
    fake.tools = [{"name": "add", "inputSchema": {}}]
    with pytest.raises(IncompatibleServer) as caught:
        open_bank(serve(fake)).connect()
    assert str(caught.value) == (
        "the server (unnamed) is an MCP server, but no Hindsight: it has none of retain, recall, reflect,"
        " list_memories, get_memory, get_bank; check the server URL"
    )
