"""From options to a connected bank: which one, and with which key."""

import os
from argparse import Namespace
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Final, Literal, TypeVar

from hindsight_bank import Bank, Binding, CredentialsError, NotFoundError, UnauthorizedError, stored_key
from hindsight_bank.cli.endings import KEY_VARIABLE
from hindsight_bank.cli.screen import Screen

R = TypeVar("R")
Source = Literal["none", "environment", "key store"]

_UNAUTHORIZED: Final = 401


def chosen(args: Namespace) -> Binding:
    """Return the bank that the options name, else the one of the binding."""
    if args.server is not None:
        return Binding(args.server, args.bank)
    return Binding.load(args.binding)


@contextmanager
def opened(binding: Binding, *, timeout: float | None = None, new_bank: bool = False) -> Iterator[Bank]:
    """Connect, for several calls."""
    bank, _, _ = _reached(binding, Bank.connect, timeout, new_bank=new_bank)
    with closing(bank):
        yield bank


def asked(
    binding: Binding, what: str, call: Callable[[Bank], R], *, timeout: float | None = None, new_bank: bool = False
) -> tuple[R, Source]:
    """Return what a call answers, and where the key came from; until then, a spinner says `what` is being done.

    What is wrong in the call itself is an error before anything connects.
    """

    def seen(bank: Bank) -> R:
        with Screen.waiting(what):
            return call(bank)

    bank, source, answer = _reached(binding, seen, timeout, new_bank=new_bank)
    bank.close()
    return answer, source


def _reached(
    binding: Binding, call: Callable[[Bank], R], timeout: float | None, *, new_bank: bool
) -> tuple[Bank, Source, R]:
    """Make the first call with the key of the environment, else with none, else, if one is wanted, with the stored one.

    What comes out is the bank, where its key came from, and the answer. The key store is asked only when needed, since
    it may ask the user in turn. What met a 401 while connecting was not sent, so it is no second call.
    """
    key = os.environ.get(KEY_VARIABLE)
    try:
        bank = bank_with(binding, key, KEY_VARIABLE, timeout, new_bank=new_bank)
        return bank, "none" if key is None else "environment", _called(bank, call)
    except UnauthorizedError as error:
        if key is not None or error.status != _UNAUTHORIZED or error.outcome != "not_sent":
            raise
    bank = bank_with(binding, _stored(binding), "key store", timeout, new_bank=new_bank)
    return bank, "key store", _called(bank, call)


def _called(bank: Bank, call: Callable[[Bank], R]) -> R:
    """Return what a call answers; a bank that failed is closed, and one that is missing is named."""
    try:
        return call(bank)
    except BaseException as error:
        bank.close()
        if isinstance(error, NotFoundError) and error.what == "bank":
            raise NotFoundError(
                f"no bank {bank.bank_id} on {bank.server_url}: {error.message}; check its name, or have the first"
                ' retain make it: hindsight-bank retain --new-bank "…" (connect takes --new-bank too)',
                what="bank",
            ) from error
        raise


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
            f"the server wants an API key, and the key store holds none for {binding.bank_id} (or is locked or switched"
            f" off): hindsight-bank login stores one; or set {KEY_VARIABLE}; or pass Bank(..., api_key=...) in Python"
        )
    return key
