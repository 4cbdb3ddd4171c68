"""One JSON-RPC 2.0 message: bytes ⇄ value, no I/O."""

import json
import os
import re
from collections.abc import Iterable, Iterator
from math import isinf
from typing import Annotated, Any, Final, Generic, TypeVar

import msgspec
from msgspec import UNSET, Meta, Raw, UnsetType

from hindsight_bank.errors import ProtocolError

R = TypeVar("R")

METHOD_NOT_FOUND: Final = -32601

# Any JSON scalar: only an integer equal to ours is ours ("1", 1.0 and true are not), and none may fail to decode.
Id = int | float | str | bool | None


# Beyond this many bytes, JSON is weighed before it is built, and the data of an error are not built at all.
LIGHT: Final = 2**20
_MOST_DATA: Final = 2**14
# On average a value, and each bracket counts for four, has at least so many bytes in any answer seen, by far.
_LEAST_A_VALUE: Final = 6
_BRACKET: Final = 4
# A sample of so many pieces has at least so many bytes a value, or else all is counted. With twice the weight that may
# be, it has them once in 10¹⁴ times (Chernoff), even if some pieces are all brackets and the others empty.
_LEAST_SAMPLED: Final = 8
_PIECES: Final = 2**11
_PIECE: Final = 2**7
_MOST_PLAIN_DIGITS: Final = 308


class Error(msgspec.Struct):
    """The error member of a response."""

    code: Annotated[int, Meta(ge=-(2**53), le=2**53)]
    message: str = ""
    text: Raw = msgspec.field(name="data", default=Raw(b"null"))

    @property
    def data(self) -> Any:
        """What the sender adds; None if it is beyond all reason."""
        if len(bytes(self.text)) > _MOST_DATA:
            return None
        try:
            return msgspec.json.decode(self.text)
        except (msgspec.DecodeError, RecursionError):
            return None


class Message(msgspec.Struct, Generic[R], omit_defaults=True):
    """A message from the server: a response if it has no method, else a request (with an id) or a notification.

    What is not listed is ignored; a response whose result is of a known shape is decoded in the same pass.
    """

    # A Literal would do, but for its error, which quotes what it got.
    jsonrpc: Annotated[str, Meta(pattern=r"^2\.0\Z")]
    id: Id | UnsetType = UNSET
    method: str | UnsetType = UNSET
    result: R | UnsetType = UNSET
    # JSON-RPC 2.0 leaves the member out of a success; many servers write null.
    error: Error | None = None

    def answers(self, request_id: int) -> bool:
        """Tell whether this is the response to our request; presence of `method` decides before the id does."""
        return self.method is UNSET and type(self.id) is int and self.id == request_id

    def is_stray_error(self) -> bool:
        """Tell whether this is an error that its sender could not connect with a request (null or placeholder id)."""
        return self.method is UNSET and self.error is not None and type(self.id) is not int


_STRING: Final = rb'"(?:[^"\\]++|\\.)*+"'
# A string, and in the group what of it begins with a mark.
_MARKED: Final = re.compile(rb'"(?:[^"\\,\[{]++|\\.)*+(?:"|([,\[{](?:[^"\\]++|\\.)*+)")', re.DOTALL)
_STRING_OR_NUMBER: Final = re.compile(_STRING + rb"|(-?[0-9][-+.0-9eE]*+)", re.DOTALL)
# Without any of it, no number is beyond a double; in texts it means nothing.
_LONG: Final = re.compile(rb"[0-9][eE]|[0-9]{309}")
_BATCH: Final = re.compile(rb"\s*\[")
_generic: Final = msgspec.json.Decoder(Message[Raw])


def request(request_id: int, method: str, params: dict[str, Any]) -> bytes:
    """Encode a request."""
    return _encode({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params})


def notification(method: str, params: dict[str, Any] | None = None) -> bytes:
    """Encode a notification."""
    return _encode({"jsonrpc": "2.0", "method": method} | ({} if params is None else {"params": params}))


