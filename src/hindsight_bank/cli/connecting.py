"""The commands `connect`, `status` and `disconnect`."""

import shlex
import sys
from argparse import Namespace
from contextlib import suppress
from typing import Any

from hindsight_bank import Bank, Binding, CredentialsError, NotFoundError, SettingsError
from hindsight_bank.cli import output
from hindsight_bank.cli.keys import keep_key, read_key
from hindsight_bank.cli.opening import asked, chosen
from hindsight_bank.cli.screen import Screen


def connect(args: Namespace) -> None:
    """Check the bank, ask for a key where one is wanted, and save the binding."""
    binding = Binding(args.url, args.bank_id)
    before = None
    with suppress(SettingsError):  # none, or one that is about to be replaced
        before = Binding.load(args.binding)
    try:
        found = _found(binding, args, new_bank=args.new_bank)
    except CredentialsError as error:
        if error.source or not sys.stdin.isatty():  # without a source there is no key
            raise
        keep_key(binding, read_key(binding), args.timeout)
        found = _found(binding, args, new_bank=args.new_bank)
    place = binding.save(args.binding)
    if args.json:
        output.document({"binding": str(place), **found})
        return
    screen = Screen()
    screen.done(f"connected; kept in {place}", whole=True)
    _show(screen, found)
    if before is not None and before != binding:
        screen.say(f"It replaces {before.bank_id} on {before.server_url}.")
    if not found["exists"]:
        screen.say("Now have the first retain make the bank:")
        where = ["--binding", args.binding] if args.binding else []
        screen.note(f'{shlex.join(["hindsight-bank", "retain", "--new-bank", *where])} "…"', "bold")


def status(args: Namespace) -> None:
    """Tell what answers where the binding points."""
    binding = chosen(args)
    place = None if args.server else str(binding.location(args.binding))
    found = {"binding": place, **_found(binding, args)}
    if args.json:
        output.document(found)
        return
    screen = Screen()
    _show(screen, found)
    if place is not None:
        screen.note(f"kept in {place}")


def disconnect(args: Namespace) -> None:
    """Remove the binding."""
    binding = None
    with suppress(SettingsError):  # one that is not to be trusted may be removed
        binding = Binding.load(args.binding)
    place = Binding.remove(args.binding)
    if args.json:
        output.document({"removed": str(place)})
        return
    screen = Screen()
    screen.done(f"disconnected: {place} is removed", whole=True)
    if binding:
        screen.say("If the key store holds a key for it, that stays. To remove it:")
        screen.note(f"hindsight-bank logout {binding.server_url} {binding.bank_id}", "bold")


def _found(binding: Binding, args: Namespace, *, new_bank: bool = False) -> dict[str, Any]:
    """Connect and return what answers."""

    def look(bank: Bank) -> dict[str, Any]:
        try:
            health = bank.health()
        except NotFoundError:
            if not new_bank:
                raise
            return {"exists": False}
        total = bank.list_memories(limit=0).total
        more = {"server": health.server, "protocol": health.protocol, "seconds": round(health.seconds, 4)}
        return {"exists": True, **more, "memories": total}

    seen, key = asked(binding, "connecting", look, timeout=args.timeout, new_bank=new_bank)
    return {"server_url": binding.server_url, "bank_id": binding.bank_id, "key": key, **seen}


def _show(screen: Screen, found: dict[str, Any]) -> None:
    exists = found["exists"]
    pairs = [
        ("server", found["server_url"]),
        ("bank", found["bank_id"] + ("" if exists else ": not there yet")),
        ("memories", str(found.get("memories", ""))),
        ("key", {"none": "none: the server wants none"}.get(found["key"], f"from the {found['key']}")),
        ("answers", found.get("server", "")),
        ("protocol", found.get("protocol", "")),
        ("round trip", f"{found['seconds'] * 1000:.0f} ms" if exists else ""),
    ]
    screen.fields("status", [(name, value) for name, value in pairs if value])
