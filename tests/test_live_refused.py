"""Servers in a state of less: `make versions` starts one that hides tools, one without MCP, one without its model."""

import os

import pytest

from hindsight_bank import Bank, IncompatibleServer, StatusError, ToolError

pytestmark = pytest.mark.live

URL = os.environ.get("HINDSIGHT_LIVE_URL", "")
SUBJECT = os.environ.get("HINDSIGHT_LIVE_SUBJECT")


@pytest.mark.skipif(SUBJECT != "subset", reason="for a server started with MCP_ENABLED_TOOLS=retain,recall")
def test_hidden_tools_are_named() -> None:
    """Hindsight at HINDSIGHT_LIVE_URL: tools/list says which tools there are."""
    with pytest.raises(IncompatibleServer) as refused:
        Bank(URL, "alice", allow_new_bank=True).connect()
    assert refused.value.missing == ("reflect", "list_memories", "get_memory", "get_bank")
    assert refused.value.outcome == "not_sent"


@pytest.mark.skipif(SUBJECT != "disabled", reason="for a server started with MCP_ENABLED=false")
def test_a_server_without_mcp_is_a_status() -> None:
    """Hindsight at HINDSIGHT_LIVE_URL: 404 `{"detail":"Not Found"}`."""
    with pytest.raises(StatusError, match="there is no MCP endpoint at ") as refused:
        Bank(URL, "alice", allow_new_bank=True).connect()
    assert (refused.value.status, refused.value.outcome) == (404, "not_sent")


@pytest.mark.skipif(SUBJECT != "model-down", reason="for a server whose language model is down")
def test_a_reflection_without_its_model_is_an_error_of_the_tool() -> None:
    """Hindsight at HINDSIGHT_LIVE_URL: in-band `Connection error.` after 14 s."""
    with Bank(URL, "alice", allow_new_bank=True) as bank:
        bank.retain("Alice prefers tea over coffee.")
        with pytest.raises(ToolError) as refused:
            bank.reflect("What does Alice drink?")
        assert type(refused.value) is ToolError
        assert bank.list_memories().items == ()