def response(request_id: Id, **member: Any) -> bytes:
    """Encode our response to a request of the server's."""
    return _encode({"jsonrpc": "2.0", "id": request_id, **member})


def decode(text: bytes) -> Message[Raw]:
    """Decode any one message and leave its result as JSON text."""
    check_weight(text)
    return decode_weighed(text)


def decode_weighed(text: bytes) -> Message[Raw]:
    """Decode what `check_weight` let through."""
    try:
        message = _generic.decode(text)
    except msgspec.ValidationError as error:
        raise ProtocolError(f"the answer is not a JSON-RPC message: {error}") from None
    except (msgspec.DecodeError, RecursionError) as error:
        raise malformed(error) from None
    if _LONG.search(text) and any(_overflows(found[1]) for found in _STRING_OR_NUMBER.finditer(text) if found[1]):
        raise ProtocolError("the answer is malformed: it holds a number beyond what a double can hold")
    return message


def _overflows(number: bytes) -> bool:
    """Tell whether a double cannot hold a number, which the decoder does not look into where it skips it."""
    return (len(number) > _MOST_PLAIN_DIGITS or b"e" in number or b"E" in number) and isinf(float(number))


def check_weight(text: bytes) -> None:
    """Refuse JSON that would be many times its size in memory, since it is made of all but empty values.

    Most is told light by a sample, in a millisecond; what weighs more than it may, but less than twice that, is rarely
    let through.
    """
    if len(text) <= LIGHT or _seems_light(text):
        return
    excess = _weight(text) - len(text) // _LEAST_A_VALUE
    if excess <= 0:
        return
    for found in _MARKED.finditer(text):
        if said := found[1]:  # which is text, and weighs nothing
            excess -= _weight(said)
            if excess <= 0:
                return
    raise ProtocolError("the answer is made of more and smaller values than any answer of Hindsight's")


def _weight(text: bytes | bytearray) -> int:
    return text.count(b",") + _BRACKET * (text.count(b"[") + text.count(b"{"))


def _seems_light(text: bytes) -> bool:
    """Judge by pieces at places that no sender can know."""
    sample, last = bytearray(), len(text) - _PIECE
    for place in memoryview(os.urandom(4 * _PIECES)).cast("I"):
        start = place % last
        sample += text[start : start + _PIECE]
    return _weight(sample) * _LEAST_SAMPLED < len(sample)


def unbatched(texts: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the messages of batches, which revision 2025-03-26 allows, and of what is none."""
    for text in texts:
        if not _BATCH.match(text):
            yield text
            continue
        try:
            check_weight(text)
            yield from map(bytes, msgspec.json.decode(text, type=list[Raw]))
        except (msgspec.DecodeError, RecursionError) as error:
            raise malformed(error) from None


def result(message: Message[Raw], shape: type[R]) -> R:
    """Decode the result that `decode` left as text."""
    try:
        return msgspec.json.decode(message.result or b"", type=shape)
    except msgspec.ValidationError as error:
        raise ProtocolError(f"the answer breaks the protocol: {error}") from None
    except (msgspec.DecodeError, RecursionError) as error:
        raise malformed(error) from None


def malformed(error: msgspec.DecodeError | RecursionError) -> ProtocolError:
    """Say what is wrong with text that is not JSON."""
    if isinstance(error, RecursionError):
        return ProtocolError("the answer is nested too deeply")
    if "truncated" in str(error):
        return ProtocolError("the answer is truncated or malformed JSON: it ends, or breaks off, inside a value")
    return ProtocolError(f"the answer is malformed: {error}")


def _encode(message: dict[str, Any]) -> bytes:
    text = msgspec.json.encode(message)
    # What JSON lacks, such as NaN, has become null, which json refuses; None hardly ever goes out.
    return json.dumps(message, ensure_ascii=False, allow_nan=False).encode() if b"null" in text else text
