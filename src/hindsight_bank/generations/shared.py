"""What the banks of older generations have in common: settings for an endpoint that many banks share."""

from hindsight_bank.binding import SharedSettings
from hindsight_bank.connected import Connected
from hindsight_bank.connecting import Options
from hindsight_bank.connection import Connection
from hindsight_bank.toolset import Toolset


class SharedBank(Connected):
    """One bank of many that share an endpoint."""

    def __init__(
        self, settings: SharedSettings, options: Options, toolset: Toolset, identity: str | None, timeout: float | None
    ) -> None:
        super().__init__(timeout)
        self._settings = settings
        self._identity = identity
        self._connection = Connection(settings, options, toolset)

    @property
    def server_url(self) -> str:
        """The server's base URL in canonical form."""
        return self._settings.server_url

    @property
    def path(self) -> str:
        """Where the endpoint is on the server."""
        return self._settings.path

    def __repr__(self) -> str:
        name, settings = type(self).__name__, vars(self).get("_settings")  # none yet where the constructor failed
        if settings is None:
            return f"{name}(of unusable settings)"
        return f"{name}({settings.server_url!r}, {self._identity!r}, path={settings.path!r})"
