"""The error tree: cut by what the caller does next.

BankError                          everything this package raises on purpose; .outcome says of the request:
│                                  "not_sent" | "refused" (the server said no) | "unknown" (it may have run)
├── SettingsError (ValueError)     URL, bank id or binding refused before any I/O    fix the settings
│   └── ReconnectRequired          settings of another kind: kept, never used        connect again    .path .found
├── CredentialsError               no usable key store, or an unusable key           .source names where it came from
├── ClosedError                    used after close                                  open another Bank
├── ArgumentsError (ValueError)    refused here; nothing was sent                    fix the call     .tool .problems
├── BackingOffError                a failed connection cools down; nothing was sent  wait .retry_after seconds
├── UnreachableError               no connection, or it broke before all was sent    repeat freely
├── AnswerLostError                sent, but no whole answer came back (a cut)       look before repeating a retain
├── DeadlineError (TimeoutError)   the call's own deadline passed                    .seconds .operation .outcome
├── StatusError                    an HTTP status other than 2xx (5xx: unknown)      .status .retry_after
│   └── UnauthorizedError          401 or 403                                        another key
├── ProtocolError                  a whole answer that is not JSON, JSON-RPC or MCP, or is too large    report it
├── RPCError                       a JSON-RPC error                                  .code .message .data
├── IncompatibleServer             a required tool is missing, or no common revision .missing .server
├── ToolError                      the tool ran and said no                          .tool .message .code
│   └── NotFoundError              … because the bank or memory does not exist       .what
└── AnswerError                    the answer breaks the tool's schema               .tool .problems

Every class takes its message first and its attributes by keyword, each with a default, so that errors survive
pickling. No message carries a key, a session id or a memory's text.
"""

from collections.abc import Sequence
from typing import Any, Literal

__all__ = [
    "AnswerError",
    "AnswerLostError",
    "ArgumentsError",
    "BackingOffError",
    "BankError",
    "ClosedError",
    "CredentialsError",
    "DeadlineError",
    "IncompatibleServer",
    "NotFoundError",
    "Outcome",
    "ProtocolError",
    "RPCError",
    "ReconnectRequired",
    "SettingsError",
    "StatusError",
    "ToolError",
    "UnauthorizedError",
    "UnreachableError",
]

Outcome = Literal["not_sent", "refused", "unknown"]


class BankError(Exception):
    """Everything this package raises on purpose.

    Attributes:
        outcome: What became of the request. ``"not_sent"``: it never left whole; ``"refused"``: the server said no,
            so it did nothing; ``"unknown"``: it may have run, so look before repeating a ``retain``.
    """

    outcome: Outcome = "not_sent"

    def __init__(self, message: str, *, outcome: Outcome | None = None) -> None:
        super().__init__(message)
        if outcome is not None:
            self.outcome = outcome


class SettingsError(BankError, ValueError):
    """A server URL, bank id or other setting was refused before any I/O: fix the settings."""


