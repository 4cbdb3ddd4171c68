"""The key at the command line: read unseen, tried, stored, sent only where it is wanted, never told."""

import getpass
import json
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import key_stores
import keyring.core
import pytest
from command_line import COMMAND, KEY, Run, bound, keyed
from keyring.backends import fail, null
from wire_server import Hindsight, WireServer

from hindsight_bank import store_key, stored_key
from hindsight_bank.cli import main

Start = Callable[..., WireServer]
WAYS = "set HINDSIGHT_API_KEY"

BACKENDS: dict[str, tuple[Any, str]] = {
    "null": (null.Keyring, "took the key but did not keep it, as one does that is switched off"),
    "fail": (fail.Keyring, "there is no key store on this machine: set one up (NoKeyringError)"),
    "locked": (key_stores.Locked, "the key store is locked: unlock it and try again (KeyringLocked)"),
    "broken": (key_stores.Broken, "the key store could not be written: unlock it or set it up (RuntimeError)"),
}


@pytest.fixture
def server(start_bank: Start) -> WireServer:
    """Start a server that wants KEY, bound."""
    return start_bank(keyed(Hindsight()))


def asked(tmp_path: Path) -> int:
    """Return how often the key store was asked for a key."""
    path = tmp_path / "keys.asked"
    return len(path.read_text().splitlines()) if path.exists() else 0


@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n"])
def test_a_key_from_a_pipe_is_tried_stored_used_and_removed(end: bytes, server: WireServer, run: Run) -> None:
    """Ours: the end of the line is no part of the key."""
    stored = run("login", server.url, "alice", stdin=KEY.encode() + end)
    assert (stored.code, stored.err) == (0, "")
    assert stored_key(server.url, "alice") == KEY
    bound(server)
    assert json.loads(run("status", "--json").out)["key"] == "key store"
    assert run("logout").code == 0
    assert stored_key(server.url, "alice") is None
    again = run("logout")
    assert (again.code, "holds no key for alice" in again.out) == (0, True)
    assert KEY not in stored.out + again.out


def test_a_server_that_wants_no_key_gets_none_and_none_is_stored(start_bank: Start, run: Run, tmp_path: Path) -> None:
    """Ours: a key that nobody wants is not kept."""
    open_server = bound(start_bank())
    ran = run("login", stdin=KEY.encode())
    assert (ran.code, "answers without a key" in ran.out) == (0, True)
    assert not (tmp_path / "keys.json").exists()
    assert all("authorization" not in request.headers for request in open_server.requests)


