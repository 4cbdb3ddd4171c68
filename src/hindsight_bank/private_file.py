"""A small file of one owner: read with suspicion, replaced whole."""

import os
import shlex
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from hindsight_bank.errors import SettingsError

_LARGEST: Final = 2**20
_OTHER: Final = "mend that, or choose another file with --binding FILE"


def read(path: Path, *, suspicious: bool = True) -> bytes:
    """Return what a file holds; if `suspicious`, refuse one that somebody else may have written.

    Raises:
        FileNotFoundError: There is no such file.
        SettingsError: It is no regular file, is too large, or others may write to it. The message says what to do.
    """
    with _told(path, "read"), open(path, "rb", opener=_at_once) as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise SettingsError(f"{path} is no regular file; {_OTHER}")
        if suspicious and os.name == "posix":
            _distrust(path, status)
        content = file.read(_LARGEST + 1)
    if len(content) > _LARGEST:
        raise SettingsError(f"{path} is larger than any settings file; {_OTHER}")
    return content


def write(path: Path, content: bytes) -> None:
    """Replace the file at once, readable by its owner only, or leave it as it was.

    Raises:
        SettingsError: It cannot be written. The message says why.
    """
    target = Path(os.path.realpath(path))  # a link to a file stays one
    with _told(path, "written"):
        _make_folder(target.parent)
        handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)  # for the owner only
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(handle)
            Path(temporary).replace(target)
        except BaseException:
            with suppress(OSError):
                Path(temporary).unlink()
            raise
        _sync_folder(target.parent)


def remove(path: Path) -> None:
    """Remove the file, or raise `SettingsError`."""
    with _told(path, "removed"):
        path.unlink()


def _at_once(path: str, flags: int) -> int:
    """Open without waiting, as a named pipe would for a writer."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


@contextmanager
def _told(path: Path, what: str) -> Iterator[None]:
    """Turn an error of the system's into a sentence; a missing file stays what it is."""
    try:
        yield
    except FileNotFoundError:
        if what == "read":
            raise
        raise SettingsError(f"{path} cannot be {what}: no such folder; {_OTHER}") from None
    except SettingsError:
        raise
    except (OSError, ValueError) as error:  # ValueError: a path with a null character
        why = getattr(error, "strerror", None) or str(error)
        raise SettingsError(f"{path} cannot be {what}: {why}; {_OTHER}") from None


def _distrust(path: Path, status: os.stat_result) -> None:
    """Refuse a file that others own or may write to: it could send memories and the key to their server."""
    named = shlex.quote(str(path))
    if status.st_uid not in (os.geteuid(), 0):
        raise SettingsError(
            f"{path} belongs to another user (uid {status.st_uid}), who could point it elsewhere: look into it, then"
            f" chown {os.geteuid()} {named}"
        )
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise SettingsError(
            f"{path} may be written by other users, who could point it elsewhere: look into it, then chmod 600 {named}"
        )


def _make_folder(folder: Path) -> None:
    if not folder.is_dir():
        _make_folder(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)


def _sync_folder(folder: Path) -> None:
    """Let the new name outlast a power failure, where the system can."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
