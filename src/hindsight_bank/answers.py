"""Answers judged and built: from one message's JSON text to a frozen typed object.

msgspec decodes the whole envelope in one pass, straight into the types generated from our schemas. What does not fit is
looked at once more, and becomes what the tool said (`ToolError`) or what broke (`AnswerError`, `ProtocolError`).

The answer of a result is its structuredContent, else its first text.
"""

import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Final, Generic, TypeVar

import msgspec
from msgspec import UNSET, Raw, UnsetType

from hindsight_bank import failures, jsonrpc, validation
from hindsight_bank.errors import AnswerError, BankError, ProtocolError
from hindsight_bank.failures import Clean
from hindsight_bank.jsonrpc import Message
from hindsight_bank.shown import Shown
from hindsight_bank.validation import problem, types_of

T = TypeVar("T")

# Broken JSON, fenced or with a preface, holds memories; a sentence in place of an answer does not look like this.
_DATA: Final = re.compile(r'^\W*[\[({`"\ufeff]|[{}]|"\s*:')

# What is to be left of a message, at most, that is written anew.
_WORTHWHILE: Final = 3 / 4


class ToolResult(msgspec.Struct, Generic[T]):
    """The result of `tools/call`, with the tool's own answer decoded in place."""

    structuredContent: T | UnsetType | None = UNSET
    isError: bool | None = False
    content: Raw = Raw(b"[]")
    resultType: str = "complete"


class _Kept(msgspec.Struct, omit_defaults=True):
    """What is read of such a result, with the same defaults, but for its content."""

    structuredContent: Raw = Raw(b"null")
    isError: bool | None = False
    resultType: str = "complete"


class AnyResult(msgspec.Struct):
    """The result of `tools/call` whose structured content is still to be judged."""

    structuredContent: Raw = Raw(b"null")
    isError: bool | None = False
    content: Raw = Raw(b"[]")
    resultType: str = "complete"


def decoder(tool: str) -> Callable[[bytes], Message[Any]]:
    """Return the decoder of messages that answer a call of `tool`; a result that does not fit stays JSON text."""
    typed = _typed_decoder(tool).decode

    def decode(text: bytes) -> Message[Any]:
        jsonrpc.check_weight(text)
        if len(text) > jsonrpc.LIGHT:
            text = _said_once(text)
        try:
            message = typed(text)
        except (msgspec.DecodeError, RecursionError):
            return jsonrpc.decode_weighed(text)
        # What it says of its failure is where no schema looks.
        return (
            jsonrpc.decode_weighed(text) if _says_error(getattr(message.result, "structuredContent", None)) else message
        )

    return decode


def answer(tool: str, result: Any, clean: Clean) -> Any:
    """Return the tool's typed answer, or raise what the result says.

    Args:
        tool: The tool's name.
        result: The `result` of a message that `decoder(tool)` decoded.
        clean: Makes a sentence of the server's fit for an error.
    """
    if isinstance(result, Raw):
        raise _complaint(tool, result, clean)
    if result.resultType != "complete":
        raise failures.unfinished(result.resultType, clean)
    if result.isError:
        raise failures.tool_error(tool, *failures.reason(b"", result.content), clean)
    built: Any = result.structuredContent
    if built is UNSET or built is None:
        built = _from_text(tool, failures.text_of(result.content), clean)
    return built if isinstance(built, Shown) else built.build()  # a twin


def conform(value: Any, schema: Mapping[str, Any]) -> None:
    """Check reflect's `structured_output` against the caller's `response_schema`."""
    if problems := validation.violations(value, schema, trusted=True):
        raise AnswerError(
            "reflect: structured_output breaks the response_schema: " + "; ".join(problems),
            tool="reflect",
            problems=problems,
        )


def _said_once(text: bytes) -> bytes:
    """Return a message without the text that says its structured content again (Tools, "Structured Content").

    That is half of a large one, and in nobody's way once there are objects to build. Where there is little to gain, or
    something is wrong, which whoever decodes it will say, the message is what it was. Of a key that comes twice, the
    last counts.
    """
    try:
        message = _kept.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return text
    result = message.result
    if result is UNSET or result.isError or result.structuredContent == Raw(b"null"):
        return text
    return msgspec.json.encode(message) if len(result.structuredContent) < _WORTHWHILE * len(text) else text


def _says_error(built: Any) -> bool:
    """Tell whether an answer that fits its schema calls itself an error."""
    status = getattr(built, "status", b"")
    return len(status) > 0 and failures.scalar(status) == "error"


_kept: Final = msgspec.json.Decoder(Message[_Kept])


@cache
def _typed_decoder(tool: str) -> msgspec.json.Decoder[Message[Any]]:
    message: Any = Message  # the answer's type is known at run time only
    result: Any = ToolResult
    return msgspec.json.Decoder(message[result[types_of(tool).Answer]])


def _from_text(tool: str, text: str | None, clean: Clean) -> Any:
    """Build the answer from the text block, for servers without structuredContent."""
    if not text:
        raise ProtocolError(f"{tool}: the result has neither structuredContent nor a text")
    payload, kind = text.encode(), types_of(tool).Answer
    jsonrpc.check_weight(payload)
    try:
        built: Any = msgspec.json.decode(payload, type=kind)
    except (msgspec.DecodeError, RecursionError) as error:
        raise payload_error(tool, kind, payload, error, clean) from None
    if _says_error(built):
        raise failures.tool_error(tool, *failures.reason(payload, Raw()), clean)
    return built


def _complaint(tool: str, raw: Raw, clean: Clean) -> BankError:
    """Return the error for a result that did not decode: what the tool says first, then what its schema says."""
    try:
        result = msgspec.json.decode(raw, type=AnyResult)
    except (msgspec.DecodeError, RecursionError) as error:
        return ProtocolError(f"{tool}: the result is no tool result: {error}")
    if result.resultType != "complete":
        return failures.unfinished(result.resultType, clean)
    payload = bytes(result.structuredContent)
    if result.isError:
        return failures.tool_error(tool, *failures.reason(payload, result.content), clean)
    if (fault := failures.fault_of(payload)) is not None:
        return failures.tool_error(tool, *fault, clean)
    kind = types_of(tool).Answer
    try:
        msgspec.json.decode(payload, type=kind)
    except (msgspec.DecodeError, RecursionError) as error:
        return payload_error(tool, kind, payload, error, clean)
    return ProtocolError(f"{tool}: the result is no tool result")


def payload_error(
    tool: str, kind: Any, payload: bytes, error: msgspec.DecodeError | RecursionError, clean: Clean
) -> BankError:
    """Return the error for an answer that does not fit `kind`, the tool's own type."""
    if (fault := failures.fault_of(payload)) is not None:
        return failures.tool_error(tool, *fault, clean)
    if "out of range" in str(error):
        return ProtocolError(f"{tool}: the answer holds a number beyond what a double or 64 bits can hold")
    if isinstance(error, msgspec.ValidationError):
        broken = problem(error, kind)
        return AnswerError(f"{tool}: the answer breaks the schema: {broken}", tool=tool, problems=[broken])
    text = payload.decode(errors="replace")
    if _DATA.search(text):
        return jsonrpc.malformed(error)
    # A sentence where a value should be: servers say so when a tool fails. Whether it ran, only isError would tell.
    said = failures.tool_error(tool, text, None, clean)
    said.outcome = "unknown"
    return said
