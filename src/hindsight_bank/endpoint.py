"""One MCP endpoint: request in, response out, in whichever generation of the protocol the server speaks.

The first request goes out in the 2026-07-28 form. A server of the 2025 revisions refuses it before running anything;
then a session is opened and the request sent again. The verdict is kept, until the server refuses the generation that
it spoke: what stands behind a URL may change. A lost session is replaced, and the generation found out anew, once per
request, by one thread while the others wait. Only what was refused, hence did not run, is sent again; beyond that the
transport alone sends again, what surely did not run or may repeat.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from attrs import evolve
from msgspec import UNSET

from hindsight_bank import session
from hindsight_bank.deadline import Deadline
from hindsight_bank.errors import BankError
from hindsight_bank.jsonrpc import Message
from hindsight_bank.mirror import Headers
from hindsight_bank.peer import Call, Decode, Peer
from hindsight_bank.refusal import Refusal
from hindsight_bank.transport import Limits, Transport


class Endpoint:
    """A client of one URL: keeps the generation and the session."""

    def __init__(self, transport: Transport, client: session.Client, limits: Limits, key: str | None = None) -> None:
        self._client = client
        self._peer = Peer(transport, client, limits, key)
        self._era: session.Era | None = None
        self._opening = threading.Lock()

    @property
    def revision(self) -> str | None:
        """The protocol revision in use, None before the first answer."""
        return None if self._era is None else self._era.revision

    @property
    def server(self) -> str:
        """What the server called itself when a session was opened, empty before."""
        return self._peer.name

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
        call = Call(method, params, name, decode, repeatable, mirrored)
        answer = self._ask(era, call, deadline)
        if isinstance(answer, Refusal) and isinstance(era, session.Session):
            era = self._renewed(era, answer, deadline)
            answer = self._ask(era, call, deadline)
        if isinstance(answer, Refusal) and isinstance(era, session.Stateless):
            era = self._detected(era, answer, deadline)
            answer = self._ask(era, call, deadline)
        if isinstance(answer, Refusal):
            raise self._peer.error(answer)
        return answer

    def close(self, seconds: float = 2.0) -> None:
        """End the session, quietly and soon, and close the connections."""
        self._peer.close(self._era, seconds)

    def clean(self, text: str) -> str:
        """Return a server's sentence fit for an error."""
        return self._peer.clean(text)

    def _ask(self, era: session.Era, call: Call, deadline: Deadline) -> Message[Any] | Refusal:
        if self._era is None and isinstance(era, session.Stateless):
            call = evolve(call, decode=self._noticing(era, call.decode))
        return self._peer.request(era, call, deadline)

    def _noticing(self, era: session.Stateless, decode: Decode) -> Decode:
        """Return a `decode` that keeps the generation if a result shows it."""

        def decoded(text: bytes) -> Message[Any]:
            message = decode(text)
            if message.result is not UNSET and self._era is None and session.is_modern(text):
                self._era = era
            return message

        return decoded

    def _renewed(self, era: session.Session, refusal: Refusal, deadline: Deadline) -> session.Era:
        """Return the era in which to send again what a server refused in a session, or raise the refusal."""
        lost = era.id is not None and session.is_session_lost(refusal.status, refusal.body)
        if not lost and not session.is_other_generation(refusal.status, _code(refusal)):
            raise self._peer.error(refusal)
        if not lost:
            self._peer.discard(era.id or refusal.headers.get("mcp-session-id"), deadline)
        with self._alone(deadline):
            if self._era is not None and self._era != era:
                return self._era  # another thread was here first
            opened = self._open(deadline) if lost else refusal
            if not isinstance(opened, Refusal):
                return opened
            self._era = None
            if not session.is_other_generation(opened.status, _code(opened)):
                raise self._peer.error(opened)
        return session.Stateless(self._client)

    def _detected(self, era: session.Stateless, refusal: Refusal, deadline: Deadline) -> session.Era:
        """Return the era in which to send again what a server refused in the 2026-07-28 form, or raise the refusal."""
        if refusal.status >= 500:  # noqa: PLR2004 - HTTP: it may have run, whatever the body says
            raise self._peer.error(refusal)
        error = refusal.rpc_error()
        supported = error.data.get("supported") if error and isinstance(error.data, dict) else None
        code = _code(refusal)
        if code == session.UNSUPPORTED_VERSION and isinstance(supported, list) and era.revision in supported:
            return era
        known = isinstance(self._era, session.Stateless)
        if not session.is_handshake_server(refusal.status, code, supported, known=known):
            raise self._peer.error(refusal)
        self._peer.discard(refusal.headers.get("mcp-session-id"), deadline)
        with self._alone(deadline):
            if self._era is not None and self._era != era:
                return self._era  # another thread was here first
            opened = self._open(deadline)
            if isinstance(opened, Refusal):
                raise self._peer.error(opened)
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
        opened = self._peer.open(deadline)
        if isinstance(opened, session.Session):
            self._era = opened
        return opened


def _code(refusal: Refusal) -> int | None:
    error = refusal.rpc_error()
    return error.code if error else None
