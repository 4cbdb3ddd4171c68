"""Where a key lives, what a key is, and that its value is never told."""

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import keyring
import keyring.core
import pytest
from keyring.backends import fail, null
from keyring.errors import InitError, KeyringError, KeyringLocked, NoKeyringError, PasswordSetError

from hindsight_bank import Bank, CredentialsError, SettingsError, forget_key, store_key, stored_key
from hindsight_bank.credentials import SERVICE, check_key

UNUSABLE = {
    "Bearer s3cret": "begins with 'Bearer', which is added for you",
    "s3cret\n": "begins or ends with whitespace",
    " s3cret": "begins or ends with whitespace",
    "s3cret ": "begins or ends with whitespace",
    "\u00a0s3cret": "begins or ends with whitespace",
    "s3cret\r\nX: y": "contains control or non-ASCII characters",
    "s3cret\x00": "contains control or non-ASCII characters",
    "s3\x7fcret": "contains control or non-ASCII characters",
    "s3cret\u200b": "contains control or non-ASCII characters",
    "s3crét": "contains control or non-ASCII characters",
    "": "is empty: give a key, or leave it out altogether",
    "   ": "is empty: give a key, or leave it out altogether",
}
unusable = pytest.mark.parametrize(("key", "fault"), UNUSABLE.items())


def discreet_about(error: BaseException, *secrets: str) -> bool:
    """Tell whether neither the error nor anything that hangs on it, frames and locals included, holds a secret."""
    seen: list[BaseException | None] = [error]
    told = ""
    for link in seen:
        if link is not None:
            told += f"{link!r} {link.args} {vars(link)}"
            trace = link.__traceback__
            while trace is not None:
                if "hindsight_bank" in trace.tb_frame.f_code.co_filename:
                    told += repr(trace.tb_frame.f_locals)
                trace = trace.tb_next
            seen += [link.__cause__, link.__context__]
    return not any(secret in told for secret in secrets if secret.strip())


@unusable
def test_an_unusable_key_is_refused_at_construction_and_never_told(key: str, fault: str) -> None:
    """Public reports: kubernetes-client #656, deer-flow #5066 (a newline printed the key in the traceback)."""
    with pytest.raises(CredentialsError) as caught:
        Bank("http://localhost", "alice", api_key=key)
    assert str(caught.value) == f"the API key from api_key {fault}"
    assert caught.value.source == "api_key"
    assert discreet_about(caught.value, key, "s3", "cret")
    with pytest.raises(CredentialsError) as caught:
        check_key(key, "a file")
    assert discreet_about(caught.value, key, "s3", "cret")


@pytest.mark.parametrize("key", [b"s3cret", 5, ["s3cret"], True])
def test_a_key_is_a_string(key: Any) -> None:
    """Ours: bytes would be sent as their repr."""
    with pytest.raises(CredentialsError, match=r"is not a string$") as caught:
        Bank("http://localhost", "alice", api_key=key)
    assert discreet_about(caught.value, "s3cret")


@pytest.mark.parametrize("key", ["k", "sk-proj_A.b~c+d/e==", "two words", "bearers x", "!" * 4096])
def test_printable_ascii_is_a_key(key: str) -> None:
    """RFC 6750 lets no more into a header; the server judges the rest."""
    assert check_key(key, "api_key") == key


def test_no_key_is_no_key() -> None:
    """Ours: None means that no key is sent."""
    assert check_key(None, "api_key") is None


class Store:
    """A key store with one entry, or with a fault of its own."""

    def __init__(self, key: Any = None, fault: Exception | None = None) -> None:
        self.key = key
        self.fault = fault
        self.asked: list[tuple[str, str]] = []

    def get_password(self, service: str, user: str) -> Any:
        self.asked.append((service, user))
        if self.fault:
            raise self.fault
        return self.key

    def set_password(self, _service: str, _user: str, key: str) -> None:
        if self.fault:
            raise self.fault
        self.key = key

    def delete_password(self, _service: str, _user: str) -> None:
        self.key = None


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Store]:
    """Make keyring use a store of ours, as it would use one of the system's."""

    def use(**options: Any) -> Store:
        backend = Store(**options)
        monkeypatch.setattr(keyring.core, "_keyring_backend", backend)
        return backend

    return use


