"""MCP's rules as values, both generations of the protocol; no I/O.

Two generations are on the wire, and which one a server speaks is a property of the server:

* **2026-07-28** (`Stateless`): every request stands alone and says in headers and `_meta` what it is.
* **the 2025 revisions** (`Session`): `initialize` opens a session, whose id and revision go with every later message.

Section names in comments are those of the MCP specification, "Basic protocol".
"""

from typing import Any, Final

import msgspec
from attrs import frozen
from msgspec import UNSET

from hindsight_bank.errors import IncompatibleServer, ProtocolError
from hindsight_bank.mirror import Headers, encoded

MODERN: Final = "2026-07-28"
# The revisions of the initialize era that we speak, newest first: we offer the first, the server may pick another.
HANDSHAKE: Final = ("2025-11-25", "2025-06-18", "2025-03-26")

# The only revision with batches (Transports, "Sending messages to the server"): we send none, but read them.
BATCHING: Final = "2025-03-26"

META: Final = "io.modelcontextprotocol/"
SERVER_INFO: Final = META + "serverInfo"

HEADER_MISMATCH: Final = -32020
MISSING_CAPABILITY: Final = -32021
UNSUPPORTED_VERSION: Final = -32022
_METHOD_NOT_FOUND: Final = -32601
_INVALID_PARAMS: Final = -32602
_PARSE_ERROR: Final = -32700

# The statuses by which a server refuses a message whose form it does not know, unread.
_UNREAD: Final = (400, 404, 405, 406)


@frozen
class Client:
    """What we say of ourselves."""

    name: str
    version: str

    def info(self) -> dict[str, str]:
        """Return `clientInfo`."""
        return {"name": self.name, "version": self.version}


@frozen
class Stateless:
    """The 2026-07-28 revision: no session, everything travels with each request."""

    client: Client
    revision: str = MODERN

    def headers(self, method: str, name: str | None = None, mirrored: Headers = ()) -> Headers:
        """Return the headers of a request ("Request Metadata"), `mirrored` arguments among them."""
        headers = (("MCP-Protocol-Version", self.revision), ("Mcp-Method", method))
        return headers if name is None else (*headers, ("Mcp-Name", encoded(name)), *mirrored)

    def params(self, params: dict[str, Any]) -> dict[str, Any]:
        """Return `params` with the `_meta` that every request must have (General fields, "_meta")."""
        meta = {
            META + "protocolVersion": self.revision,
            META + "clientInfo": self.client.info(),
            META + "clientCapabilities": {},
        }
        return {**params, "_meta": meta}


@frozen
class Session:
    """One of the 2025 revisions: a session that `initialize` opened; without an id the server keeps none.

    While it is being opened, the revision is empty, and no header names it.
    """

    revision: str
    id: str | None

    def headers(self, *_: object) -> Headers:
        """Return the headers of every message after `initialize`: of whatever request."""
        headers = (("MCP-Protocol-Version", self.revision),) if self.revision else ()
        return headers if self.id is None else (*headers, ("Mcp-Session-Id", self.id))

    def params(self, params: dict[str, Any]) -> dict[str, Any]:
        """Return `params` as they are."""
        return params

    def __repr__(self) -> str:
        return f"Session(revision={self.revision!r}, id={'…' if self.id else None!r})"


Era = Stateless | Session


def initialize_params(client: Client) -> dict[str, Any]:
    """Return the params of `initialize` (Lifecycle, "Initialization"): the latest such revision, no capabilities."""
    return {"protocolVersion": HANDSHAKE[0], "capabilities": {}, "clientInfo": client.info()}


def opened(revision: str, session_id: str | None) -> Session:
    """Return the session that a successful `initialize` opened (Transports, "Session management")."""
    if revision not in HANDSHAKE:
        raise IncompatibleServer(f"the server speaks none of the protocol revisions {MODERN}, {', '.join(HANDSHAKE)}")
    if session_id is not None and not (session_id.isascii() and session_id.isprintable() and " " not in session_id):
        raise ProtocolError("the server gave a session id with characters that the protocol forbids")
    return Session(revision, session_id or None)


def is_modern(text: bytes) -> bool:
    """Tell whether a response shows that the server speaks 2026-07-28, where every result has a `resultType`.

    One without is read all the same (Results), but a server of the 2025 revisions might have sent it.
    """
    try:
        return msgspec.json.decode(text, type=_Evidence).result.resultType is not UNSET
    except (msgspec.DecodeError, RecursionError):
        return False


class _Result(msgspec.Struct):
    resultType: Any = UNSET


class _Evidence(msgspec.Struct):
    result: _Result


def is_other_generation(status: int, code: int | None) -> bool:
    """Tell whether a refusal may mean that the server does not, or no longer, speak the generation of the request."""
    return status in _UNREAD and code != _PARSE_ERROR


def is_handshake_server(status: int, code: int | None, supported: object, *, known: bool = False) -> bool:
    """Tell whether the refusal of a modern request means that the server is of the 2025 revisions.

    Versioning, "Backward compatibility": a 4xx whose body is none of the modern errors. What says nothing of the
    generation is no verdict: authorization, throttling, size, and faults of the server. One `known` to be modern, which
    says that params are invalid, means just that.
    """
    if code == UNSUPPORTED_VERSION:
        return isinstance(supported, list) and MODERN not in supported and any(v in HANDSHAKE for v in supported)
    if known and code in (_INVALID_PARAMS, _PARSE_ERROR):
        return False
    return status in _UNREAD and code not in (HEADER_MISMATCH, MISSING_CAPABILITY, _METHOD_NOT_FOUND)


def is_session_lost(status: int, body: bytes) -> bool:
    """Tell whether a refusal of a message that carried a session id means that the session is gone.

    404 by the specification; mcp 1.24 to 1.27 say 400 "No valid session ID provided". Neither ran the request.
    """
    return status == 404 or (status == 400 and b"session id" in body.lower())  # noqa: PLR2004 - HTTP


def server_label(info: Any) -> str:
    """Return "name version" as the server reports them; nothing is decided by it."""
    if not isinstance(info, dict):
        return ""
    return " ".join(part for part in (info.get("name"), info.get("version")) if isinstance(part, str))
