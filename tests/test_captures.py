"""What real servers said to tools/call, from the bytes of the HTTP answer to the typed result or the right error.

`captured/exchanges.json` is distilled from 769 captured calls of the six tools, Hindsight 0.2.1 to 1.1.0, both protocol
generations and all modes (keys, hidden tools, no model, model down): one exchange for each shape of message, lists cut
down to one item of each shape. The ids are 1; everything else is as it was sent.
"""

import json
from pathlib import Path
from typing import Any
from unittest.mock import patch

import httpx
import pytest
from test_answers import CLASSES

from hindsight_bank import BankError, answers
from hindsight_bank.deadline import Deadline
from hindsight_bank.endpoint import Endpoint
from hindsight_bank.session import Client, Session, Stateless
from hindsight_bank.transport import Limits, Transport

EXCHANGES = json.loads((Path(__file__).parent / "captured/exchanges.json").read_text())
CLIENT = Client("test", "1")
# The first Hindsight with all six tools. What is older answers a part, in other shapes.
SUPPORTED = (0, 4, 14)


def outcome(exchange: dict[str, Any]) -> Any:
    """Return what a call comes to when the server answers with the captured bytes, whatever it is asked."""
    transport = Transport("http://localhost/mcp/alice/", Limits())
    headers = {"content-type": exchange["type"]} if exchange["type"] else {}
    reply = {"status_code": exchange["status"], "headers": headers, "content": exchange["body"].encode()}
    endpoint = Endpoint(transport, CLIENT, Limits(), "k3y-value")
    endpoint._era = Stateless(CLIENT) if exchange["modern"] else Session("2025-11-25", "s3ssion")
    tool = exchange["tool"]
    arguments = {"name": tool, "arguments": {}}
    said = patch.object(httpx.HTTPTransport, "handle_request", lambda *_: httpx.Response(**reply))
    deadline = Deadline(tool, 60)
    try:
        with said:
            message = endpoint.request("tools/call", arguments, deadline, name=tool, decode=answers.decoder(tool))
        return answers.answer(tool, message.result, endpoint.clean)
    except BankError as error:
        return error


@pytest.mark.parametrize("exchange", EXCHANGES, ids=lambda exchange: exchange["capture"])
def test_what_a_real_server_said_is_a_typed_result_or_the_right_error(exchange: dict[str, Any]) -> None:
    """Hindsight, of the version that names the exchange."""
    result = outcome(exchange)
    assert type(result).__name__ == exchange["outcome"]
    if isinstance(result, BankError):
        assert len(str(result)) < 500
        assert result.outcome in ("refused", "unknown")
    else:
        assert exchange["outcome"] == CLASSES[exchange["tool"]]


def test_a_supported_server_never_sends_a_single_bank_answer_that_breaks_our_schemas() -> None:
    """Hindsight 0.4.14 to 1.1.0; /mcp/ without a bank, which we never call, wraps its answers as text."""
    broken = [e for e in EXCHANGES if e["outcome"] in ("AnswerError", "ProtocolError")]
    assert {e["capture"] for e in broken if number(e) >= SUPPORTED and "/multi_" not in e["capture"]} == set()


def number(exchange: dict[str, Any]) -> tuple[int, ...]:
    return tuple(map(int, exchange["version"].split(".")))


def test_every_tool_generation_and_kind_of_failure_is_among_the_exchanges() -> None:
    """Ours: the file is not thinned out by accident."""
    assert len(EXCHANGES) > 120
    told = {(e["tool"], e["modern"]) for e in EXCHANGES if e["outcome"] == CLASSES[e["tool"]]}
    assert told == {(tool, modern) for tool in CLASSES for modern in (True, False)}
    failures = {e["outcome"] for e in EXCHANGES} - set(CLASSES.values())
    assert failures == {
        "ToolError",
        "NotFoundError",
        "AnswerError",
        "RPCError",
        "UnauthorizedError",
        "IncompatibleServer",
    }
    assert {e["version"] for e in EXCHANGES} >= {"0.2.1", "0.4.10", "0.4.14", "0.4.22", "0.7.2", "0.9.2", "1.1.0"}
    assert any(": ping" in e["body"] for e in EXCHANGES)
