"""What the banks of every generation have in common: how they are set up, what time a call has, and their life."""

import math
from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

from hindsight_bank.deadline import Deadline, seconds
from hindsight_bank.discreet import discreet
from hindsight_bank.errors import ArgumentsError, SettingsError
from hindsight_bank.version import __version__

if TYPE_CHECKING:
    import ssl

    from hindsight_bank.backoff import Manner
    from hindsight_bank.connecting import Options
    from hindsight_bank.connection import Connection

# Seconds for a whole call. The server itself ends a reflection after 300 s.
_SECONDS: Final = 60.0
_MODEL_SECONDS: Final = 330.0
_MODEL_CALLS: Final = ("reflect", "hindsight_think")


class Connected:
    """A bank behind a connection, which the first call, `connect` or ``with`` makes."""

    _connection: "Connection"

    def __init__(self, timeout: float | None) -> None:
        self._timeout = None if timeout is None else seconds("timeout", timeout, math.inf)

    @discreet
    def connect(self, *, timeout: float | None = None) -> Self:
        """Connect now, and check that the server has all the tools and, where it can tell, that the bank exists.

        Args:
            timeout: Seconds for all of it; None for the bank's.

        Returns:
            The bank itself.

        Raises:
            UnreachableError: There is no server.
            UnauthorizedError: The server wants a key, or another one.
            IncompatibleServer: The server lacks a tool, or is of another generation; the message names its class.
            NotFoundError: The bank does not exist, and `allow_new_bank` was not given (`Bank` only).
        """
        self._connection.open(self._deadline("connect", timeout))
        return self

    @discreet
    def close(self) -> None:
        """Take no more calls; the session and the connections end with the last call in flight. May be called twice."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self.connect()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __reduce__(self) -> str:
        name = type(self).__name__
        raise TypeError(
            f"a {name} holds connections and perhaps a key: make one in each process instead of pickling it"
        )

    def _call(self, tool: str, timeout: float | None, scope: Mapping[str, Any]) -> Any:
        given = {name: value for name, value in scope.items() if name not in ("self", "timeout")}
        return self._connection.call(tool, given, self._deadline(tool, timeout))

    def _deadline(self, operation: str, timeout: float | None) -> Deadline:
        """Return the deadline of a call: its own, the bank's, or the operation's."""
        default = self._timeout or (_MODEL_SECONDS if operation in _MODEL_CALLS else _SECONDS)
        try:
            return Deadline(operation, seconds("timeout", timeout, default))
        except SettingsError as error:
            raise ArgumentsError(f"{operation}: {error}", tool=operation, problems=[f"{error} @ timeout"]) from None


def checked_options(
    *,
    api_key: str | None,
    connect_timeout: float,
    max_request_bytes: int,
    max_response_bytes: int,
    backoff: "Manner",
    ssl_context: "ssl.SSLContext | None",
    proxy: str | None,
    allow_new_bank: bool = False,
) -> "Options":
    """Return how to connect, or raise `SettingsError` or `CredentialsError` with the rule that is broken."""
    from hindsight_bank import connecting, credentials, session, transport  # noqa: PLC0415 - with the first bank

    if backoff not in ("wait", "raise"):
        raise SettingsError("backoff is 'wait' or 'raise'")
    if not isinstance(allow_new_bank, bool):  # "False" from an environment would make banks
        raise SettingsError("allow_new_bank is True or False")
    limits = transport.Limits(
        connect=seconds("connect_timeout", connect_timeout, math.inf),
        request=positive("max_request_bytes", max_request_bytes),
        response=positive("max_response_bytes", max_response_bytes),
    )
    return connecting.Options(
        key=credentials.check_key(api_key, "api_key"),
        client=session.Client("hindsight-bank", __version__),
        limits=limits,
        ssl_context=transport.check_context(ssl_context),
        proxy=transport.check_proxy(proxy),
        backoff=backoff,
        allow_new_bank=allow_new_bank,
    )


def positive(name: str, value: int, error: type[SettingsError | ArgumentsError] = SettingsError) -> int:
    """Return a whole number of at least 1, or raise what else it is."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise error(f"{name} is a whole number, at least 1")
    return value
