"""What points at a bank: a server URL and a bank id, and the rules that both must keep before any connection.

Older generations of tools have one endpoint for all banks, and take the bank's id as an argument.
"""

import os
import re
import unicodedata
from pathlib import Path
from typing import Final, Self
from urllib.parse import urlsplit

from attrs import field, frozen

from hindsight_bank import binding_file
from hindsight_bank.discreet import discreet
from hindsight_bank.errors import SettingsError
from hindsight_bank.loading import unforked

_BANK_ID: Final = re.compile(r"[a-z0-9_-]{1,1024}", re.ASCII)
# Unpaired surrogates (Cs) cannot be sent; the other categories are Unicode's controls.
_UNUSABLE: Final = ("Cc", "Cs", "Zl", "Zp")
_PATH: Final = re.compile(r"(/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)+/?", re.ASCII)
_DOTTED: Final = re.compile(r"[0-9]+(\.[0-9]+){3}", re.ASCII)
_BYTE: Final = r"(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
_V4: Final = re.compile(rf"{_BYTE}(\.{_BYTE}){{3}}", re.ASCII)
# Plain dotted decimal only: resolvers read other spellings as other addresses.
_LOOPBACK_V4: Final = re.compile(rf"127(\.{_BYTE}){{3}}", re.ASCII)
# urlsplit reads a host out of `[::1]x` and `x[::1]` too.
_NETLOC: Final = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9]([a-z0-9._-]*[a-z0-9])?\.?)(:[0-9]+)?", re.ASCII | re.IGNORECASE)
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}
_LONGEST_HOST: Final = 254  # RFC 1035: 253 and a final dot
_LONGEST_PATH: Final = 1024


def check_bank_id(bank_id: str) -> str:
    """Return a usable bank id, or raise `SettingsError` with the rule."""
    if not (isinstance(bank_id, str) and _BANK_ID.fullmatch(bank_id)):
        raise SettingsError("a bank id is one or more of a-z, 0-9, '_' and '-', at most 1024")
    return bank_id


def check_free_id(name: str, value: str) -> str:
    """Return an id that travels as an argument, or raise `SettingsError` with the rule."""
    usable = isinstance(value, str) and value and not any(unicodedata.category(char) in _UNUSABLE for char in value)
    if not usable:
        raise SettingsError(f"{name} is any text that is not empty and has no control characters")
    return value


def check_path(path: str) -> str:
    """Return a usable path of an endpoint, or raise `SettingsError` with the rule."""
    if not (isinstance(path, str) and len(path) <= _LONGEST_PATH and _PATH.fullmatch(path)):
        raise SettingsError("a path begins with '/', for example '/mcp', and has only letters, digits and . _ ~ -")
    return path


def canonical_origin(server_url: str) -> str:
    """Return ``scheme://host[:port]`` in one spelling: lower case, no default port, no final slash.

    Raises:
        SettingsError: The URL is no bare http(s) origin, or is plain http beyond loopback. The message does not quote
            the URL, which may hold a password.
    """
    if not isinstance(server_url, str):
        raise SettingsError("a server URL is a string such as 'https://memory.example.com'")
    if not server_url.isascii() or not server_url.isprintable() or set(" \\%") & set(server_url):
        raise SettingsError("a server URL is plain ASCII without spaces, backslashes or percent signs")
    if "@" in server_url:
        raise SettingsError("a server URL holds no user name or password: pass the key as api_key")
    if "?" in server_url or "#" in server_url:
        raise SettingsError("a server URL has no query and no fragment")
    try:
        parts = urlsplit(server_url)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise SettingsError("the server URL's host or port is malformed") from None
    if parts.scheme not in _DEFAULT_PORTS:
        raise SettingsError("a server URL begins with https:// (or http:// on this machine)")
    if parts.path not in ("", "/"):
        raise SettingsError("a server URL has no path: the bank's endpoint below it is added for you")
    if not host or not _NETLOC.fullmatch(parts.netloc) or not _is_host(host) or port == 0:
        raise SettingsError("the server URL's host or port is missing or malformed")
    netloc = _netloc(host)
    if parts.scheme == "http" and not is_loopback(host):
        raise SettingsError("plain http is for loopback only (localhost, 127.x.x.x, [::1]): use https")
    return f"{parts.scheme}://{netloc}" + ("" if port in (None, _DEFAULT_PORTS[parts.scheme]) else f":{port}")


