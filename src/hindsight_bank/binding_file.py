"""The file that keeps a binding: a server URL, a bank id, a format number. Never a key.

Only a binding is ever overwritten or removed. Whatever else is in its place is kept byte for byte, a new binding goes
beside it, and from then on that one counts.
"""

import json
import os
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from hindsight_bank import old_bindings, private_file
from hindsight_bank.errors import ReconnectRequired, SettingsError
from hindsight_bank.loading import unforked

_FORMAT: Final = 1
_KEYS: Final = {"format", "server_url", "bank_id"}


def location(path: str | os.PathLike[str] | None) -> Path:
    """Return the file that holds a binding or may be given one."""
    file = _meant(path)
    return file if _is_free(file) else file.with_name(f"{file.stem}.reconnected{file.suffix or '.json'}")


def load(path: str | os.PathLike[str] | None) -> tuple[Path, dict[str, str]]:
    """Return the file and the two values in it, whose rules are the caller's to check."""
    file = location(path)
    try:
        return file, _values(file, private_file.read(file))
    except FileNotFoundError:
        raise _missing(path, file, _way(file)) from None


def save(path: str | os.PathLike[str] | None, values: dict[str, str]) -> Path:
    """Write the two values and return the file."""
    file = location(path)
    if not _is_free(file):
        raise SettingsError(f"{file} holds no binding either: move it away, or name another file with --binding FILE")
    private_file.write(file, json.dumps({"format": _FORMAT, **values}, indent=2).encode() + b"\n")
    return file


def remove(path: str | os.PathLike[str] | None) -> Path:
    """Remove a binding and return the file it was in."""
    file = location(path)
    if not file.exists():
        raise _missing(path, file, "nothing to remove")
    if not _is_free(file):
        raise SettingsError(f"{file} holds no binding: it stays")
    private_file.remove(file)
    return file


def _meant(path: str | os.PathLike[str] | None) -> Path:
    if path is None:
        return _config_folder() / "binding.json"
    if not os.fspath(path):
        raise SettingsError("the name of the binding's file is empty: give one, on the command line --binding FILE")
    file = Path(path).expanduser()
    if (file / ".git").exists():
        raise _reconnect(file, [old_bindings.FOLDER])
    return file


def _config_folder() -> Path:
    try:
        with unforked():
            import platformdirs  # noqa: PLC0415 - needed for the default place only
    except ModuleNotFoundError:
        raise SettingsError(
            "without the package platformdirs a binding has no default place: name the file, or"
            " pip install 'hindsight-bank[cli]'"
        ) from None
    return platformdirs.user_config_path("hindsight-bank", appauthor=False)


def _is_free(file: Path) -> bool:
    """Tell whether a path holds a binding, whoever may write to it, or nothing at all."""
    try:
        content = private_file.read(file, suspicious=False)
    except FileNotFoundError:
        return True
    try:
        return bool(_values(file, content))
    except SettingsError:
        return False


def _missing(path: str | os.PathLike[str] | None, file: Path, advice: str) -> SettingsError:
    """Return what to say where there is no binding: what is in its place, if anything is."""
    meant = _meant(path)
    if meant != file:
        try:
            _values(meant, private_file.read(meant, suspicious=False))
        except SettingsError as error:
            return error
    return SettingsError(f"there is no binding at {file}: {advice}")


def _values(file: Path, content: bytes) -> dict[str, str]:
    """Return the two values of a binding, or raise what the file holds instead."""
    try:
        found = json.loads(content.decode("utf-8-sig"), object_pairs_hook=_once)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or found.keys() != _KEYS:
        if traits := old_bindings.recognised(found, file.name):
            raise _reconnect(file, traits)
        raise SettingsError(f"{file} holds no binding, or half of one; it is kept: {_way(file)}")
    if found["format"] != _FORMAT or isinstance(found["format"], bool):
        raise SettingsError(f"{file} is in a format of another hindsight-bank: update this one, or {_way(file)}")
    values = {name: found[name] for name in ("server_url", "bank_id")}
    if not all(isinstance(value, str) for value in values.values()):
        raise SettingsError(f"{file} holds a server_url or a bank_id that is no text; it is kept: {_way(file)}")
    return values


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse a key that stands twice: readers differ on which one counts."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError
    return found


def _reconnect(file: Path, found: Sequence[str]) -> ReconnectRequired:
    return ReconnectRequired(
        f"{file} holds settings of another kind ({', '.join(found)}), which are kept and never used: {_way(file)}",
        path=str(file),
        found=found,
    )


def _way(file: Path) -> str:
    named = "" if file.is_dir() or file == _meant(None) else f" --binding {shlex.quote(str(file))}"
    return f"connect with `hindsight-bank connect URL BANK{named}`"
