"""What a tool says of its failure, made an error.

Whatever the tool, it tells of one where its result has `isError`, or the answer an `error` other than null, or the
`status` "error".
"""

import json
import re
from collections.abc import Callable
from contextlib import suppress
from typing import Final

import msgspec
from msgspec import Raw

from hindsight_bank.errors import BankError, IncompatibleServer, NotFoundError, ProtocolError, ToolError

Clean = Callable[[str], str]

_MISSING: Final = re.compile(r"\b(bank|memory)(?: (?:'[^']*'|\S+))? (?:not found|does not exist)\b", re.IGNORECASE)
# The generation of hindsight_think says it in a code; no six-tool server sends one.
_NOT_FOUND: Final = "NOT_FOUND"
_UNKNOWN_TOOL: Final = re.compile(r"Unknown tool: ")
# How a server says that it will not write: of the arguments or, the last, of a text that its database does not take.
# Anything else it says of whatever failed, after its commit, too: then nobody knows.
_UNFIT: Final = re.compile(
    r"Operation validation failed: |[0-9]+ validation errors? for |Invalid timestamp|Timestamp |No bank_id "
    r"|unsupported Unicode escape"
)
_INVALID: Final = "INVALID_PARAMS"
# What is decoded of a value that a server puts where we want a sentence, in bytes.
_MOST_FAULT: Final = 4096


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
    if scalar(fault.status) == "error":
        return scalar(fault.message) or "", None
    return None


def _told(error: Raw) -> tuple[str, str | None]:
    """Return the sentence and the code of an `error`, whatever it is."""
    if (sentence := scalar(error)) is not None:
        return sentence, None
    with suppress(msgspec.DecodeError, RecursionError):
        detail = msgspec.json.decode(error, type=_Detail)
        return detail.message, scalar(detail.code)
    with suppress(msgspec.DecodeError, RecursionError):
        if len(bytes(error)) <= _MOST_FAULT:
            return json.dumps(msgspec.json.decode(error), ensure_ascii=False), None
    return "", None


def scalar(text: Raw | bytes) -> str | None:
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


def is_before_writing(error: ToolError) -> bool:
    """Tell whether a tool said no before it wrote anything."""
    return isinstance(error, NotFoundError) or error.code == _INVALID or _UNFIT.match(error.message) is not None
