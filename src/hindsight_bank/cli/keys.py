"""The commands `login` and `logout`: a key is read without showing it, tried, and given to the key store."""

import getpass
import sys
import warnings
from argparse import Namespace
from typing import Final

from hindsight_bank import Binding, CredentialsError, UnauthorizedError, forget_key, store_key
from hindsight_bank.cli.endings import KEY_VARIABLE
from hindsight_bank.cli.opening import bank_with, chosen
from hindsight_bank.cli.screen import Screen

_LONGEST: Final = 2**16


def login(args: Namespace) -> None:
    """Read the key, try it on the server and store it."""
    binding = _named(args)
    if not wants_key(binding, args.timeout):
        Screen().say(f"{binding.server_url} answers without a key: none is needed, and none was stored.")
        return
    keep_key(binding, read_key(binding), args.timeout)
    Screen().done(f"the key is stored for {binding.bank_id} on {binding.server_url}")


def logout(args: Namespace) -> None:
    """Remove the stored key."""
    binding = _named(args)
    if forget_key(binding.server_url, binding.bank_id):
        Screen().done(f"the key for {binding.bank_id} on {binding.server_url} is removed from the key store")
    else:
        Screen().say(f"The key store holds no key for {binding.bank_id} on {binding.server_url}.")


def wants_key(binding: Binding, timeout: float | None) -> bool:
    """Tell whether the server refuses a call without a key."""
    try:
        _try(binding, None, timeout)
    except UnauthorizedError:
        return True
    return False


def keep_key(binding: Binding, key: str, timeout: float | None) -> None:
    """Try a key on the server, and store it if it opens the bank."""
    try:
        _try(binding, key, timeout)
    except UnauthorizedError as error:
        raise CredentialsError(
            f"the server refused this key (HTTP {error.status}): nothing was stored; try another", source="your input"
        ) from None
    store_key(binding.server_url, binding.bank_id, key)


def read_key(binding: Binding) -> str:
    """Read a key from the terminal without echo, or from a pipe: a line, whose end is no part of it."""
    if not sys.stdin.isatty():
        key = sys.stdin.buffer.read(_LONGEST).decode("utf-8", "replace").removesuffix("\n").removesuffix("\r")
        if not key.strip():
            raise CredentialsError(
                f"no key came through the pipe: pipe one in, run this in a terminal, or set {KEY_VARIABLE} instead",
                source="standard input",
            )
        return key
    with warnings.catch_warnings():
        warnings.simplefilter("error", getpass.GetPassWarning)
        try:
            key = getpass.getpass(f"API key of {binding.server_url} (not shown): ")
        except (getpass.GetPassWarning, EOFError):
            raise CredentialsError(
                f"the key could not be read unseen here: pipe it in, or set {KEY_VARIABLE} instead", source="terminal"
            ) from None
    if not key.strip():
        raise CredentialsError("no key was typed: nothing was stored", source="terminal")
    return key


def _named(args: Namespace) -> Binding:
    return Binding(args.url, args.bank_id) if args.url is not None else chosen(args)


def _try(binding: Binding, key: str | None, timeout: float | None) -> None:
    with bank_with(binding, key, "your input", timeout, new_bank=True):
        pass