class ReconnectRequired(SettingsError):  # noqa: N818 - names what is to be done
    """Settings of another kind, which name a bank by a folder, a launch or a header: they are kept and never used.

    Attributes:
        path: The file that holds them.
        found: What was recognised in it, a phrase each; never a value of it.
    """

    def __init__(self, message: str, *, path: str = "", found: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.path = path
        self.found = tuple(found)


class CredentialsError(BankError):
    """There is no usable key store, or the key cannot be used.

    Attributes:
        source: Where the key came from, for example ``"api_key"``; empty if there is none.
    """

    def __init__(self, message: str, *, source: str = "") -> None:
        super().__init__(message)
        self.source = source


class ClosedError(BankError):
    """The bank was used after ``close()``: open another ``Bank``."""


class ArgumentsError(BankError, ValueError):
    """The arguments were refused here and nothing was sent: fix the call.

    Attributes:
        tool: The tool that was to be called.
        problems: One sentence each, ``what was expected @ $.path``; never the value.
    """

    def __init__(self, message: str, *, tool: str = "", problems: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.tool = tool
        self.problems = tuple(problems)


class BackingOffError(BankError):
    """A connection failed a moment ago and cools down; nothing was sent.

    Attributes:
        retry_after: Seconds until the next attempt is allowed.
    """

    def __init__(self, message: str, *, retry_after: float = 0.0) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class UnreachableError(BankError):
    """No connection was made, or it broke before the whole request was out: repeat freely."""


class AnswerLostError(BankError):
    """The request went out, but no whole answer came back: look before repeating a ``retain``."""

    outcome: Outcome = "unknown"


class DeadlineError(BankError, TimeoutError):
    """The call's own deadline passed.

    Attributes:
        seconds: The limit, in seconds.
        operation: What was being done, for example ``"reflect"``.
    """

    def __init__(
        self, message: str, *, seconds: float = 0.0, operation: str = "", outcome: Outcome | None = None
    ) -> None:
        super().__init__(message, outcome=outcome)
        self.seconds = seconds
        self.operation = operation

    def __str__(self) -> str:
        sent = "; the request had been sent, so it may have run" if self.outcome == "unknown" else ""
        return super().__str__() + sent


class StatusError(BankError):
    """The server, or something before it, answered with an HTTP status other than success.

    Attributes:
        status: The HTTP status. ``outcome`` is ``"unknown"`` for 5xx, else ``"refused"``.
        retry_after: The seconds the server asked to wait, if it did.
    """

    outcome: Outcome = "refused"

    def __init__(
        self, message: str, *, status: int = 0, retry_after: float | None = None, outcome: Outcome | None = None
    ) -> None:
        super().__init__(message, outcome=outcome)
        self.status = status
        self.retry_after = retry_after


class UnauthorizedError(StatusError):
    """401 or 403: the server wants a key, or another one."""


class ProtocolError(BankError):
    """A whole answer that is not JSON, JSON-RPC or MCP, to be reported; or one that is too large: ask for less."""

    outcome: Outcome = "unknown"


class RPCError(BankError):
    """The server answered with a JSON-RPC error.

    Attributes:
        code: The JSON-RPC error code. ``outcome`` is ``"refused"`` for those that refuse a request unread, and for most
            in an HTTP 4xx, else ``"unknown"``.
        message: The server's sentence.
        data: What the server sent along; any JSON value, None if nothing.
    """

    outcome: Outcome = "refused"

    def __init__(
        self,
        message: str,
        *,
        code: int = 0,
        data: object = None,
        outcome: Outcome | None = None,
    ) -> None:
        super().__init__(f"JSON-RPC error {code}: {message}", outcome=outcome)
        self.code = code
        self.message = message
        self.data = data

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.message,), self.__dict__ | {"args": self.args}


class IncompatibleServer(BankError):  # noqa: N818 - names what was met
    """The server lacks a required tool, or speaks no protocol revision that we speak.

    Attributes:
        missing: The names of the missing tools.
        server: The server's name and version as it reports them.
    """

    outcome: Outcome = "refused"

    def __init__(
        self, message: str, *, missing: Sequence[str] = (), server: str = "", outcome: Outcome | None = None
    ) -> None:
        super().__init__(message, outcome=outcome)
        self.missing = tuple(missing)
        self.server = server


class ToolError(BankError):
    """The tool ran and said no. Of a write, ``outcome`` is ``"unknown"`` unless it says what was wrong with the call.

    Attributes:
        tool: The tool's name.
        message: The server's sentence.
        code: The server's own word for the fault, where it sends one.
    """

    outcome: Outcome = "refused"

    def __init__(self, message: str, *, tool: str = "", code: str | None = None) -> None:
        super().__init__(f"{tool}: {message}" if tool else message)
        self.tool = tool
        self.message = message
        self.code = code

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.message,), self.__dict__ | {"args": self.args}


class NotFoundError(ToolError):
    """The bank or the memory does not exist.

    Attributes:
        what: ``"bank"`` or ``"memory"``.
    """

    def __init__(self, message: str, *, tool: str = "", code: str | None = None, what: str = "") -> None:
        super().__init__(message, tool=tool, code=code)
        self.what = what


class AnswerError(BankError):
    """The answer breaks the tool's schema.

    Attributes:
        tool: The tool's name.
        problems: One sentence each, ``what was expected @ $.path``; never the value.
    """

    outcome: Outcome = "unknown"

    def __init__(self, message: str, *, tool: str = "", problems: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.tool = tool
        self.problems = tuple(problems)
