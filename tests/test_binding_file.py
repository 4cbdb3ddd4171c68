"""The file that keeps a binding: what is read, what is refused, what is never touched; and banks made of it."""

import inspect
import json
import os
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from test_credentials import UNUSABLE, discreet_about

from hindsight_bank import Bank, Binding, CredentialsError, ReconnectRequired, SettingsError, private_file
from hindsight_bank.bank import BankOptions

URL = "https://memory.example.com"
BINDING = Binding(URL, "alice")
posix = pytest.mark.skipif(os.name != "posix", reason="owners and modes are POSIX's")


@pytest.fixture(autouse=True)
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the test a configuration folder of its own."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return tmp_path / "config/hindsight-bank/binding.json"


@contextmanager
def nobody() -> Iterator[None]:
    """Be a user without rights, if the tests run as root, whom modes do not stop."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def public() -> Iterator[Path]:
    """Return a folder that any user may enter."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o777)
        yield Path(folder)


# -- kept --------------------------------------------------------------------------------------------------------------


def test_a_binding_is_kept_and_read_again(config: Path) -> None:
    """Ours: a URL, a bank id and a format number in the user's configuration folder, and nothing else."""
    assert BINDING.save() == config == Binding.location()
    assert json.loads(config.read_bytes()) == {"format": 1, "server_url": URL, "bank_id": "alice"}
    assert Binding.load() == BINDING
    assert Binding(URL, "bob").save() == config
    assert Binding.load().bank_id == "bob"
    assert Binding.remove() == config
    assert not config.exists()


def test_a_binding_is_kept_where_it_is_told(tmp_path: Path, config: Path) -> None:
    """Ours: a path is a path, in a folder that is made if it is missing."""
    path = tmp_path / "a/b/my bank.json"
    BINDING.save(path)
    assert Binding.load(str(path)) == BINDING
    assert not config.exists()


@posix
def test_file_and_folder_are_their_owners_only(config: Path) -> None:
    """Ours: the umask does not decide; XDG Base Directory: 0700 for what is made."""
    before = os.umask(0)
    try:
        BINDING.save()
    finally:
        os.umask(before)
    assert stat.S_IMODE(config.stat().st_mode) == 0o600
    assert [stat.S_IMODE(folder.stat().st_mode) for folder in config.parents[:2]] == [0o700, 0o700]


