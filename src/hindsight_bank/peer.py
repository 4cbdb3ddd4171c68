"""The server as one speaks with it in a generation that is known: requests, notifications, sessions.

Nothing is decided here of what to do about a refusal; that is the endpoint's.
"""

import itertools
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, Final

import msgspec
from attrs import field, frozen
from msgspec import UNSET

from hindsight_bank import jsonrpc, session
from hindsight_bank.censor import Censor
from hindsight_bank.deadline import Deadline
from hindsight_bank.errors import AnswerLostError, ArgumentsError, BankError, DeadlineError, ProtocolError
from hindsight_bank.jsonrpc import Message
from hindsight_bank.mirror import Headers
from hindsight_bank.refusal import Refusal, rpc_error
from hindsight_bank.reply import Reply
from hindsight_bank.resumption import Answer
from hindsight_bank.transport import Limits, Transport

Decode = Callable[[bytes], Message[Any]]

# Seconds for what is polite, not needed: cancelling a call, ending a session, reading past the answer.
_COURTESY: Final = 0.25
_PATIENCE: Final = 2.0
_OK: Final = 200


@frozen
class Call:
    """A request, whatever the generation.

    Attributes:
        method: The JSON-RPC method.
        params: Its params, without `_meta`.
        name: The tool's name, for the method `tools/call`.
        decode: Turns one message's JSON text into a `Message`.
        repeatable: Whether it may go out again when an idle connection turned out to be dead.
        mirrored: The arguments that go out in headers, too, where the protocol has that.
    """

    method: str
    params: dict[str, Any] = field(repr=False)
    name: str | None
    decode: Decode
    repeatable: bool
    mirrored: Headers = field(repr=False)


