"""Answers judged and built: from one message's JSON text to a frozen typed object.

msgspec decodes the whole envelope in one pass, straight into the types generated from our schemas. What does not fit is
looked at once more, and becomes what the tool said (`ToolError`) or what broke (`AnswerError`, `ProtocolError`).

The answer of a result is its structuredContent, else its first text. Whatever the tool, it tells of a failure where the
result has `isError`, or the answer an `error` other than null, or the `status` "error".
"""

import json
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from typing import Any, Final, Generic, TypeVar

import msgspec
from msgspec import UNSET, Raw, UnsetType

from hindsight_bank import jsonrpc, validation
from hindsight_bank.errors import AnswerError, BankError, IncompatibleServer, NotFoundError, ProtocolError, ToolError
from hindsight_bank.jsonrpc import Message
from hindsight_bank.shown import Shown
from hindsight_bank.validation import problem, types_of

T = TypeVar("T")
Clean = Callable[[str], str]

_MISSING: Final = re.compile(r"\b(bank|memory)(?: (?:'[^']*'|\S+))? (?:not found|does not exist)\b", re.IGNORECASE)
# The generation of hindsight_think says it in a code; no six-tool server sends one.
_NOT_FOUND: Final = "NOT_FOUND"
_UNKNOWN_TOOL: Final = re.compile(r"Unknown tool: ")
# Broken JSON, fenced or with a preface, holds memories; a sentence in place of an answer does not look like this.
_DATA: Final = re.compile(r'^\W*[\[({`"\ufeff]|[{}]|"\s*:')

# What is decoded of a value that a server puts where we want a sentence, in bytes.
_MOST_FAULT: Final = 4096


class ToolResult(msgspec.Struct, Generic[T]):
    """The result of `tools/call`, with the tool's own answer decoded in place."""

    structuredContent: T | UnsetType | None = UNSET
    isError: bool | None = False
    content: Raw = Raw(b"[]")
    resultType: str = "complete"


class AnyResult(msgspec.Struct):
    """The result of `tools/call` whose structured content is still to be judged."""

    structuredContent: Raw = Raw(b"null")
    isError: bool | None = False
    content: Raw = Raw(b"[]")
    resultType: str = "complete"


class _Block(msgspec.Struct):
    """A content block: only text matters here."""

    type: str = ""
    text: str | None = None


class _Fault(msgspec.Struct):
    """The ways in which Hindsight says inside a result that a tool failed."""

    error: Raw = Raw(b"null")
    status: Raw = Raw(b"null")
    message: Raw = Raw(b"null")


class _Detail(msgspec.Struct):
    """An error that is more than a sentence."""

    message: str
    code: Raw = Raw(b"null")


def decoder(tool: str) -> Callable[[bytes], Message[Any]]:
    """Return the decoder of messages that answer a call of `tool`; a result that does not fit stays JSON text."""
    typed = _typed_decoder(tool)

    def decode(text: bytes) -> Message[Any]:
        jsonrpc.check_weight(text)
        try:
            message = typed.decode(text)
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
        raise unfinished(result.resultType, clean)
    if result.isError:
        raise tool_error(tool, *reason(b"", result.content), clean)
    built: Any = result.structuredContent
    if built is UNSET or built is None:
        built = _from_text(tool, text_of(result.content), clean)
    return built if isinstance(built, Shown) else built.build()  # a twin


def conform(value: Any, schema: Mapping[str, Any]) -> None:
    """Check reflect's `structured_output` against the caller's `response_schema`."""
    if problems := validation.violations(value, schema, trusted=True):
        raise AnswerError(
            "reflect: structured_output breaks the response_schema: " + "; ".join(problems),
            tool="reflect",
            problems=problems,
        )


def _says_error(built: Any) -> bool:
    """Tell whether an answer that fits its schema calls itself an error."""
    status = getattr(built, "status", b"")
    return len(status) > 0 and _scalar(status) == "error"


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
        raise tool_error(tool, *reason(payload, Raw()), clean)
    return built


