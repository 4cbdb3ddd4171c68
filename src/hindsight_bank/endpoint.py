"""One MCP endpoint: request in, response out, in whichever generation of the protocol the server speaks.

The first request goes out in the 2026-07-28 form. A server of the 2025 revisions refuses it before running anything;
then a session is opened and the request sent again. The verdict is kept, until the server refuses the generation that
it spoke: what stands behind a URL may change. A lost session is replaced, and the generation found out anew, once per
request, by one thread while the others wait. Only what was refused, hence did not run, is sent again; beyond that the
transport alone sends again, what surely did not run or may repeat.
"""

import itertools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final

import msgspec
from attrs import field, frozen
from msgspec import UNSET

from hindsight_bank import jsonrpc, session
from hindsight_bank.censor import Censor
from hindsight_bank.deadline import Deadline
from hindsight_bank.errors import (
    AnswerLostError,
    ArgumentsError,
    BankError,
    DeadlineError,
    ProtocolError,
)
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
class _Call:
    """A request, whatever the generation."""

    method: str
    params: dict[str, Any] = field(repr=False)
    name: str | None
    decode: Decode
    repeatable: bool
    mirrored: Headers = field(repr=False)


class Endpoint:
    """A client of one URL: keeps the generation, the session and the ids."""

    def __init__(self, transport: Transport, client: session.Client, limits: Limits, key: str | None = None) -> None:
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
        self._era: session.Era | None = None
        self._opening = threading.Lock()
        self.server = ""

    @property
    def revision(self) -> str | None:
        """The protocol revision in use, None before the first answer."""
        return None if self._era is None else self._era.revision

    def request(
        self,
        method: str,
        params: dict[str, Any],
        deadline: Deadline,
        *,
        decode: Decode,
        name: str | None = None,
        repeatable: bool = True,
        mirrored: Headers = (),
    ) -> Message[Any]:
        """Return the response to a request; its `result` is there, an error has been raised.

        Args:
            method: The JSON-RPC method.
            params: Its params, without `_meta`.
            deadline: Covers everything, detection and a new session included.
            name: The tool's name, for the method `tools/call`.
            decode: Turns one message's JSON text into a `Message`.
            repeatable: Whether it may go out again when an idle connection turned out to be dead.
            mirrored: The arguments that go out in headers, too, where the protocol has that.
        """
        era = self._era or session.Stateless(self._client)
        call = _Call(method, params, name, decode, repeatable, mirrored)
        answer = self._exchange(era, call, deadline)
        if isinstance(answer, Refusal) and isinstance(era, session.Session):
            era = self._renewed(era, answer, deadline)
            answer = self._exchange(era, call, deadline)
        if isinstance(answer, Refusal) and isinstance(era, session.Stateless):
            era = self._detected(era, answer, deadline)
            answer = self._exchange(era, call, deadline)
        if isinstance(answer, Refusal):
            raise self._error(answer)
        return answer

    def close(self, seconds: float = _PATIENCE) -> None:
        """End the session, quietly and soon, and close the connections."""
        try:
            with suppress(BankError):
                if isinstance(self._era, session.Session) and self._era.id is not None:
                    self._delete(self._era, Deadline("closing", max(min(seconds, _PATIENCE), _COURTESY)))
        finally:
            self._transport.close()

    def clean(self, text: str) -> str:
        """Return a server's sentence fit for an error."""
        return self._censor.clean(text)

    # -- one exchange ------------------------------------------------------------------------------------------------

    def _exchange(self, era: session.Era, call: _Call, deadline: Deadline) -> Message[Any] | Refusal:
        request_id = next(self._ids)
        body = jsonrpc.request(request_id, call.method, era.params(call.params))
        if len(body) > self._limits.request:
            raise ArgumentsError(
                f"the request has {len(body)} bytes, more than max_request_bytes={self._limits.request}:"
                " send less, or raise the limit if the server takes more",
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
            messages = jsonrpc.unbatched(answer.messages()) if era.revision == session.BATCHING else answer.messages()
            for text in messages:
                message = decode(text)
                if message.answers(request_id):
                    answer.finish(messages, _courtesy("draining", answer.reply.exchange.deadline))
                    if self._era is None and isinstance(era, session.Stateless) and session.is_modern(text):
                        self._era = era
                    return self._checked(message)
                if message.is_stray_error():
                    stray = message
                elif message.method is not UNSET and message.id is not UNSET:
                    self._serve(message, era, answer.reply.exchange.deadline)
        if stray is not None:
            return self._checked(stray)
        raise AnswerLostError("the answer ended without a response to the request")

    def _checked(self, message: Message[Any]) -> Message[Any]:
        if isinstance(message.error, jsonrpc.Error):
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

    # -- generations and sessions ------------------------------------------------------------------------------------

    def _renewed(self, era: session.Session, refusal: Refusal, deadline: Deadline) -> session.Era:
        """Return the era in which to send again what a server refused in a session, or raise the refusal."""
        lost = era.id is not None and session.is_session_lost(refusal.status, refusal.body)
        if not lost and not session.is_other_generation(refusal.status, _code(refusal)):
            raise self._error(refusal)
        with self._alone(deadline):
            if self._era is not None and self._era != era:
                return self._era  # another thread was here first
            opened = self._open(deadline) if lost else refusal
            if not isinstance(opened, Refusal):
                return opened
            self._era = None
            if not session.is_other_generation(opened.status, _code(opened)):
                raise self._error(opened)
        if not lost:
            self._end(era.id or refusal.headers.get("mcp-session-id"), deadline)
        return session.Stateless(self._client)

    def _detected(self, era: session.Stateless, refusal: Refusal, deadline: Deadline) -> session.Era:
        """Return the era in which to send again what a server refused in the 2026-07-28 form, or raise the refusal."""
        error = refusal.rpc_error()
        supported = error.data.get("supported") if error and isinstance(error.data, dict) else None
        code = _code(refusal)
        if code == session.UNSUPPORTED_VERSION and isinstance(supported, list) and era.revision in supported:
            return era
        known = isinstance(self._era, session.Stateless)
        if not session.is_handshake_server(refusal.status, code, supported, known=known):
            raise self._error(refusal)
        self._end(refusal.headers.get("mcp-session-id"), deadline)
        with self._alone(deadline):
            if self._era is not None and self._era != era:
                return self._era  # another thread was here first
            opened = self._open(deadline)
            if isinstance(opened, Refusal):
                raise self._error(opened)
            return opened

    @contextmanager
    def _alone(self, deadline: Deadline) -> Iterator[None]:
        """Let one thread change the era; whatever goes wrong meanwhile, the request that needs it did not run."""
        if not self._opening.acquire(timeout=deadline.remaining()):
            raise deadline.error("refused")
        try:
            yield
        except BankError as error:
            error.outcome = "refused"
            raise
        finally:
            self._opening.release()

    def _open(self, deadline: Deadline) -> session.Session | Refusal:
        """Open a session and keep it; without one the next call starts clean, without a dead id."""
        self._era = None
        opened = self._initialize(deadline)
        if isinstance(opened, session.Session):
            self._era = opened
        return opened

    def _initialize(self, deadline: Deadline) -> session.Session | Refusal:
        """Open a session (Lifecycle, "Initialization")."""
        request_id = next(self._ids)
        body = jsonrpc.request(request_id, "initialize", session.initialize_params(self._client))
        with self._transport.post(self._base, body, deadline, repeatable=True) as reply:
            message = self._response(reply, request_id, session.Session("", None), jsonrpc.decode)
        if isinstance(message, Refusal):
            return message
        session_id = reply.headers.get("mcp-session-id")
        if session_id:
            self._censor.hide(session_id)
        result = jsonrpc.result(message, _Initialized)
        self.server = self.clean(result.server())
        opened = session.opened(result.protocolVersion, session_id)
        try:
            self._notify(opened, "notifications/initialized", None, deadline)
        except BankError:
            with suppress(BankError):
                self._delete(opened, _courtesy("closing", deadline))
            raise
        return opened

    def _notify(self, era: session.Session, method: str, params: dict[str, Any] | None, deadline: Deadline) -> None:
        body = jsonrpc.notification(method, params)
        with self._transport.post([*self._base, *era.headers()], body, deadline, repeatable=True) as reply:
            refusal = reply.refusal()
            if reply.status >= 300:  # noqa: PLR2004 - HTTP: not a success
                raise self._error(Refusal(reply.status, reply.headers, refusal))

    def _end(self, session_id: str | None, deadline: Deadline) -> None:
        """End a session that is not ours to use: mcp 1.24 to 1.29 open one for a request that they refuse."""
        if session_id:
            self._censor.hide(session_id)
            with suppress(BankError):
                self._delete(session.opened(session.HANDSHAKE[0], session_id), _courtesy("closing", deadline))

    def _delete(self, era: session.Session, deadline: Deadline) -> None:
        with self._transport.delete([*self._base, *era.headers()], deadline) as reply:
            reply.refusal()

    def _error(self, refusal: Refusal) -> BankError:
        return refusal.error(str(self._transport.url), self._censor)


def _courtesy(operation: str, deadline: Deadline) -> Deadline:
    """Return the deadline of what is polite, within that of what is needed."""
    return Deadline(operation, min(_COURTESY, deadline.remaining()))


def _code(refusal: Refusal) -> int | None:
    error = refusal.rpc_error()
    return error.code if error else None


class _Initialized(msgspec.Struct):
    """What we read of InitializeResult."""

    protocolVersion: str
    serverInfo: dict[str, Any] = {}

    def server(self) -> str:
        return session.server_label(self.serverInfo)
