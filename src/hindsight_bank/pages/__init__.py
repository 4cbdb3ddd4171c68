"""A full-screen browser for a bank's memories: list, filter, search, read. It changes nothing.

The only importer of textual, over the public names only. Textual's event loop stays in here; every call of the bank
runs in a thread, and no function of ours is asynchronous.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hindsight_bank import Bank


def run(bank: "Bank") -> None:
    """Browse a bank's memories in the terminal until the person quits; the bank is closed by who opened it."""
    from hindsight_bank.pages.app import Pages  # noqa: PLC0415 - textual is slow to load

    Pages(bank).run()