def _complaint(tool: str, raw: Raw, clean: Clean) -> BankError:
    """Return the error for a result that did not decode: what the tool says first, then what its schema says."""
    try:
        result = msgspec.json.decode(raw, type=AnyResult)
    except (msgspec.DecodeError, RecursionError) as error:
        return ProtocolError(f"{tool}: the result is no tool result: {error}")
    if result.resultType != "complete":
        return unfinished(result.resultType, clean)
    payload = bytes(result.structuredContent)
    if result.isError:
        return tool_error(tool, *reason(payload, result.content), clean)
    if (fault := fault_of(payload)) is not None:
        return tool_error(tool, *fault, clean)
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
    if (fault := fault_of(payload)) is not None:
        return tool_error(tool, *fault, clean)
    if "out of range" in str(error):
        return ProtocolError(f"{tool}: the answer holds a number beyond what a double or 64 bits can hold")
    if isinstance(error, msgspec.ValidationError):
        broken = problem(error, kind)
        return AnswerError(f"{tool}: the answer breaks the schema: {broken}", tool=tool, problems=[broken])
    text = payload.decode(errors="replace")
    if _DATA.search(text):
        return jsonrpc.malformed(error)
    # A sentence where a value should be: servers say so when a tool fails. Whether it ran, only isError would tell.
    said = tool_error(tool, text, None, clean)
    said.outcome = "unknown"
    return said


def reason(structured: bytes, content: Raw) -> tuple[str, str | None]:
    """Return what a result that calls itself an error says of it, and its code; an empty sentence if nothing."""
    text = text_of(content) or ""
    return fault_of(structured) or fault_of(text.encode()) or (text, None)


def fault_of(payload: bytes) -> tuple[str, str | None] | None:
    """Return the sentence and the code of a failure that the payload tells, None if it tells none."""
    try:
        fault = msgspec.json.decode(payload, type=_Fault)
    except (msgspec.DecodeError, RecursionError):
        return None
    if fault.error != Raw(b"null"):
        return _told(fault.error)
    if _scalar(fault.status) == "error":
        return _scalar(fault.message) or "", None
    return None


def _told(error: Raw) -> tuple[str, str | None]:
    """Return the sentence and the code of an `error`, whatever it is."""
    if (sentence := _scalar(error)) is not None:
        return sentence, None
    with suppress(msgspec.DecodeError, RecursionError):
        detail = msgspec.json.decode(error, type=_Detail)
        return detail.message, _scalar(detail.code)
    with suppress(msgspec.DecodeError, RecursionError):
        if len(bytes(error)) <= _MOST_FAULT:
            return json.dumps(msgspec.json.decode(error), ensure_ascii=False), None
    return "", None


def _scalar(text: Raw | bytes) -> str | None:
    """Return the string that JSON text is, None if it is none."""
    try:
        return msgspec.json.decode(text, type=str)
    except (msgspec.DecodeError, RecursionError):
        return None


def text_of(content: Raw) -> str | None:
    """Return the text of the first text block."""
    try:
        blocks = msgspec.json.decode(content, type=list[_Block] | None) or []
    except (msgspec.DecodeError, RecursionError):
        return None
    return next((block.text for block in blocks if block.type == "text" and block.text is not None), None)


def tool_error(tool: str, message: str, code: str | None, clean: Clean) -> BankError:
    """Return the error for what a tool said of its failure."""
    sentence = clean(message) or "the tool failed without saying why"
    code = code and clean(code)
    if _UNKNOWN_TOOL.match(message):
        return IncompatibleServer(f"the server no longer offers {tool}: {sentence}", missing=[tool])
    found = _MISSING.search(message)
    if code == _NOT_FOUND or (found and code is None):
        return NotFoundError(sentence, tool=tool, code=code, what=found[1].lower() if found else "bank")
    return ToolError(sentence, tool=tool, code=code)


def unfinished(kind: str, clean: Clean) -> ProtocolError:
    """Return the error for a result that is not complete."""
    if kind == "input_required":
        return ProtocolError("the server asks for input before it answers, which this client cannot give")
    return ProtocolError(f"the result is of an unknown kind, {clean(kind)[:40]!r}")