def test_a_file_is_replaced_whole_or_not_at_all(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: a crash or a full disk leaves the binding that was there, and no litter."""
    BINDING.save()

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(SettingsError, match="cannot be written: No space left on device"):
        Binding(URL, "bob").save()
    assert Binding.load() == BINDING
    assert list(config.parent.iterdir()) == [config]


@posix
def test_a_link_to_a_file_stays_a_link(tmp_path: Path, config: Path) -> None:
    """Ours: people keep their settings in a folder of dotfiles."""
    config.parent.mkdir(parents=True)
    config.symlink_to(tmp_path / "dotfile.json")
    BINDING.save()
    assert config.is_symlink()
    assert Binding.load() == Binding.load(tmp_path / "dotfile.json") == BINDING


# -- refused -----------------------------------------------------------------------------------------------------------


def test_without_a_binding_the_error_says_how_to_make_one(config: Path, tmp_path: Path) -> None:
    """Ours: no default server, no default bank."""
    with pytest.raises(SettingsError) as caught:
        Binding.load()
    assert str(caught.value) == f"there is no binding at {config}: connect with `hindsight-bank connect URL BANK`"
    with pytest.raises(SettingsError, match=r"connect URL BANK --binding '.*my bank.json'`$"):
        Binding.load(tmp_path / "my bank.json")
    with pytest.raises(SettingsError, match="there is no binding"):
        Binding.remove()


GOOD = {"format": 1, "server_url": URL, "bank_id": "alice"}
FOREIGN = {
    "empty": b"",
    "half": json.dumps(GOOD).encode()[:40],
    "binary": b"\x7fELF\x00\xff",
    "list": b"[1]",
    "number": b"1e999",
    "nested": b"[" * 100_000,
    "other keys": b'{"name": "x", "version": "1"}',
    "a key too few": b'{"format": 1, "bank_id": "alice"}',
    "a key too many": json.dumps(GOOD | {"api_key": "s3cret"}).encode(),
    "a key twice": b'{"format": 1, "server_url": "https://a", "server_url": "https://b", "bank_id": "alice"}',
    "a later format": json.dumps(GOOD | {"format": 2}).encode(),
    "a true format": json.dumps(GOOD | {"format": True}).encode(),
    "no text": json.dumps(GOOD | {"bank_id": 5}).encode(),
}
foreign = pytest.mark.parametrize("content", FOREIGN.values(), ids=FOREIGN)


@foreign
def test_what_is_no_binding_is_refused_and_kept_and_a_new_one_goes_beside_it(content: bytes, config: Path) -> None:
    """Ours: strict when read, and nothing of anybody's is overwritten; afterwards the new one counts."""
    config.parent.mkdir(parents=True)
    config.write_bytes(content)
    with pytest.raises(SettingsError) as caught:
        Binding.load()
    assert str(config) in str(caught.value)
    assert "`hindsight-bank connect URL BANK`" in str(caught.value)
    assert not isinstance(caught.value, ReconnectRequired)
    assert discreet_about(caught.value, "s3cret")
    with pytest.raises(SettingsError):
        Binding.remove()
    beside = BINDING.save()
    assert beside == config.with_name("binding.reconnected.json") == Binding.location()
    assert Binding.load() == BINDING
    assert Binding(URL, "bob").save() == beside
    assert Binding.remove() == beside
    assert config.read_bytes() == content


def test_where_both_places_are_taken_nothing_is_written(config: Path) -> None:
    """Ours: kept is kept."""
    config.parent.mkdir(parents=True)
    for path in (config, config.with_name("binding.reconnected.json")):
        path.write_text("{}")
    with pytest.raises(SettingsError, match="holds no binding either: move it away, or name another file"):
        BINDING.save()
    with pytest.raises(SettingsError, match="it stays"):
        Binding.remove()
    assert {path.read_text() for path in config.parent.iterdir()} == {"{}"}


@pytest.mark.parametrize(
    ("values", "rule"),
    [({"server_url": "http://evil.test"}, "plain http is for loopback only"), ({"bank_id": "A"}, "a bank id is")],
)
def test_a_binding_that_breaks_a_rule_is_refused_naming_file_and_rule(
    values: dict[str, str], rule: str, config: Path
) -> None:
    """Ours: a file is judged as arguments are."""
    config.parent.mkdir(parents=True)
    config.write_text(json.dumps(GOOD | values))
    with pytest.raises(SettingsError, match=rule) as caught:
        Binding.load()
    assert str(caught.value).startswith(f"{config}: ")


def test_a_byte_order_mark_and_another_spelling_are_no_fault(config: Path) -> None:
    """Ours: Windows editors write the one, people the other."""
    config.parent.mkdir(parents=True)
    config.write_bytes(b"\xef\xbb\xbf" + json.dumps(GOOD | {"server_url": "HTTPS://Memory.Example.com:443/"}).encode())
    assert Binding.load() == BINDING


@posix
@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_a_file_that_others_may_write_is_refused_saying_how_to_fix_it(mode: int, config: Path) -> None:
    """OpenSSH treats its settings so: who writes them gets the memories and the key."""
    BINDING.save()
    config.chmod(mode)
    with pytest.raises(SettingsError, match=r"may be written by other users.*chmod 600 /"):
        Binding.load()
    BINDING.save()
    assert Binding.load() == BINDING, "connecting again repairs it"


@posix
def test_a_file_of_another_user_is_refused_saying_how_to_fix_it(public: Path) -> None:
    """OpenSSH treats its settings so."""
    path = public / "binding.json"
    with nobody():
        BINDING.save(path)
    if os.geteuid() == 0:
        with pytest.raises(SettingsError, match=r"belongs to another user \(uid 65534\).*chown 0 /"):
            Binding.load(path)
    with nobody():
        assert Binding.load(path) == BINDING


@posix
def test_a_folder_or_a_file_without_rights_is_one_sentence(public: Path) -> None:
    """Ours: the system's word for it, and the path."""
    folder, path = public / "closed", public / "unreadable.json"
    with nobody():
        folder.mkdir(mode=0o500)
        BINDING.save(path)
        path.chmod(0)
        with pytest.raises(SettingsError, match=r"closed/binding.json cannot be written: Permission denied"):
            BINDING.save(folder / "binding.json")
        for use in (Binding.load, Binding.location, BINDING.save):
            with pytest.raises(SettingsError, match=r"unreadable.json cannot be read: Permission denied"):
                use(path)


@posix
@pytest.mark.parametrize("folder", ["/proc/nowhere/x", "/dev/null/x"])
def test_a_folder_that_cannot_be_made_is_one_sentence(folder: str) -> None:
    """Ours: even root cannot make these."""
    with pytest.raises(SettingsError, match=r"binding.json cannot be (written|read): "):
        BINDING.save(Path(folder) / "binding.json")


@posix
def test_what_is_no_regular_file_is_refused_without_waiting(tmp_path: Path) -> None:
    """POSIX: opening a named pipe waits for a writer."""
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path, Path("/dev/zero")):
        with pytest.raises(SettingsError, match=r"is no regular file|cannot be read: Is a directory"):
            Binding.load(path)
    with pytest.raises(SettingsError, match="cannot be read"):
        Binding.load("a\0b")


