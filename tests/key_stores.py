"""Key stores as keyring finds them, for programs that the tests start: PYTHON_KEYRING_BACKEND=key_stores.Working."""

import json
import os
from pathlib import Path

from keyring.backend import KeyringBackend
from keyring.errors import KeyringLocked


class Working(KeyringBackend):
    """One that works; it keeps everything in the file KEY_STORE names, and what it was asked beside it."""

    priority = 1

    def get_password(self, service: str, username: str) -> str | None:
        with self._file.with_suffix(".asked").open("a") as asked:
            asked.write(f"{username}\n")
        return self._all().get(f"{service} {username}")

    def set_password(self, service: str, username: str, password: str) -> None:
        self._file.write_text(json.dumps(self._all() | {f"{service} {username}": password}))

    def delete_password(self, service: str, username: str) -> None:
        self._file.write_text(json.dumps({k: v for k, v in self._all().items() if k != f"{service} {username}"}))

    @property
    def _file(self) -> Path:
        return Path(os.environ["KEY_STORE"])

    def _all(self) -> dict[str, str]:
        found: dict[str, str] = json.loads(self._file.read_text()) if self._file.exists() else {}
        return found


class Locked(Working):
    """One that is locked."""

    def get_password(self, service: str, username: str) -> str | None:
        raise KeyringLocked("Failed to unlock the collection!")

    def set_password(self, service: str, username: str, password: str) -> None:
        raise KeyringLocked("Failed to unlock the collection!")


class Broken(Working):
    """One that breaks, and quotes what it was given."""

    def get_password(self, service: str, username: str) -> str | None:
        raise RuntimeError(username)

    def set_password(self, service: str, username: str, password: str) -> None:
        raise RuntimeError(password)
