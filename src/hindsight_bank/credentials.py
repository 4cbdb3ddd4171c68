"""Where an API key lives: in the operating system's key store, or with the caller. Nowhere else."""

from typing import Final

from hindsight_bank.binding import canonical_origin, check_bank_id
from hindsight_bank.discreet import discreet
from hindsight_bank.errors import CredentialsError

SERVICE: Final = "hindsight-bank"


def check_key(key: str | None, source: str) -> str | None:
    """Return a usable key, or raise `CredentialsError` naming where it came from; the value is never told.

    Args:
        key: The key: printable ASCII without surrounding whitespace. None stays None: no key is sent.
        source: Where the key came from, for messages.
    """
    fault = None
    if key is None:
        return None
    if not isinstance(key, str):
        fault = "is not a string"
    elif not key.strip():
        fault = "is empty"
    elif key != key.strip():
        fault = "begins or ends with whitespace"
    elif not (key.isascii() and key.isprintable()):
        fault = "contains control or non-ASCII characters"
    elif key.lower().startswith("bearer "):
        fault = "begins with 'Bearer', which is added for you"
    if fault:
        del key
        raise CredentialsError(f"the API key from {source} {fault}", source=source)
    return key


@discreet
def stored_key(server_url: str, bank_id: str) -> str | None:
    """Read the API key of one bank from the operating system's key store.

    The store has one entry per server and bank: service ``hindsight-bank``, user name ``<origin>/<bank_id>``, for
    example ``https://memory.example.com/alice``. Reading may ask the user to unlock the store.

    Args:
        server_url: The server's base URL, as for `Bank`.
        bank_id: The bank, as for `Bank`.

    Returns:
        The key, or None where the store has none for this bank.

    Raises:
        SettingsError: The URL or the bank id is not usable.
        CredentialsError: There is no usable key store, or it is locked, or it holds an unusable key.
    """
    user = f"{canonical_origin(server_url)}/{check_bank_id(bank_id)}"
    ways = "pass the key as Bank(..., api_key=...) yourself, for example from an environment variable"
    try:
        import keyring  # noqa: PLC0415 - an extra, and slow to load
    except ImportError:
        raise CredentialsError(
            f"the key store needs the keyring package (pip install 'hindsight-bank[keyring]'); or {ways}",
            source="key store",
        ) from None
    try:
        key = keyring.get_password(SERVICE, user)
    except Exception as error:  # noqa: BLE001 - backends raise whatever their system does
        raise CredentialsError(
            f"the key store could not be read ({type(error).__name__}): unlock or set it up, or {ways}",
            source="key store",
        ) from None
    return check_key(key, f"key store entry {user!r}")
