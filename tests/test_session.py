"""MCP's rules as values: both generations of the protocol."""

import pickle
from typing import Any

import pytest

from hindsight_bank import session
from hindsight_bank.errors import IncompatibleServer, ProtocolError
from hindsight_bank.session import HANDSHAKE, MODERN, Client, Session, Stateless, is_handshake_server

CLIENT = Client("hindsight-bank", "1.2.3")
REQUIRED = {"io.modelcontextprotocol/protocolVersion", "io.modelcontextprotocol/clientCapabilities"}


@pytest.mark.parametrize(
    ("era", "headers"),
    [
        (
            Stateless(CLIENT),
            [("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/call"), ("Mcp-Name", "recall")],
        ),
        (Session("2025-11-25", "s1"), [("MCP-Protocol-Version", "2025-11-25"), ("Mcp-Session-Id", "s1")]),
        (Session("2025-06-18", None), [("MCP-Protocol-Version", "2025-06-18")]),
    ],
)
def test_a_tool_call_carries_the_headers_of_its_generation(era: session.Era, headers: list[tuple[str, str]]) -> None:
    """MCP 2025-11-25, Transports, and MCP 2026-07-28, Streamable HTTP, "Request Metadata".

    Version always; session only in the 2025 revisions; method and name only in 2026-07-28.
    """
    assert list(era.headers("tools/call", "recall")) == headers


def test_a_request_without_a_name_has_no_name_header() -> None:
    """MCP 2026-07-28, Streamable HTTP, "Standard Request Headers": `Mcp-Name` belongs to tools/call."""
    assert Stateless(CLIENT).headers("tools/list") == (
        ("MCP-Protocol-Version", "2026-07-28"),
        ("Mcp-Method", "tools/list"),
    )


def test_a_name_that_no_header_may_carry_is_encoded() -> None:
    """MCP 2026-07-28, Streamable HTTP, "Value Encoding": of `Mcp-Name`, too."""
    assert dict(Stateless(CLIENT).headers("tools/call", "é"))["Mcp-Name"] == "=?base64?w6k=?="


def test_every_2026_request_says_who_asks_and_in_which_revision() -> None:
    """MCP 2026-07-28, Overview, "`_meta`": it is in every request, and says what the header says."""
    params = Stateless(CLIENT).params({"name": "recall", "arguments": {"query": "q"}})
    meta = params.pop("_meta")
    assert params == {"name": "recall", "arguments": {"query": "q"}}
    assert set(meta) == REQUIRED | {"io.modelcontextprotocol/clientInfo"}
    assert (
        meta["io.modelcontextprotocol/protocolVersion"] == dict(Stateless(CLIENT).headers("m"))["MCP-Protocol-Version"]
    )
    assert meta["io.modelcontextprotocol/clientCapabilities"] == {}
    assert meta["io.modelcontextprotocol/clientInfo"] == {"name": "hindsight-bank", "version": "1.2.3"}


def test_a_session_adds_nothing_to_params() -> None:
    """MCP 2025-11-25, Overview: the 2025 revisions define no such keys."""
    params = {"name": "recall"}
    assert Session("2025-11-25", "s").params(params) == {"name": "recall"}


def test_initialize_offers_the_latest_2025_revision_and_no_capabilities() -> None:
    """MCP 2025-11-25, Lifecycle, "Version Negotiation". Ours: no capability, so that we are asked for nothing."""
    assert session.initialize_params(CLIENT) == {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "hindsight-bank", "version": "1.2.3"},
    }
    assert max(HANDSHAKE) == HANDSHAKE[0] < MODERN


@pytest.mark.parametrize("revision", ["2025-11-25", "2025-06-18", "2025-03-26"])
def test_a_server_may_pick_an_older_revision_that_we_speak(revision: str) -> None:
    """Public report: xiaohongshu-mcp #697; the picked revision is then sent."""
    assert dict(session.opened(revision, "s").headers())["MCP-Protocol-Version"] == revision


@pytest.mark.parametrize("revision", ["1999-01-01", "2024-11-05", "2026-07-28", "", "2025-11-25 "])
def test_a_revision_that_we_do_not_speak_is_an_incompatible_server(revision: str) -> None:
    """MCP 2025-11-25, Lifecycle, "Version Negotiation". Ours: says what we speak, does not quote the server."""
    with pytest.raises(IncompatibleServer, match="2025-11-25, 2025-06-18, 2025-03-26"):
        session.opened(revision, None)