def is_loopback(host: str) -> bool:
    """Tell whether a host is exactly ``localhost`` (any case, optional final dot), 127.0.0.0/8 or ``::1``."""
    return host.lower().removesuffix(".") == "localhost" or host == "::1" or bool(_LOOPBACK_V4.fullmatch(host))


def _is_host(host: str) -> bool:
    if _DOTTED.fullmatch(host) and not _V4.fullmatch(host):
        return False
    return ".." not in host and len(host) <= _LONGEST_HOST


def _netloc(host: str) -> str:
    if ":" in host:
        with unforked():
            import ipaddress  # noqa: PLC0415 - only for IPv6

        try:
            return f"[{ipaddress.IPv6Address(host)}]"
        except ValueError:
            raise SettingsError("the server URL's IPv6 address is malformed") from None
    return host.removesuffix(".") if is_loopback(host) else host


@frozen
class Binding:
    """One bank on one server, and nothing else: no key, no folder, no default.

    Attributes:
        server_url: The server's base URL; kept in its canonical form, without a final slash.
        bank_id: The bank, one or more of ``a-z0-9_-``.
    """

    server_url: str = field(converter=canonical_origin)
    bank_id: str = field(converter=check_bank_id)

    @property
    def endpoint(self) -> str:
        """The URL of the bank's MCP endpoint, with exactly one final slash."""
        return f"{self.server_url}/mcp/{self.bank_id}/"

    @classmethod
    @discreet
    def location(cls, path: str | os.PathLike[str] | None = None) -> Path:
        """Return the file that `load` reads and `save` writes.

        Args:
            path: The file meant; None for ``binding.json`` in the user's configuration folder for hindsight-bank.

        Returns:
            That file. Or, where something else than a binding is in its place, the one beside it whose name ends in
            ``.reconnected.json``.

        Raises:
            SettingsError: What is in its place cannot be read.
        """
        return binding_file.location(path)

    @classmethod
    @discreet
    def load(cls, path: str | os.PathLike[str] | None = None) -> Self:
        """Read a binding from its file.

        Args:
            path: As for `location`.

        Returns:
            The binding.

        Raises:
            ReconnectRequired: The file holds settings made for coding agents, which are never used.
            SettingsError: There is no such file, it holds something else, or others may have written it.
        """
        file, values = binding_file.load(path)
        try:
            return cls(**values)
        except SettingsError as error:
            raise SettingsError(f"{file}: {error}") from None

    @discreet
    def save(self, path: str | os.PathLike[str] | None = None) -> Path:
        """Write the binding to its file: at once or not at all, for its owner only.

        Args:
            path: As for `location`; a folder that is missing is made.

        Returns:
            The file written. What was no binding is not overwritten; see `location`.

        Raises:
            SettingsError: It cannot be written.
        """
        return binding_file.save(path, {"server_url": self.server_url, "bank_id": self.bank_id})

    @classmethod
    @discreet
    def remove(cls, path: str | os.PathLike[str] | None = None) -> Path:
        """Remove a binding's file.

        Args:
            path: As for `location`.

        Returns:
            The file removed. What is no binding stays.

        Raises:
            ReconnectRequired: As for `load`.
            SettingsError: There is no binding, or it cannot be removed.
        """
        return binding_file.remove(path)


@frozen
class SharedSettings:
    """One endpoint for all banks of a server.

    Attributes:
        server_url: As for `Binding`.
        path: Where the endpoint is; kept as it is, since servers tell a final slash from none.
    """

    server_url: str = field(converter=canonical_origin)
    path: str = field(converter=check_path)

    @property
    def endpoint(self) -> str:
        """The URL of the endpoint."""
        return f"{self.server_url}{self.path}"
