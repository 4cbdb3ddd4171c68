"""What the banks of older generations have in common: settings, a connection, and its life."""

import math
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

from hindsight_bank.bank import call_deadline
from hindsight_bank.binding import SharedSettings
from hindsight_bank.connecting import Options
from hindsight_bank.connection import Connection
from hindsight_bank.deadline import Deadline, seconds
from hindsight_bank.discreet import discreet
from hindsight_bank.toolset import Toolset


class SharedBank:
    """One bank of many that share an endpoint."""

    def __init__(
        self, settings: SharedSettings, options: Options, toolset: Toolset, identity: str | None, timeout: float | None
    ) -> None:
        self._settings = settings
        self._identity = identity
        self._timeout = None if timeout is None else seconds(timeout, math.inf)
        self._connection = Connection(settings, options, toolset)

    @property
    def server_url(self) -> str:
        """The server's base URL in canonical form."""
        return self._settings.server_url

    @property
    def path(self) -> str:
        """Where the endpoint is on the server."""
        return self._settings.path

    @discreet
    def connect(self, *, timeout: float | None = None) -> Self:
        """Connect now, and check that the server has all tools of this generation.

        Args:
            timeout: Seconds for all of it; None for the bank's.

        Returns:
            The bank itself.

        Raises:
            UnreachableError: There is no server.
            UnauthorizedError: The server wants a key, or another one.
            IncompatibleServer: The server lacks a tool, or is of another generation; the message names its class.
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

    def __repr__(self) -> str:
        name, settings = type(self).__name__, vars(self).get("_settings")  # none yet where the constructor failed
        if settings is None:
            return f"{name}(of unusable settings)"
        return f"{name}({settings.server_url!r}, {self._identity!r}, path={settings.path!r})"

    def __reduce__(self) -> str:
        raise TypeError(
            f"a {type(self).__name__} holds connections and perhaps a key: make one in each process instead"
        )

    def _call(self, tool: str, timeout: float | None, given: Mapping[str, Any]) -> Any:
        return self._connection.call(tool, given, self._deadline(tool, timeout))

    def _deadline(self, operation: str, timeout: float | None) -> Deadline:
        return call_deadline(operation, timeout, self._timeout)