def test_a_huge_file_is_not_read(tmp_path: Path) -> None:
    """Ours: a settings file is small."""
    (tmp_path / "x.json").write_bytes(b" " * (2**20 + 1))
    with pytest.raises(SettingsError, match="larger than any settings file"):
        Binding.load(tmp_path / "x.json")


def test_removing_what_was_removed_meanwhile_is_a_sentence(tmp_path: Path) -> None:
    """Ours: two programs may do it at once."""
    with pytest.raises(SettingsError, match="cannot be removed"):
        private_file.remove(tmp_path / "gone")


# -- banks made of it --------------------------------------------------------------------------------------------------


def test_a_bank_is_made_of_a_binding_or_of_its_file(tmp_path: Path) -> None:
    """Ours: the same bank, by value, by path and by default."""
    BINDING.save()
    BINDING.save(tmp_path / "other.json")
    for bank in (Bank.from_binding(), Bank.from_binding(BINDING), Bank.from_binding(tmp_path / "other.json")):
        assert (bank.server_url, bank.bank_id) == (URL, "alice")
    bank = Bank.from_binding(BINDING, api_key="k", timeout=5, allow_new_bank=True)
    assert bank._connection._options.key == "k"
    assert bank._timeout == 5
    with pytest.raises(TypeError, match="tiemout"):
        Bank.from_binding(BINDING, tiemout=5)  # type: ignore[call-arg]


def test_options_are_those_of_the_constructor() -> None:
    """Ours: what `Bank` takes beside server, bank and key."""
    names = list(inspect.signature(Bank).parameters)
    assert list(BankOptions.__annotations__) == [n for n in names if n not in ("server_url", "bank_id", "api_key")]


def test_a_bank_is_made_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: three variables, on purpose, and none is read otherwise."""
    monkeypatch.setenv("HINDSIGHT_API_URL", URL)
    monkeypatch.setenv("HINDSIGHT_BANK_ID", "alice")
    monkeypatch.delenv("HINDSIGHT_API_KEY", raising=False)
    bank = Bank.from_environment(timeout=3)
    assert (bank.server_url, bank.bank_id, bank._connection._options.key) == (URL, "alice", None)
    monkeypatch.setenv("HINDSIGHT_API_KEY", "k3y")
    assert Bank.from_environment()._connection._options.key == "k3y"
    assert Bank(URL, "alice")._connection._options.key is None
    assert Bank.from_binding(BINDING)._connection._options.key is None


@pytest.mark.parametrize("value", ["", None])
@pytest.mark.parametrize("name", ["HINDSIGHT_API_URL", "HINDSIGHT_BANK_ID"])
def test_a_variable_that_is_missing_is_named(name: str, value: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: no defaults."""
    monkeypatch.setenv("HINDSIGHT_API_URL", URL)
    monkeypatch.setenv("HINDSIGHT_BANK_ID", "alice")
    if value is None:
        monkeypatch.delenv(name)
    else:
        monkeypatch.setenv(name, value)
    with pytest.raises(SettingsError, match=f"the environment variable {name} is not set"):
        Bank.from_environment()


def test_a_variable_that_breaks_its_rule_is_named_and_never_quoted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: a URL may hold a password."""
    monkeypatch.setenv("HINDSIGHT_API_URL", "https://user:s3cret@h")
    monkeypatch.setenv("HINDSIGHT_BANK_ID", "alice")
    with pytest.raises(SettingsError, match=r"^HINDSIGHT_API_URL: a server URL holds no user name") as caught:
        Bank.from_environment()
    assert discreet_about(caught.value, "s3cret")


@pytest.mark.parametrize(("key", "fault"), [(k, f) for k, f in UNUSABLE.items() if "\0" not in k])
def test_an_unusable_key_in_the_environment_is_refused_and_never_told(
    key: str, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Public reports: kubernetes-client #656, deer-flow #5066 (a newline printed the key in the traceback)."""
    monkeypatch.setenv("HINDSIGHT_API_KEY", key)
    with pytest.raises(CredentialsError) as caught:
        Bank.from_environment()
    assert str(caught.value) == f"the API key from HINDSIGHT_API_KEY {fault}"
    assert discreet_about(caught.value, key, "s3", "cret")


def test_platformdirs_is_imported_for_the_default_place_only(tmp_path: Path) -> None:
    """Ours: import is cheap."""
    script = f"""
import sys
sys.modules["platformdirs"] = None  # any import of it fails
from hindsight_bank import Bank, Binding
Binding("https://h", "alice").save({str(tmp_path / "b.json")!r})
Bank.from_binding({str(tmp_path / "b.json")!r})
"""
    subprocess.run([sys.executable, "-c", script], check=True)


def test_without_platformdirs_a_file_must_be_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: the package comes with the command line, and the sentence says how."""
    monkeypatch.setitem(sys.modules, "platformdirs", None)
    with pytest.raises(
        SettingsError, match=r"no default place: name the file, or pip install 'hindsight-bank\[cli\]'$"
    ):
        Binding.load()
