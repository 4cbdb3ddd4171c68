"""The command `retain`: one text, or each line of a file."""

import sys
from argparse import Namespace
from typing import Final

from hindsight_bank import ArgumentsError, Bank, RetainReceipt
from hindsight_bank.cli import output
from hindsight_bank.cli.opening import asked, chosen
from hindsight_bank.cli.screen import Screen

# More than any server takes in one request.
_LONGEST: Final = 64 * 2**20


def retain(args: Namespace) -> int:
    """Hand one text to the bank, or those of a file."""
    if args.file is not None:
        from hindsight_bank.cli.many import retain_file  # noqa: PLC0415 - another way to use this command

        return retain_file(args)
    text = args.text if args.text is not None else _piped()
    binding = chosen(args)

    def call(bank: Bank) -> RetainReceipt:
        return bank.retain(
            text,
            context=args.context,
            timestamp=args.timestamp,
            tags=args.tag,
            metadata=dict(pair.split("=", 1) for pair in args.metadata) if args.metadata else None,
            document_id=args.document_id,
            strategy=args.strategy,
            update_mode=args.update_mode,
        )

    receipt, _ = asked(binding, "retain", call, timeout=args.timeout, new_bank=args.new_bank)
    if args.json:
        output.document(receipt)
    else:
        Screen().done(f"{receipt.status}: {binding.bank_id} extracts the facts now; hindsight-bank memories shows them")
    return 0


def _piped() -> str:
    """Return the text on standard input."""
    given = b"" if sys.stdin.isatty() else sys.stdin.buffer.read(_LONGEST)
    if not given:
        raise ArgumentsError("retain: give the TEXT, pipe it in, or name a file with --file", tool="retain")
    try:
        return given.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ArgumentsError("retain: the text on standard input is not UTF-8", tool="retain") from None
