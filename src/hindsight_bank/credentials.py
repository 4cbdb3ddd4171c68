"""Where an API key lives: in the operating system's key store, or with the caller. Nowhere else."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from hindsight_bank.binding import canonical_origin, check_bank_id
from hindsight_bank.discreet import discreet
from hindsight_bank.errors import CredentialsError
from hindsight_bank.loading import unforked

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
        fault = "is empty: give a key, or leave it out altogether"
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
        The key, or None where the store has none for this bank. Some stores say so, too, while they are locked.

    Raises:
        SettingsError: The URL or the bank id is not usable.
        CredentialsError: There is no usable key store, or it is locked, or it holds an unusable key.
    """
    user = _user(server_url, bank_id)
    with _store("read") as keyring:
        key = keyring.get_password(SERVICE, user)
    return check_key(key, f"key store entry {user!r}")


@discreet
def store_key(server_url: str, bank_id: str, api_key: str) -> None:
    """Put the API key of one bank into the operating system's key store, and read it back.

    Args:
        server_url: The server's base URL, as for `Bank`.
        bank_id: The bank, as for `Bank`.
        api_key: The key; it replaces the one that the store has for this bank.

    Raises:
        SettingsError: The URL or the bank id is not usable.
        CredentialsError: The key cannot be a key, there is no usable key store, or it lost the key.
    """
    user = _user(server_url, bank_id)
    check_key(api_key, "api_key")
    with _store("written") as keyring:
        keyring.set_password(SERVICE, user, api_key)
        kept = keyring.get_password(SERVICE, user)
        backend = _name(keyring.get_keyring())
    if kept != api_key:
        del kept
        raise CredentialsError(
            f"the key store ({backend}) took the key but did not keep it, as one does that is switched off:"
            f" choose another (python -m keyring --list-backends), or {_WAYS}",
            source="key store",
        )


@discreet
def forget_key(server_url: str, bank_id: str) -> bool:
    """Remove the API key of one bank from the operating system's key store, and make sure that it is gone.

    Args:
        server_url: The server's base URL, as for `Bank`.
        bank_id: The bank, as for `Bank`.

    Returns:
        Whether there was one.

    Raises:
        SettingsError: The URL or the bank id is not usable.
        CredentialsError: There is no usable key store, it is locked, or it did not let the key go.
    """
    user = _user(server_url, bank_id)
    with _store("written") as keyring:
        if keyring.get_password(SERVICE, user) is None:
            return False
        keyring.delete_password(SERVICE, user)
        gone = keyring.get_password(SERVICE, user) is None
    if not gone:
        raise CredentialsError(f"the key store still holds the entry {user!r}: remove it there", source="key store")
    return True


_WAYS: Final = "set HINDSIGHT_API_KEY for the command line and Bank.from_environment, or pass Bank(..., api_key=...)"

# keyring's exceptions by name, since importing it to compare classes is what may fail.
_FAULTS: Final = {
    "NoKeyringError": "there is no key store on this machine: set one up",
    "KeyringLocked": "the key store is locked: unlock it and try again",
    "InitError": "the key store could not be started: set it up",
}


@contextmanager
def _store(what: str) -> Iterator[Any]:
    """Yield keyring, and say what to do when it or its backend fails, which may raise whatever its system does."""
    try:
        with unforked():
            import keyring  # noqa: PLC0415 - an extra, and slow to load
    except ImportError:
        raise CredentialsError(
            f"the key store needs the keyring package (pip install 'hindsight-bank[keyring]'); or {_WAYS}",
            source="key store",
        ) from None
    try:
        yield keyring
    except Exception as error:  # noqa: BLE001 - see above
        name = type(error).__name__
        fault = _FAULTS.get(name, f"the key store could not be {what}: unlock it or set it up")
        raise CredentialsError(f"{fault} ({name}); or {_WAYS}", source="key store") from None


def _user(server_url: str, bank_id: str) -> str:
    return f"{canonical_origin(server_url)}/{check_bank_id(bank_id)}"


def _name(backend: object) -> str:
    return f"{type(backend).__module__}.{type(backend).__qualname__}"