def test_the_store_is_asked_only_when_the_server_wants_a_key(
    start_bank: Start, server: WireServer, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Public reports: pgadmin4 #7076, Falcon-Toolkit #25 (a macOS dialog for each look): once at most."""
    bound(start_bank())
    assert run("recall", "x").code == 0
    assert asked(tmp_path) == 0
    bound(server)
    monkeypatch.setenv("HINDSIGHT_API_KEY", KEY)
    assert json.loads(run("status", "--json").out)["key"] == "environment"
    assert asked(tmp_path) == 0
    monkeypatch.delenv("HINDSIGHT_API_KEY")
    (tmp_path / "keys.json").write_text(json.dumps({f"hindsight-bank {server.url}/alice": KEY}))
    assert run("recall", "x").code == 0
    assert asked(tmp_path) == 1


def test_a_wrong_key_is_not_stored(server: WireServer, run: Run, tmp_path: Path) -> None:
    """Ours: it is tried before it is kept."""
    ran = run("login", server.url, "alice", stdin=b"sk-wr0ng")
    assert (ran.code, ran.out) == (3, "")
    assert "the server refused this key (HTTP 401): nothing was stored" in ran.err
    assert not (tmp_path / "keys.json").exists()
    assert "wr0ng" not in ran.err


@pytest.mark.parametrize("command", [["login"], ["status"], ["logout"]])
@pytest.mark.parametrize(("backend", "says"), BACKENDS.values(), ids=BACKENDS)
def test_a_key_store_that_does_not_work_is_one_sentence_with_the_ways_out(
    backend: Any, says: str, command: list[str], server: WireServer, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Public reports: keyring #54, #77, #566, #569; keyring: the null backend loses every key silently."""
    monkeypatch.setattr(keyring.core, "_keyring_backend", backend())
    bound(server)
    ran = run(*command, stdin=KEY.encode())
    if (backend, command) == (null.Keyring, ["logout"]):
        assert (ran.code, "holds no key" in ran.out) == (0, True)
        return
    if (backend, command) == (null.Keyring, ["status"]):
        says = "the key store holds none for alice (or is locked or switched off): hindsight-bank login stores one"
    if (backend, command) == (key_stores.Broken, ["status"]):
        says = "could not be read"
    assert (ran.code, ran.out, ran.err.count("\n")) == (3, "", 1)
    assert says in ran.err
    assert ran.err.startswith("hindsight-bank: the server wants an API key, and ") == (command == ["status"])
    assert WAYS in ran.err
    assert "api_key=" in ran.err
    assert KEY not in ran.err


def test_a_missing_keyring_package_is_one_sentence(
    server: WireServer, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ours: the ways out, and how to install it."""
    bound(server)
    monkeypatch.setitem(sys.modules, "keyring", None)
    ran = run("status")
    assert (ran.code, ran.err.count("\n")) == (3, 1)
    assert "the server wants an API key, and the key store needs the keyring package" in ran.err
    assert "pip install 'hindsight-bank[keyring]'" in ran.err
    assert WAYS in ran.err


def test_a_key_in_the_environment_works_without_any_key_store(
    server: WireServer, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ours: the first way out; keyring is not even imported."""
    bound(server)
    monkeypatch.setitem(sys.modules, "keyring", None)
    monkeypatch.setenv("HINDSIGHT_API_KEY", KEY)
    assert run("status").code == 0
    assert run("connect", server.url, "alice").code == 0


@pytest.mark.parametrize(
    ("key", "fault"),
    [
        (b"sk\nX-Evil: s3same", "contains control or non-ASCII characters"),
        (b"s3same ", "begins or ends with whitespace"),
        (b"s3same\n\n", "begins or ends with whitespace"),
        (b"Bearer s3same", "begins with 'Bearer'"),
        ("s3samé".encode(), "contains control or non-ASCII characters"),
        (b"s3same\xff", "contains control or non-ASCII characters"),
        (b"", "no key came through the pipe"),
        (b"\n", "no key came through the pipe"),
        (b" \n", "no key came through the pipe"),
    ],
)
def test_what_cannot_be_a_key_is_refused_by_a_sentence_without_it(
    key: bytes, fault: str, server: WireServer, run: Run
) -> None:
    """Public reports: kubernetes-client #656, deer-flow #5066 (a newline printed the key)."""
    ran = run("login", server.url, "alice", "--debug", stdin=key)
    assert (ran.code, ran.out) == (3, "")
    assert fault in ran.err
    assert "s3sam" not in ran.err
    assert all("authorization" not in request.headers for request in server.requests)


@pytest.mark.parametrize("typed", ["", " "])
def test_an_empty_line_is_no_key(
    typed: str, server: WireServer, config: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ours: who only presses Enter has changed their mind."""
    del config
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(getpass, "getpass", lambda _: typed)
    assert main(["login", server.url, "alice"]) == 3
    assert capsys.readouterr().err == "hindsight-bank: no key was typed: nothing was stored\n"


@pytest.mark.parametrize("key", ["", "a\nb", " s3same"])
def test_what_cannot_be_a_key_in_the_environment_is_refused_naming_it(
    key: str, server: WireServer, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ours: an empty variable is a mistake, not a missing one."""
    monkeypatch.setenv("HINDSIGHT_API_KEY", key)
    bound(server)
    ran = run("status")
    assert (ran.code, ran.err.count("\n")) == (3, 1)
    assert "the API key from HINDSIGHT_API_KEY" in ran.err
    assert "s3same" not in ran.err


def test_a_long_key_is_a_key(start_bank: Start, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: a JWT may have 3,000 characters."""
    long = "k" * 3000
    monkeypatch.setattr("command_line.KEY", long)
    server = start_bank(keyed(Hindsight()))
    assert run("login", server.url, "alice", stdin=long.encode()).code == 0
    assert stored_key(server.url, "alice") == long
    assert run("connect", server.url, "alice").code == 0


def test_a_stored_key_that_the_server_refuses_says_how_to_store_another(server: WireServer, run: Run) -> None:
    """Ours: keys end; one attempt with the stored one."""
    bound(server)
    store_key(server.url, "alice", "sk-ended")
    ran = run("status")
    assert (ran.code, ran.err.count("\n")) == (3, 1)
    assert "another one; set HINDSIGHT_API_KEY, or store the key with hindsight-bank login" in ran.err
    assert "sk-ended" not in ran.err


def test_a_key_in_the_environment_that_the_server_refuses_is_named(
    server: WireServer, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ours: it goes before a stored one, so storing another would not help."""
    bound(server)
    monkeypatch.setenv("HINDSIGHT_API_KEY", "sk-ended")
    said = "hindsight-bank: HTTP 401: the server refused the key in HINDSIGHT_API_KEY; set another, or unset it\n"
    for command in (["status"], ["demo", server.url]):
        ran = run(*command)
        assert (ran.code, ran.err) == (3, said)


# -- at a terminal -----------------------------------------------------------------------------------------------------


def typed(command: list[str], answer: str, env: dict[str, str]) -> tuple[int, str, bytes]:
    """Run a command in a terminal, answer its question, return its exit code, what was seen, and its command line."""
    import pty  # noqa: PLC0415 - POSIX only

    child, terminal = pty.fork()
    if child == 0:
        os.execve(COMMAND[0], [*COMMAND, *command], env)  # noqa: S606
    shown = b""
    while b"API key of" not in shown:
        shown += os.read(terminal, 4096)
    shown_to_all = Path(f"/proc/{child}/cmdline").read_bytes()
    os.write(terminal, answer.encode() + b"\n")
    with suppress(OSError):  # when the other end is closed
        while chunk := os.read(terminal, 4096):
            shown += chunk
    os.close(terminal)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status), shown.decode(), shown_to_all


@pytest.mark.skipif(not Path("/proc").exists(), reason="reads the process list of Linux")
@pytest.mark.usefixtures("config")
def test_a_key_typed_at_a_terminal_is_neither_shown_nor_in_the_process_list(server: WireServer, tmp_path: Path) -> None:
    """Ours: `connect` asks where the server wants a key, stores it, and keeps the binding."""
    tests = str(Path(__file__).parent)
    env = os.environ | {"PYTHON_KEYRING_BACKEND": "key_stores.Working", "PYTHONPATH": tests, "TERM": "xterm"}
    code, shown, listed = typed(["connect", server.url, "alice"], KEY, env)
    assert code == 0, shown
    assert "connected; kept in" in shown
    assert KEY not in shown
    assert KEY.encode() not in listed
    assert KEY in (tmp_path / "keys.json").read_text()
    assert KEY not in (tmp_path / "config/hindsight-bank/binding.json").read_text()
    ran = subprocess.run([*COMMAND, "status", "--json"], env=env, capture_output=True, text=True, check=True)
    assert json.loads(ran.stdout)["key"] == "key store"


@pytest.mark.usefixtures("config")
def test_ctrl_c_at_the_question_ends_quietly_and_keeps_nothing(server: WireServer, tmp_path: Path) -> None:
    """POSIX shells: 130 is 128 and SIGINT."""
    code, shown, _ = typed(["login", server.url, "alice"], "sk-half\x03", dict(os.environ))
    assert code == 130
    assert "Traceback" not in shown
    assert not (tmp_path / "keys.json").exists()


def test_without_a_terminal_connect_does_not_ask(server: WireServer, run: Run, config: Path) -> None:
    """Ours: a script is told the ways out, and nothing is kept."""
    ran = run("connect", server.url, "alice", stdin=KEY.encode())
    assert (ran.code, ran.err.count("\n"), config.exists()) == (3, 1, False)
    assert "hindsight-bank login stores one; or set HINDSIGHT_API_KEY" in ran.err
