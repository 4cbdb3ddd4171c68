"""From options to a connected bank: which one, and with which key."""

import os
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, Literal

from hindsight_bank import Bank, Binding, CredentialsError, UnauthorizedError, stored_key
from hindsight_bank.cli.endings import KEY_VARIABLE

_UNAUTHORIZED: Final = 401


Source = Literal["none", "environment", "key store"]


def chosen(args: Namespace) -> Binding:
    """Return the bank that the options name, else the one of the binding."""
    if args.server is not None:
        return Binding(args.server, args.bank)
    return Binding.load(args.binding)


@contextmanager
def opened(binding: Binding, *, timeout: float | None = None, new_bank: bool = False) -> Iterator[tuple[Bank, Source]]:
    """Connect with the key of the environment, else with none, else, if the server wants one, with the stored one.

    What comes out is the bank and where its key came from. The key store is asked only when needed, since it may ask
    the user in turn.
    """
    key = os.environ.get(KEY_VARIABLE)
    bank = bank_with(binding, key, KEY_VARIABLE, timeout, new_bank=new_bank)
    source: Source = "none" if key is None else "environment"
    try:
        try:
            bank.connect()
        except UnauthorizedError as error:
            if key is not None or error.status != _UNAUTHORIZED:
                raise
            bank.close()
            source, stored = "key store", _stored(binding)
            bank = bank_with(binding, stored, source, timeout, new_bank=new_bank)
            bank.connect()
        yield bank, source
    finally:
        bank.close()


def bank_with(binding: Binding, key: str | None, source: str, timeout: float | None, *, new_bank: bool) -> Bank:
    """Return a bank, not yet connected; a key that cannot be one is named by its source."""
    try:
        return Bank.from_binding(binding, api_key=key, timeout=timeout, allow_new_bank=new_bank)
    except CredentialsError as error:
        raise CredentialsError(str(error).replace("api_key", source), source=source) from None


def _stored(binding: Binding) -> str:
    """Return the stored key, or say that there is none: an error of no source."""
    try:
        key = stored_key(binding.server_url, binding.bank_id)
    except CredentialsError as error:
        raise CredentialsError(f"the server wants an API key, and {error}", source=error.source) from error
    if key is None:
        raise CredentialsError(
            f"the server wants an API key, and the key store holds none for {binding.bank_id} (or is switched off):"
            f" hindsight-bank login stores one; or set {KEY_VARIABLE}; or pass Bank(..., api_key=...) in Python"
        )
    return key
