"""The command line, `hindsight-bank`. Nothing heavy is imported until a command runs.

An error is one line on standard error. Exit codes:

    0  all is done
    1  a fault of this program                     any other exception
    2  wrong command, setting or argument          SettingsError ArgumentsError
    3  the key is missing or wrong                 CredentialsError UnauthorizedError
    4  no such bank or memory                      NotFoundError
    5  not reached: nothing was sent               UnreachableError BackingOffError
    6  no answer: it, or some lines, may have run  AnswerLostError DeadlineError
    7  the server refused or failed                StatusError RPCError ToolError
    8  the server is not understood                IncompatibleServer ProtocolError AnswerError
    9  an optional package is missing
   10  some lines of a file were not accepted
   11  a file or the output failed                 OSError
  130  interrupted by Ctrl-C
  141  nobody reads the output any more
"""

import importlib
import os
import sys
from argparse import Namespace
from collections.abc import Sequence
from typing import cast

from hindsight_bank.cli import endings, grammar
from hindsight_bank.inert import one_line


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command that `argv` (None: the process's own) names, and return its exit code."""
    try:
        _mend_streams()
        return _run(grammar.parsed(argv, epilog=(__doc__ or "").partition("\n\n")[2]))
    except KeyboardInterrupt:
        return endings.INTERRUPTED


def _mend_streams() -> None:
    """Have three standard streams, whoever started this, that fail at no character."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # it was closed
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode, encoding="utf-8"))
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # a terminal of another alphabet is no error


def _run(args: Namespace) -> int:
    """Run a command, and return its exit code."""
    try:
        code = getattr(importlib.import_module(f"hindsight_bank.cli.{args.room}"), args.command)(args)
        sys.stdout.flush()
    except BrokenPipeError:
        # Python flushes once more at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return endings.PIPE_CLOSED
    except Exception as error:  # noqa: BLE001 - the last line of defence
        return _failed(error, args)
    return endings.OK if code is None else cast("int", code)


def _failed(error: Exception, args: Namespace) -> int:
    """Say in one line what went wrong and what to do, and return the exit code."""
    if args.debug:
        import traceback  # noqa: PLC0415 - rarely needed

        traceback.print_exception(error)
    code, sentence = endings.ending(error, writes=args.command == "retain")
    sys.stderr.write(one_line(f"hindsight-bank: {sentence}") + "\n")
    return code
