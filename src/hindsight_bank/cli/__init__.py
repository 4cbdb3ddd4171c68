"""The command line, `hindsight-bank`. Nothing heavy is imported until a command runs.

An error is one line on standard error. Exit codes:

    0  all is done
    1  a fault of this program             any other exception
    2  wrong command, setting or argument  SettingsError ArgumentsError
    3  the key is missing or wrong         CredentialsError UnauthorizedError
    4  no such bank or memory              NotFoundError
    5  not reached: nothing was sent       UnreachableError BackingOffError
    6  no answer: it may have run          AnswerLostError DeadlineError
    7  the server refused or failed        StatusError RPCError ToolError
    8  the server is not understood        IncompatibleServer ProtocolError AnswerError
    9  an optional package is missing
  130  interrupted by Ctrl-C
  141  nobody reads the output any more
"""

import argparse
import importlib
import os
import sys
from collections.abc import Sequence

from hindsight_bank.cli import endings
from hindsight_bank.inert import one_line
from hindsight_bank.version import __version__


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command that `argv` (None: the process's own) names, and return its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # a terminal of another alphabet is no error
    args = _parse(argv)
    try:
        importlib.import_module(f"hindsight_bank.cli.{args.command}").run(args)
        sys.stdout.flush()
    except KeyboardInterrupt:
        return endings.INTERRUPTED
    except BrokenPipeError:
        # Python flushes once more at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return endings.PIPE_CLOSED
    except Exception as error:  # noqa: BLE001 - the last line of defence
        return _failed(error, debug=args.debug)
    return endings.OK


def _failed(error: Exception, *, debug: bool) -> int:
    """Say in one line what went wrong and what to do, and return the exit code."""
    if debug:
        import traceback  # noqa: PLC0415 - rarely needed

        traceback.print_exception(error)
    code, sentence = endings.ending(error)
    sys.stderr.write(one_line(f"hindsight-bank: {sentence}") + "\n")
    return code


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        "hindsight-bank",
        description="One memory bank of a Hindsight server, from the command line (unofficial).",
        epilog=(__doc__ or "").partition("\n\n")[2],
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    everywhere = argparse.ArgumentParser(add_help=False)
    everywhere.add_argument("--debug", action="store_true", help="after an error, show where it came from")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    demo = commands.add_parser(
        "demo",
        parents=[everywhere],
        usage="%(prog)s (URL [--bank ID] [--key-env NAME] | --offline) [--debug]",
        help="run the main job on a server and show it",
        description="Retain, recall, reflect, browse and fetch in a new bank of a server, each call shown as code.",
    )
    demo.add_argument("url", nargs="?", metavar="URL", help="the server, for example http://127.0.0.1:8888")
    demo.add_argument("--bank", metavar="ID", help="use this new or empty bank (default: demo- and the time)")
    demo.add_argument("--key-env", metavar="NAME", help="the environment variable that holds the API key")
    demo.add_argument("--offline", action="store_true", help="replay a recorded conversation, without a server")
    args = parser.parse_args(argv)
    if args.command is None:
        parser.print_help(sys.stderr)
        raise SystemExit(endings.USAGE)
    if args.command == "demo":
        if args.offline and (args.url or args.bank or args.key_env):
            demo.error("--offline goes with no server, bank or key")
        if not args.offline and not args.url:
            demo.error("give the URL of a Hindsight server, for example http://127.0.0.1:8888, or --offline")
    return args
