"""The commands `memories`, `memory`, `bank` and `pages`."""

import sys
from argparse import Namespace
from itertools import islice
from typing import Any, Final

from hindsight_bank import Bank, SettingsError
from hindsight_bank.cli import output, views
from hindsight_bank.cli.opening import asked, chosen, opened
from hindsight_bank.cli.screen import Screen

_LIMIT: Final = 20
_TABLE: Final = 100
_TYPES: Final = ("world", "experience", "observation")


def memories(args: Namespace) -> None:
    """List memories: a page, or all as they come."""
    filters = {"type": args.type, "q": args.text, "tags": args.tag, "tags_match": args.tags_match}
    if not args.all:
        _page(filters, args)
        return
    with opened(chosen(args), timeout=args.timeout) as bank:
        _every(bank, filters, json=args.json)


def memory(args: Namespace) -> None:
    """Show one memory."""
    found, _ = asked(chosen(args), "memory", lambda bank: bank.get_memory(args.id), timeout=args.timeout)
    if args.json:
        output.document(found)
    else:
        views.memory(Screen(), found)


def bank(args: Namespace) -> None:
    """Show the bank's profile."""
    profile, _ = asked(chosen(args), "bank", Bank.get_bank, timeout=args.timeout)
    if args.json:
        output.document(profile)
    else:
        views.bank(Screen(), profile)


def pages(args: Namespace) -> None:
    """Browse in the whole terminal."""
    from hindsight_bank.pages import run  # noqa: PLC0415 - another extra

    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise SettingsError("pages need a terminal; in a pipe, hindsight-bank memories lists")
    with opened(chosen(args), timeout=args.timeout) as bank:
        run(bank)


def _page(filters: dict[str, Any], args: Namespace) -> None:
    cut = {"limit": _LIMIT if args.limit is None else args.limit, "offset": args.offset}
    page, _ = asked(chosen(args), "memories", lambda bank: bank.list_memories(**filters, **cut), timeout=args.timeout)
    if args.json:
        output.document(page)
        return
    screen = Screen()
    if not page.items:
        screen.say(f"None here, {page.total} in all." if page.total else _none(args.type))
        return
    views.memories(screen, page.items, ids=True)
    last = page.offset + len(page.items)
    if last < page.total:
        screen.say(f"{page.offset + 1} to {last} of {page.total}; next: --offset {last}", "bright_black")
    else:
        screen.say(f"{page.offset + 1} to {last} of {page.total}", "bright_black")


def _every(bank: Bank, filters: dict[str, Any], *, json: bool) -> None:
    """Show all memories, in as little memory as a page takes."""
    every = bank.iter_memories(**filters)
    if json:
        for item in every:
            output.line(item)
        return
    screen, shown = Screen(), False
    while table := list(islice(every, _TABLE)):
        views.memories(screen, table, ids=True)
        sys.stdout.flush()
        shown = True
    if not shown:
        screen.say(_none(filters["type"]))


def _none(kind: str | None) -> str:
    known = kind is None or kind in _TYPES
    return "No memories." if known else f"No memories. The types that servers know are {', '.join(_TYPES)}."