class Peer:
    """The server at one URL.

    Attributes:
        name: What it called itself when a session was opened, empty before.
        url: Where it is.
    """

    def __init__(self, transport: Transport, client: session.Client, limits: Limits, key: str | None) -> None:
        self.name = ""
        self.url = str(transport.url)
        self._transport = transport
        self._client = client
        self._limits = limits
        self._censor = Censor(key)
        self._base = [
            ("Content-Type", "application/json"),
            ("Accept", "application/json, text/event-stream"),
            ("Accept-Encoding", "identity"),
            ("User-Agent", f"{client.name}/{client.version}"),
        ]
        if key is not None:
            self._base.append(("Authorization", f"Bearer {key}"))
        self._ids = itertools.count(1)

    def close(self, era: session.Era | None, seconds: float = _PATIENCE) -> None:
        """End the session, quietly and soon, and close the connections."""
        try:
            if isinstance(era, session.Session):
                self._end(era, Deadline("closing", max(min(seconds, _PATIENCE), _COURTESY)))
        finally:
            self._transport.close()

    def clean(self, text: str) -> str:
        """Return a server's sentence fit for an error."""
        return self._censor.clean(text)

    def error(self, refusal: Refusal) -> BankError:
        """Return the error for a refusal, which may quote the session id that it came with."""
        self._hide(refusal.headers.get("mcp-session-id"))
        return refusal.error(self.url, self._censor)

    # -- one request -------------------------------------------------------------------------------------------------

    def request(self, era: session.Era, call: Call, deadline: Deadline) -> Message[Any] | Refusal:
        """Send a request and return the response; its `result` is there, an error has been raised."""
        request_id = next(self._ids)
        body = jsonrpc.request(request_id, call.method, era.params(call.params))
        if len(body) > self._limits.request:
            raise ArgumentsError(
                f"the request has {len(body)} bytes, more than the {self._limits.request} that are allowed: split the"
                " text into several; or, if the server takes more, Bank(..., max_request_bytes=...) in Python",
                tool=call.name or call.method,
            )
        try:
            headers = [*self._base, *era.headers(call.method, call.name, call.mirrored)]
            with self._transport.post(headers, body, deadline, repeatable=call.repeatable) as reply:
                return self._response(reply, request_id, era, call.decode)
        except DeadlineError as error:
            # Closing the connection cancels in 2026-07-28; the 2025 revisions want to be told (Cancellation).
            if isinstance(era, session.Session) and error.outcome == "unknown":
                with suppress(BankError):
                    cancelled = {"requestId": request_id, "reason": "the caller's deadline passed"}
                    self._notify(era, "notifications/cancelled", cancelled, Deadline("cancelling", _COURTESY))
            raise

    def _response(self, reply: Reply, request_id: int, era: session.Era, decode: Decode) -> Message[Any] | Refusal:
        if reply.status != _OK:
            if 200 <= reply.status < 300:  # noqa: PLR2004 - HTTP: success, which for a request is 200 alone
                raise ProtocolError(f"the server took a request without answering it (HTTP {reply.status})")
            return Refusal(reply.status, reply.headers, reply.refusal())
        stray = None
        resuming = [*self._base, *era.headers()] if isinstance(era, session.Session) and era.revision else None
        with Answer(self._transport, reply, resuming) as answer:
            texts = jsonrpc.unbatched(answer.messages()) if era.revision == session.BATCHING else answer.messages()
            for message in _decoded(texts, decode):
                if message.answers(request_id):
                    answer.finish(texts, _courtesy("draining", answer.reply.exchange.deadline))
                    return self._checked(message)
                if message.is_stray_error():
                    stray = message
                elif message.method is not UNSET and message.id is not UNSET:
                    self._serve(message, era, answer.reply.exchange.deadline)
        if stray is not None:
            return self._checked(stray)
        raise AnswerLostError("the answer ended without a response to the request")

    def _checked(self, message: Message[Any]) -> Message[Any]:
        if message.error is not None:
            raise rpc_error(message.error, self._censor)
        if message.result is UNSET:
            raise ProtocolError("the response has neither a result nor an error")
        return message

    def _serve(self, request: Message[Any], era: session.Era, deadline: Deadline) -> None:
        """Answer a request of the server's on our stream: a pong, or that we have no such method (2025 revisions)."""
        if isinstance(era, session.Stateless):
            return  # 2026-07-28 forbids both the request and an answer to it.
        if request.method == "ping":
            body = jsonrpc.response(request.id, result={})  # type: ignore[arg-type]  # set, as the caller saw
        else:
            error = {"code": jsonrpc.METHOD_NOT_FOUND, "message": "Method not found"}
            body = jsonrpc.response(request.id, error=error)  # type: ignore[arg-type]  # set, as above
        # Whether the server takes it or not, its answer to our own request may be there already.
        patience = Deadline("answering the server", min(_PATIENCE, deadline.remaining()))
        with suppress(BankError), self._transport.post([*self._base, *era.headers()], body, patience) as reply:
            reply.refusal()

    # -- sessions ----------------------------------------------------------------------------------------------------

    def open(self, deadline: Deadline) -> session.Session | Refusal:
        """Open a session (Lifecycle, "Initialization")."""
        request_id = next(self._ids)
        body = jsonrpc.request(request_id, "initialize", session.initialize_params(self._client))
        with self._transport.post(self._base, body, deadline, repeatable=True) as reply:
            session_id = reply.headers.get("mcp-session-id")
            self._hide(session_id)
            message = self._response(reply, request_id, session.Session("", None), jsonrpc.decode)
        if isinstance(message, Refusal):
            return message
        result = jsonrpc.result(message, _Initialized)
        self.name = self.clean(result.server())
        opened = session.opened(result.protocolVersion, session_id)
        try:
            self._notify(opened, "notifications/initialized", None, deadline)
        except BankError:
            self._end(opened, _courtesy("closing", deadline))
            raise
        return opened

    def discard(self, session_id: str | None, deadline: Deadline) -> None:
        """End a session that is not ours to use: mcp 1.24 to 1.29 open one for a request that they refuse."""
        self._hide(session_id)
        with suppress(BankError):
            self._end(session.opened(session.HANDSHAKE[0], session_id), _courtesy("closing", deadline))

    def _hide(self, session_id: str | None) -> None:
        if session_id:
            self._censor.hide(session_id)

    def _notify(self, era: session.Session, method: str, params: dict[str, Any] | None, deadline: Deadline) -> None:
        body = jsonrpc.notification(method, params)
        with self._transport.post([*self._base, *era.headers()], body, deadline, repeatable=True) as reply:
            refusal = reply.refusal()
            if reply.status >= 300:  # noqa: PLR2004 - HTTP: not a success
                raise self.error(Refusal(reply.status, reply.headers, refusal))

    def _end(self, era: session.Session, deadline: Deadline) -> None:
        """End a session, quietly, if the server keeps one."""
        if era.id is None:
            return
        with suppress(BankError), self._transport.delete([*self._base, *era.headers()], deadline) as reply:
            reply.refusal()


def _decoded(texts: Iterator[bytes], decode: Decode) -> Iterator[Message[Any]]:
    """Return the messages; a text is `decode`'s alone, which may let go of it while there are objects to build.

    No generator: an interrupt while one is closed would be lost.
    """
    return iter(lambda: decode(next(texts)), None)


def _courtesy(operation: str, deadline: Deadline) -> Deadline:
    """Return the deadline of what is polite, within that of what is needed."""
    return Deadline(operation, min(_COURTESY, deadline.remaining()))


class _Initialized(msgspec.Struct):
    """What we read of InitializeResult."""

    protocolVersion: str
    serverInfo: dict[str, Any] = {}

    def server(self) -> str:
        return session.server_label(self.serverInfo)