@pytest.mark.parametrize(
    ("url", "user"),
    [
        ("https://memory.example.com", "https://memory.example.com/alice"),
        ("HTTPS://Memory.example.com:443/", "https://memory.example.com/alice"),
        ("http://localhost.:8888/", "http://localhost:8888/alice"),
    ],
)
def test_the_store_is_asked_once_for_one_entry_per_server_and_bank(
    store: Callable[..., Store], url: str, user: str
) -> None:
    """Public reports: pgadmin4 #7076, Falcon-Toolkit #25 (a macOS dialog for each item); one canonical spelling."""
    backend = store(key="k3y")
    assert stored_key(url, "alice") == "k3y"
    assert backend.asked == [("hindsight-bank", user)]
    assert SERVICE == "hindsight-bank"


@pytest.mark.parametrize("url", ["https://user:s3cret@h", "http://h", "x"])
def test_the_store_is_not_asked_for_a_server_that_is_none(store: Callable[..., Store], url: str) -> None:
    """Ours: settings first, no dialog for nothing."""
    backend = store(key="k3y")
    with pytest.raises(SettingsError) as caught:
        stored_key(url, "alice")
    with pytest.raises(SettingsError):
        stored_key("https://h", "Alice!")
    assert backend.asked == []
    assert discreet_about(caught.value, "s3cret")


def test_a_store_without_the_entry_gives_none(store: Callable[..., Store]) -> None:
    """Public report: keyring #77: some backends say None when locked too."""
    store(key=None)
    assert stored_key("https://h", "alice") is None


@unusable
def test_an_unusable_stored_key_is_refused_naming_the_entry_and_never_told(
    store: Callable[..., Store], key: str, fault: str
) -> None:
    """Ours: the source is named, never the value."""
    store(key=key)
    with pytest.raises(CredentialsError) as caught:
        stored_key("https://h", "alice")
    assert str(caught.value) == f"the API key from key store entry 'https://h/alice' {fault}"
    assert caught.value.source == "key store entry 'https://h/alice'"
    assert discreet_about(caught.value, key, "s3", "cret")


FAULTS = [
    (KeyringLocked("Failed to unlock the collection!"), "the key store is locked: unlock it and try again"),
    (InitError("no D-Bus"), "the key store could not be started: set it up"),
    (NoKeyringError("No recommended backend"), "there is no key store on this machine: set one up"),
    (KeyringError("Can't get password from keychain: (-25308, 'Unknown Error')"), "unlock it or set it up"),
    (PasswordSetError("(1783, 'CredWrite', 'The stub received bad data')"), "unlock it or set it up"),
    (RuntimeError("s3cret"), "unlock it or set it up"),
    (ImportError("no such backend"), "unlock it or set it up"),
    (OSError(111, "Connection refused"), "unlock it or set it up"),
    (ValueError(), "unlock it or set it up"),
]
USES: list[Callable[..., Any]] = [stored_key, lambda url, bank: store_key(url, bank, "s3cret"), forget_key]


@pytest.mark.parametrize(("fault", "says"), FAULTS, ids=lambda value: type(value).__name__)
@pytest.mark.parametrize("use", USES, ids=["read", "store", "forget"])
def test_a_store_that_fails_is_a_credentials_error_with_the_ways_out(
    store: Callable[..., Store], fault: Exception, says: str, use: Callable[..., Any]
) -> None:
    """Public reports: keyring #54, #302, #566, artifact-registry-python-tools #53; one attempt, no loop."""
    backend = store(fault=fault)
    with pytest.raises(
        CredentialsError, match=rf"{says} \({type(fault).__name__}\); or set HINDSIGHT_API_KEY"
    ) as caught:
        use("https://h", "alice")
    assert "or pass Bank(..., api_key=...)" in str(caught.value)
    assert caught.value.source == "key store"
    assert len(backend.asked) <= 1
    assert discreet_about(caught.value, "s3cret")


