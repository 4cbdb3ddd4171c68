"""What became of each line of a file: a report that survives a crash, so that no line is sent twice unawares.

A JSON object a line. The first names the bank. A line of the file is announced before it is sent, and its outcome
follows; announced without an outcome is unknown. Lines are told apart by the hash of their text, so that they may move
in the file; no text of theirs is in the report.
"""

import hashlib
import json
import os
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, Final, Self

from hindsight_bank import Binding, SettingsError

_FORMAT: Final = 1


class Report:
    """The report of one file into one bank."""

    def __init__(self, file: BinaryIO, done: dict[str, tuple[str, int]]) -> None:
        self._file = file
        self._done = done
        self._seen: Counter[str] = Counter()

    @classmethod
    @contextmanager
    def opened(cls, path: Path, binding: Binding) -> Iterator[Self]:
        """Begin a report, or go on with the one that is there.

        Raises:
            SettingsError: The file is no report, is one of another bank, or is being written by another run.
        """
        handle = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o600)
        with os.fdopen(handle, "r+b") as file:
            _lock(path, handle)
            head = {"format": _FORMAT, "server_url": binding.server_url, "bank_id": binding.bank_id}
            done = _resumed(path, file, head)
            report = cls(file, done)
            if file.tell() == 0:
                report._write(head)
            yield report

    def before(self, text: bytes) -> tuple[str, str | None, int]:
        """Return the name of a line, its outcome in an earlier run, None if there is none, and where that stands."""
        digest = hashlib.sha256(text).hexdigest()
        self._seen[digest] += 1
        name = f"{digest}-{self._seen[digest]}"
        return name, *self._done.get(name, (None, 0))

    def announce(self, name: str, line: int) -> None:
        """Write down that a line is about to be sent, where a power failure cannot lose it."""
        self._write({"line": line, "name": name, "outcome": "unknown"})
        os.fsync(self._file.fileno())

    def tell(self, name: str, line: int, outcome: str, **more: Any) -> None:
        """Write down what became of a line."""
        self._write({"line": line, "name": name, "outcome": outcome, **more})

    def _write(self, value: dict[str, Any]) -> None:
        self._file.write(json.dumps(value).encode() + b"\n")
        self._file.flush()


def _resumed(path: Path, file: BinaryIO, head: dict[str, Any]) -> dict[str, tuple[str, int]]:
    """Return the last outcome of each line and where it stands, and leave the file after its last whole line."""
    content = file.read()
    whole = content[: content.rfind(b"\n") + 1]
    try:
        found = [json.loads(line) for line in whole.splitlines()]
        done = {entry["name"]: (entry["outcome"], place) for place, entry in enumerate(found[1:])}
        begun = found[0] if content else head
        alike = begun.keys() == head.keys() and begun["format"] == _FORMAT
    except (ValueError, LookupError, TypeError, AttributeError):
        alike = False
    if not alike or begun != head:
        what = "is the report of another bank" if alike else "is no report"
        raise SettingsError(f"{path} {what}: name another with --report FILE")
    file.seek(len(whole))
    file.truncate()
    return done


def _lock(path: Path, handle: int) -> None:
    """Let no other run write the same report, where the system can."""
    with suppress(ImportError):
        import fcntl  # noqa: PLC0415 - POSIX only

        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise SettingsError(f"{path} is being written by another run: wait for it to end") from None
