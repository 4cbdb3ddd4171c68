"""Answers of the older generations of tools: JSON as text, or a sentence, which their framework wrapped in an object.

`{"result": "<text>"}` is unwrapped exactly once. A server that sends objects unwrapped, or the text alone, is
understood as well. A sentence that begins with `Error` is what the tool says of its failure; any other that is no
answer breaks the schema, since nobody knows what became of the call.
"""

from typing import Any

import msgspec
from msgspec import Raw

from hindsight_bank import answers, failures, jsonrpc
from hindsight_bank.answers import AnyResult
from hindsight_bank.errors import ProtocolError
from hindsight_bank.failures import Clean
from hindsight_bank.shown import Shown


class _Wrapping(msgspec.Struct):
    """What FastMCP makes of a tool that returns text."""

    result: str


def answer(tool: str, kind: Any, result: Raw, clean: Clean) -> Any:
    """Return the tool's typed answer, or raise what the result says.

    Args:
        tool: The tool's name.
        kind: The type of its answer.
        result: The `result` of a message.
        clean: Makes a sentence of the server's fit for an error.
    """
    try:
        told = msgspec.json.decode(result, type=AnyResult)
    except (msgspec.DecodeError, RecursionError) as error:
        raise ProtocolError(f"{tool}: the result is no tool result: {error}") from None
    if told.resultType != "complete":
        raise failures.unfinished(told.resultType, clean)
    outer = _structured(tool, told)
    if told.isError:
        raise failures.tool_error(tool, *failures.reason(outer, told.content), clean)
    built = _built(tool, kind, outer, clean)
    if getattr(built, "success", True) is False:
        raise failures.tool_error(tool, built.message, None, clean)
    return built if isinstance(built, Shown) else built.build()  # a twin


def _structured(tool: str, told: AnyResult) -> bytes:
    """Return the structured content; where there is none, the text as FastMCP would have wrapped it."""
    outer = bytes(told.structuredContent)
    if outer != b"null":
        return outer
    text = failures.text_of(told.content)
    if text is None:
        raise ProtocolError(f"{tool}: the result has neither structuredContent nor a text")
    return msgspec.json.encode(_Wrapping(text))


def _built(tool: str, kind: Any, outer: bytes, clean: Clean) -> Any:
    inner = _inner(outer)
    for payload in (outer, inner or b""):
        jsonrpc.check_weight(payload)
        if (fault := failures.fault_of(payload)) is not None:
            raise failures.tool_error(tool, *fault, clean)
    if inner is not None and inner.startswith(b"Error"):
        raise failures.tool_error(tool, inner.decode(), None, clean)
    is_wrapped = inner is not None and inner.lstrip().startswith((b"{", b"["))
    payload = inner if inner is not None and is_wrapped else outer
    try:
        return msgspec.json.decode(payload, type=kind)
    except (msgspec.DecodeError, RecursionError) as error:
        raise answers.payload_error(tool, kind, payload, error, clean) from None


def _inner(outer: bytes) -> bytes | None:
    """Return the text inside of a wrapping, None if it is none."""
    try:
        return msgspec.json.decode(outer, type=_Wrapping).result.encode()
    except (msgspec.DecodeError, RecursionError):
        return None
