"""The command line: `python -m harness start | stop | run | bank`."""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from harness.processes import HarnessError, say
from harness.server import DEPENDENCIES, LLMS, PROTOCOLS, VERSION, Options, Server, create_bank

if TYPE_CHECKING:
    from types import FrameType

_SECONDS_TO_END = 10
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def main() -> int:
    """Run one command and return its status."""
    for signum in _SIGNALS:
        signal.signal(signum, _end)
    own, command = _split(sys.argv[1:])
    arguments = _parser().parse_args(own)
    server = Server(arguments.dir)
    try:
        match arguments.command:
            case "start":
                print(server.start(_options(arguments)))
            case "stop":
                server.stop()
            case "run":
                return _run(server, _options(arguments), command)
            case "bank":
                _bank(server, arguments.bank_id)
    except (HarnessError, OSError) as error:
        say(str(error))
        return 1
    return 0


def _bank(server: Server, bank_id: str) -> None:
    if server.url is None:
        raise HarnessError(f"No server of {server.directory} is running.")
    create_bank(server.url, bank_id)


def _run(server: Server, options: Options, command: list[str]) -> int:
    if not command:
        raise HarnessError("Say what to run after --, as in: python -m harness run -- pytest")
    try:
        url = server.start(options)
        say(f"running {command[0]} with HINDSIGHT_LIVE_URL={url}")
        return _status(command, os.environ | {"HINDSIGHT_LIVE_URL": url})
    finally:
        if server.begun:
            server.stop()


def _status(command: list[str], env: dict[str, str]) -> int:
    try:
        process = subprocess.Popen(command, env=env)
    except OSError as error:
        raise HarnessError(f"{command[0]} cannot be run: {error.strerror}") from None
    try:
        status = process.wait()
    except BaseException:
        process.terminate()
        try:
            process.wait(_SECONDS_TO_END)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        raise
    return status if status >= 0 else 128 - status  # a signal's number, as a shell reports it


def _end(signum: int, _frame: FrameType | None) -> None:
    """Unwind once; what comes meanwhile must not interrupt the cleaning up."""
    for each in _SIGNALS:
        signal.signal(each, signal.SIG_IGN)
    raise SystemExit(128 + signum)


def _split(arguments: list[str]) -> tuple[list[str], list[str]]:
    if "--" not in arguments:
        return arguments, []
    position = arguments.index("--")
    return arguments[:position], arguments[position + 1 :]


def _options(arguments: argparse.Namespace) -> Options:
    env = dict(setting.partition("=")[::2] for setting in arguments.env)
    return Options(arguments.version, arguments.protocol, arguments.dependencies, arguments.llm, arguments.port, env)


def _setting(text: str) -> str:
    if not text.partition("=")[1]:
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form NAME=VALUE")
    return text


def _port(text: str) -> int:
    if not (text.isdecimal() and int(text) < 1 << 16):
        raise argparse.ArgumentTypeError(f"{text!r} is no port")
    return int(text)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m harness", description="Start a real Hindsight server on loopback.")
    commands = parser.add_subparsers(dest="command", required=True)

    everywhere = argparse.ArgumentParser(add_help=False)
    everywhere.add_argument("--dir", type=Path, default=Path(".server"), help="one server per directory (%(default)s)")

    starting = argparse.ArgumentParser(add_help=False)
    starting.add_argument("--version", default=VERSION, help="Hindsight's version (%(default)s)")
    starting.add_argument("--protocol", choices=PROTOCOLS, default="modern", help="legacy: MCP of 2025 only")
    starting.add_argument(
        "--dependencies",
        choices=DEPENDENCIES,
        default="now",
        help="then: of the day the version came out (%(default)s)",
    )
    starting.add_argument(
        "--llm", choices=LLMS, default="stub", help="stub: ours; mock: the server's own (%(default)s)"
    )
    starting.add_argument("--port", type=_port, default=0, help="0: a free one (%(default)s)")
    starting.add_argument(
        "--env", action="append", type=_setting, default=[], metavar="NAME=VALUE", help="a setting of the server"
    )

    commands.add_parser("start", parents=[everywhere, starting], help="start, and print the base URL")
    commands.add_parser("stop", parents=[everywhere], help="stop the server, its models and its database")
    commands.add_parser(
        "run",
        parents=[everywhere, starting],
        help="start, run a command with HINDSIGHT_LIVE_URL, stop",
        usage="python -m harness run [options] -- COMMAND ...",
    )
    bank = commands.add_parser("bank", parents=[everywhere], help="create a bank")
    bank.add_argument("bank_id")
    return parser


if __name__ == "__main__":
    sys.exit(main())