@pytest.mark.parametrize("session_id", ["1", "f3c9-A_b~!", "80f99db9e94040629181509730571745", "x" * 4096])
def test_a_session_id_of_visible_ascii_is_sent_back(session_id: str) -> None:
    """MCP 2025-11-25, Transports, "Session Management": 0x21 to 0x7E."""
    assert dict(session.opened("2025-11-25", session_id).headers())["Mcp-Session-Id"] == session_id


@pytest.mark.parametrize("session_id", [None, ""])
def test_without_a_session_id_none_is_sent(session_id: str | None) -> None:
    """Public report: hindsight #751: stateless servers give none (Hindsight up to 0.4.20)."""
    assert "Mcp-Session-Id" not in dict(session.opened("2025-11-25", session_id).headers())


@pytest.mark.parametrize("character", [" ", "\t", "\r\nX: y", "\x00", "\x7f", "é", "\u2028"])
@pytest.mark.parametrize("around", ["s3cret{}s3cret", "{}s3cret", "s3cret{}"])
def test_a_session_id_with_other_characters_is_never_echoed(around: str, character: str) -> None:
    """MCP 2025-11-25, Transports, "Session Management". Ours: the id is a secret and is not quoted."""
    with pytest.raises(ProtocolError) as caught:
        session.opened("2025-11-25", around.format(character))
    assert "s3cret" not in str(caught.value)


def test_the_session_id_is_in_no_repr() -> None:
    """Public report: openai-python #1196; vcr and crash reports print reprs."""
    assert "s3cret" not in repr(Session("2025-11-25", "s3cret"))
    assert repr(Session("2025-11-25", None)) == "Session(revision='2025-11-25', id=None)"
    assert pickle.loads(pickle.dumps(Session("2025-11-25", "s"))) == Session("2025-11-25", "s")  # noqa: S301


HANDSHAKE_REFUSALS = [
    (400, None, None),  # a text, or JSON that is no JSON-RPC
    (400, -32600, None),  # "Missing session ID", "Unsupported protocol version": every Hindsight on mcp 1.x
    (400, -32602, None),  # not one of the modern codes
    (400, -32700, None),
    (404, None, None),  # no such path for a bare POST; initialize will tell
    (404, -32600, None),
    (405, None, None),
    (406, None, None),
    (400, -32022, ["2025-11-25"]),
    (400, -32022, ["2024-11-05", "2025-03-26"]),
]
NO_VERDICT = [
    (400, -32020, None),  # our headers and body differ
    (400, -32021, None),  # a capability that we lack
    (404, -32601, None),  # a modern server without the method
    (400, -32022, ["2026-07-28"]),
    (400, -32022, ["2026-07-28", "2025-11-25"]),
    (400, -32022, ["2099-01-01"]),
    (400, -32022, []),
    (400, -32022, None),
    (400, -32022, "2025-11-25"),
    (400, -32022, {"2025-11-25": True}),
    (400, -32022, [["2025-11-25"], None, 7]),
    *((status, None, None) for status in (301, 307, 401, 403, 408, 409, 413, 415, 421, 429, 500, 502, 503, 504)),
    (401, -32600, None),
    (500, -32600, None),
]


@pytest.mark.parametrize(
    ("status", "code", "supported", "verdict"),
    [(*row, True) for row in HANDSHAKE_REFUSALS] + [(*row, False) for row in NO_VERDICT],
)
def test_which_refusals_of_a_modern_request_mean_a_2025_server(
    status: int,
    code: int | None,
    supported: Any,
    verdict: bool,
) -> None:
    """MCP 2026-07-28, Versioning, "Backward Compatibility"."""
    assert is_handshake_server(status, code, supported) is verdict


@pytest.mark.parametrize(
    ("status", "body", "lost"),
    [
        (404, b'{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Session not found"}}', True),
        (404, b"Not Found", True),
        (404, b"", True),
        (400, b"Bad Request: No valid session ID provided", True),  # mcp 1.24 to 1.27
        (400, b'{"error":{"message":"Bad Request: Missing session ID"}}', True),
        (400, b'{"error":{"code":-32602,"message":"Invalid request parameters"}}', False),
        (400, b"", False),
        (401, b"no session id", False),
        (403, b"", False),
        (410, b"session id expired", False),
        (429, b"", False),
        (500, b"session id", False),
        (503, b"", False),
    ],
)
def test_which_refusals_mean_that_the_session_is_gone(status: int, body: bytes, lost: bool) -> None:
    """Public reports: modelcontextprotocol/python-sdk #1676, typescript-sdk #1708; Hindsight with mcp 1.25 says 400."""
    assert session.is_session_lost(status, body) is lost