def test_no_backend_at_all_is_a_credentials_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Public reports: keyring #566, #569, MSS #1743 (Docker, WSL, headless Linux): keyring's own failing backend."""
    monkeypatch.setattr(keyring.core, "_keyring_backend", fail.Keyring())  # type: ignore[no-untyped-call]  # keyring's
    with pytest.raises(CredentialsError, match=r"no key store on this machine: set one up \(NoKeyringError\); or set"):
        stored_key("https://h", "alice")


def test_a_key_is_stored_read_back_and_forgotten(store: Callable[..., Store]) -> None:
    """Ours: an entry for each server and bank; storing replaces, forgetting twice is no error."""
    backend = store()
    for key in ("k3y", "!" * 3000):
        store_key("HTTPS://H:443/", "alice", key)
        assert backend.key == stored_key("https://h", "alice") == key
    assert set(backend.asked) == {("hindsight-bank", "https://h/alice")}
    assert forget_key("https://h", "alice")
    assert not forget_key("https://h", "alice")


def test_a_store_that_loses_or_changes_a_key_is_found_out(
    store: Callable[..., Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    """keyring: the null backend takes every key and keeps none; Ours: read back after storing."""
    monkeypatch.setattr(Store, "set_password", lambda *_: None)
    for kept in (None, "s3cr"):
        store(key=kept)
        with pytest.raises(CredentialsError, match=r"key store \(test_credentials.Store\) took the key but") as caught:
            store_key("https://h", "alice", "s3cret")
        assert discreet_about(caught.value, "s3cret")
    monkeypatch.setattr(keyring.core, "_keyring_backend", null.Keyring())  # type: ignore[no-untyped-call]  # keyring's
    with pytest.raises(
        CredentialsError, match=r"keyring.backends.null.Keyring.*switched off.*or set HINDSIGHT_API_KEY"
    ):
        store_key("https://h", "alice", "s3cret")


def test_a_store_that_does_not_let_go_is_found_out(
    store: Callable[..., Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ours: who logs out wants to know."""
    monkeypatch.setattr(Store, "delete_password", lambda *_: None)
    store(key="s3cret")
    with pytest.raises(CredentialsError, match="still holds the entry 'https://h/alice'") as caught:
        forget_key("https://h", "alice")
    assert discreet_about(caught.value, "s3cret")


@unusable
def test_an_unusable_key_is_not_stored(store: Callable[..., Store], key: str, fault: str) -> None:
    """Ours: it would only be refused when read."""
    backend = store()
    with pytest.raises(CredentialsError) as caught:
        store_key("https://h", "alice", key)
    assert str(caught.value) == f"the API key from api_key {fault}"
    assert backend.key is None
    assert discreet_about(caught.value, key, "s3", "cret")


def test_a_store_switched_off_holds_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """keyring: `keyring --disable` installs the null backend."""
    monkeypatch.setattr(keyring.core, "_keyring_backend", null.Keyring())  # type: ignore[no-untyped-call]  # keyring's
    assert stored_key("https://h", "alice") is None


def test_without_the_keyring_package_the_error_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: keyring is an extra."""
    monkeypatch.setitem(sys.modules, "keyring", None)
    with pytest.raises(
        CredentialsError, match=r"pip install 'hindsight-bank\[keyring\]'\); or set HINDSIGHT_API_KEY"
    ) as caught:
        stored_key("https://h", "alice")
    assert caught.value.source == "key store"


def test_keyring_is_imported_by_nothing_but_stored_key() -> None:
    """Public report: keyring #531: importing it took minutes of D-Bus probing; a Bank never needs it."""
    script = """
import os, sys
sys.modules["keyring"] = None  # any import of it fails
import hindsight_bank
hindsight_bank.stored_key, hindsight_bank.to_dict
hindsight_bank.Bank("http://localhost", "alice", api_key="k").close()
hindsight_bank.Bank("http://localhost", "alice").close()
os.environ |= {"HINDSIGHT_API_URL": "http://localhost", "HINDSIGHT_BANK_ID": "alice", "HINDSIGHT_API_KEY": "k"}
hindsight_bank.Bank.from_environment().close()
try:
    hindsight_bank.stored_key("http://localhost", "alice")
except hindsight_bank.CredentialsError:
    sys.exit(0)
sys.exit("stored_key did not need keyring")
"""
    subprocess.run([sys.executable, "-c", script], check=True)
